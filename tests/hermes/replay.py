"""Replay one recorded conversation as Hermes sessions, ask its questions through Hermes, report what was recalled.

The file holds one JSON object a line (gzip or plain), a conversation each: {"corpus", "documents": [{"id", "session",
"time", "speaker", "text"}], "queries": [{"query", "evidence": [document ids], "category"}]}. Its turns go in as the
plugin's spool records, on their dates; each question is a session of its own at the gateway's API server, with capture
off, so that no question is evidence for the next. Counted is what stands in the request the model was sent.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_os.text import token_estimate
from support.hermes_home import Gateway, HermesHome
from support.model_server import ModelServer
from support.service import REPOSITORY, MemoryOS, stopped_at_the_end

KEY = "replay"
_DATES = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
_QUOTED = re.compile(r'^- \([a-z]:[a-z2-7]{8}\)[^"]*: "(.*)"$')
# A line shorter than this is a greeting that stands in any text.
_SHORTEST_QUOTE = 20


@dataclass(frozen=True)
class Turn:
    """What the one who opened the session said, and the answer to it."""

    session: str
    at: float
    user: str
    assistant: str


@dataclass(frozen=True)
class Asked:
    """One question: which part of its evidence stood in the prompt, and what the block cost."""

    query: str
    category: str
    found: int
    evidence: int
    tokens: int
    seconds: float


def read_conversation(path: Path, number: int) -> dict[str, Any]:
    """The n-th conversation of the file, from 1. Exits with a message if there are fewer."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for index, line in enumerate(lines, 1):
            if index == number:
                return dict(json.loads(line))
    sys.exit(f"{path} has no conversation {number}.")


def turns_of(documents: Iterable[dict[str, Any]]) -> Iterator[Turn]:
    """Pair what is said with the answer, in order. Who opens a session is its user; names stand before the words."""
    by_session: dict[str, list[dict[str, Any]]] = {}
    for document in documents:
        by_session.setdefault(str(document["session"]), []).append(document)
    now = time.time() - 400 * 86_400.0
    for session, said in by_session.items():
        opener = said[0]["speaker"]
        pairs: list[tuple[list[str], list[str]]] = [([], [])]
        for document in said:
            if document["speaker"] == opener and pairs[-1][1]:
                pairs.append(([], []))
            pairs[-1][0 if document["speaker"] == opener else 1].append(_spoken(document))
        now = _seconds(str(said[0].get("time") or ""), otherwise=now + 86_400.0)
        for question, answer in pairs:
            now += 60.0
            yield Turn(session, now, "\n".join(question), "\n".join(answer))


def evidence_found(block: str, texts: Sequence[str]) -> int:
    """For how many of the texts a line of the block quotes them, or a part of them."""
    lines = [match[1] for line in block.splitlines() if (match := _QUOTED.match(line))]
    quotes = [_folded(line) for line in lines]
    return sum(any(_overlap(quote, _folded(text)) for quote in quotes) for text in texts)


def _overlap(quote: str, text: str) -> bool:
    if min(len(quote), len(text)) < _SHORTEST_QUOTE:
        return bool(text) and text in quote
    return text in quote or any(part in text for part in quote.split("…") if len(part) >= _SHORTEST_QUOTE)


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[\"“”'’\\]", "", text).lower().split())


def _spoken(document: dict[str, Any]) -> str:
    speaker = str(document["speaker"])
    return str(document["text"]) if speaker in ("user", "assistant") else f"{speaker}: {document['text']}"


def _seconds(text: str, otherwise: float) -> float:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return otherwise


def spool(memory_os: MemoryOS, turns: Iterable[Turn]) -> int:
    """Write the turns as the plugin does. Returns how many."""
    folder = memory_os.home / "spool"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    count = 0
    for count, turn in enumerate(turns, 1):
        record = {
            "v": 1,
            "type": "turn",
            "turn_id": f"replay:{turn.session}:{count}",
            "session_id": f"replay-{turn.session}",
            "parent_session_id": "",
            "platform": "api_server",
            "user": f"api_server:key:{KEY}",
            "profile": "default",
            "project": "",
            "model": "",
            "at": turn.at,
            "user_message": turn.user,
            "assistant_response": turn.assistant,
        }
        name = f"{int(turn.at * 1e9):020d}-{count:08x}.json"
        temporary = folder / f".{name}"
        temporary.write_text(json.dumps(record, ensure_ascii=False), "utf-8")
        temporary.replace(folder / name)
    return count


def ask(gateway: Gateway, home: HermesHome, query: dict[str, Any], texts: Sequence[str], session: str) -> Asked:
    """Put one question; what the model was sent decides."""
    started = time.monotonic()
    gateway.ask(query["query"], key=KEY, session=session)
    block = home.model.turn(query["query"]).injected
    seconds = time.monotonic() - started
    found = evidence_found(block, texts)
    return Asked(query["query"], str(query.get("category", "")), found, len(texts), token_estimate(block), seconds)


def report(conversation: dict[str, Any], turns: int, asked: Sequence[Asked]) -> dict[str, Any]:
    """The figures, ready to print."""
    answerable = [one for one in asked if one.evidence]
    tokens = sorted(one.tokens for one in asked)
    by_category: dict[str, list[Asked]] = {}
    for one in answerable:
        by_category.setdefault(one.category, []).append(one)
    return {
        "corpus": conversation["corpus"],
        "turns": turns,
        "questions": len(answerable),
        "any evidence in the prompt": _share(answerable, lambda one: one.found > 0),
        "all evidence in the prompt": _share(answerable, lambda one: one.found == one.evidence),
        "tokens mean": round(statistics.fmean(tokens)),
        "tokens p95": tokens[min(len(tokens) - 1, int(len(tokens) * 0.95))],
        "seconds a question": round(statistics.fmean(one.seconds for one in asked), 2),
        "any by category": {
            category: f"{_share(ones, lambda one: one.found > 0)} of {len(ones)}"
            for category, ones in sorted(by_category.items())
        },
    }


def _share(ones: Sequence[Asked], holds: Any) -> str:
    return f"{100 * sum(map(bool, map(holds, ones))) / max(1, len(ones)):.1f} %"


@contextmanager
def installed(hermes: Path, python: Path) -> Iterator[tuple[HermesHome, MemoryOS]]:
    """A scratch home with memory-os in it, its service stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="memory-os-") as folder, ModelServer() as server:
        home = HermesHome(Path(folder) / "home", hermes, server.endpoint("replay"))
        home.write_config()
        memory_os = MemoryOS(home.path, python, {"HERMES_PYTHON": str(hermes.parent / "python")})
        with stopped_at_the_end(memory_os):
            memory_os.run("setup", "--hermes-home", str(home.path), "--no-start")
            yield home, memory_os


def replay(options: argparse.Namespace) -> dict[str, Any]:
    """Everything: install, take the turns in, ask, report."""
    conversation = read_conversation(options.file, options.conversation)
    texts = {str(document["id"]): str(document["text"]) for document in conversation["documents"]}
    queries = conversation["queries"][: options.questions or None]
    python = Path(os.environ.get("MEMORY_OS_TEST_PYTHON") or sys.executable)
    with installed(options.hermes, python) as (home, memory_os):
        turns = spool(memory_os, turns_of(conversation["documents"]))
        memory_os.start()
        memory_os.settle(900)
        memory_os.stop()
        memory_os.run("config", "set", "capture.enabled", "false")
        memory_os.start()
        with home.gateway() as gateway:
            asked = [
                ask(
                    gateway,
                    home,
                    query,
                    [texts[one] for one in query["evidence"] if one in texts],
                    f"question-{number}",
                )
                for number, query in enumerate(queries)
            ]
        missed = missed_recalls(memory_os)
    if options.details:
        for one in asked:
            print(f"{one.found}/{one.evidence} {one.tokens:5d}  {one.query}", file=sys.stderr)
    return {**report(conversation, turns, asked), "recalls that came too late": missed}


def missed_recalls(memory_os: MemoryOS) -> int:
    """How many turns went on without memory because the machine was too slow."""
    memory_os.settle()
    counted = memory_os.rows("SELECT value FROM counters WHERE name = 'recall_missed'")
    return int(counted[0][0]) if counted else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/replay-conversation", description=__doc__)
    parser.add_argument("file", type=Path, help="conversations as JSON lines, plain or .gz")
    parser.add_argument("--conversation", type=int, default=1, help="which line of the file, from 1")
    parser.add_argument("--questions", type=int, default=0, help="ask only the first N; 0: all")
    parser.add_argument("--details", action="store_true", help="each question with its evidence and tokens, on stderr")
    default = os.environ.get("MEMORY_OS_TEST_HERMES_019") or REPOSITORY / ".venvs" / "hermes-0.19" / "bin" / "hermes"
    parser.add_argument("--hermes", type=Path, default=Path(default), help="the hermes executable")
    print(json.dumps(replay(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
