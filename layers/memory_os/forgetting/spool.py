"""Forgetting in the spool: records that were rejected, or that nobody could take yet, hold private text too."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.memory import Scope
from memory_os.sessions.scopes import scope_for
from memory_os.text import index_terms, plain_text, query_terms

# The share of a forgotten text's words that a record has when it holds the text: quotes and footers may differ.
HELD = 0.75
# A forgotten "ok" is in half of all records: a text of fewer words must be all that is said.
TERMS_LEAST = 3
_Wanted = tuple[str, Sequence[str]]
_TEXTS = ("user_message", "assistant_response", "content", "old_text", "task", "result", "asked")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
# A record is written in milliseconds: a part of one that nobody touched for so long is what a killed host left.
_WRITTEN_S = 60.0
# More than any record has: a file of this size is no record.
_READ_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten: texts, a whole session if named, or everything of this scope."""

    scope: Scope
    texts: Sequence[str]
    session_id: str = ""
    everything: bool = False


def remove_traces(spool: Path, forgotten: Forgotten, aliases: Mapping[str, str]) -> int:
    """Delete the records, waiting, rejected or half-written, that hold what was forgotten. Returns how many.

    Whose a record is decides, if it says so; one that can't be read is judged by its words alone, and goes with
    everything of the person at this machine.
    """
    wanted = [(text.strip(), query_terms(text)) for text in forgotten.texts]
    gone = 0
    for path in _records(spool):
        try:
            with path.open("rb") as stream:
                raw = stream.read(_READ_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:  # taken meanwhile
            continue
        if _holds(raw, forgotten, wanted, aliases):
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def _records(spool: Path) -> Iterator[Path]:
    for folder in (spool, spool / "rejected"):
        yield from (path for path in folder.glob("*.json") if path.is_file() and not path.name.startswith("."))
    yield from (path for path in spool.glob(".*.json.part") if _is_abandoned(path))


def _is_abandoned(part: Path) -> bool:
    """Whether its host is no longer writing it, and never will: under one that is, it must not be taken away."""
    try:
        return time.time() - part.stat().st_mtime > _WRITTEN_S
    except FileNotFoundError:
        return False


def _holds(raw: str, forgotten: Forgotten, wanted: Sequence[_Wanted], aliases: Mapping[str, str]) -> bool:
    record = _parsed(raw)
    if record is None:
        named = bool(forgotten.session_id) and json.dumps(forgotten.session_id) in raw
        every = forgotten.everything and forgotten.scope.user == "local"
        return named or every or _says([_unescaped(raw)], wanted)
    owner = scope_for(plain_text(record.get("user")), plain_text(record.get("profile")) or forgotten.scope.profile, aliases)
    if owner.key != forgotten.scope.key:
        return False
    in_session = bool(forgotten.session_id) and record.get("session_id") == forgotten.session_id
    return forgotten.everything or in_session or any(_says(texts, wanted) for texts in _texts_of(record))


def _texts_of(record: Mapping[str, Any]) -> Iterator[list[str]]:
    """What is said in a record, and in each turn of one that has several."""
    turns = record.get("turns")
    for one in (record, *(turns if isinstance(turns, list) else ())):
        if isinstance(one, Mapping):
            yield [plain_text(one.get(name)) for name in _TEXTS]


def _parsed(raw: str) -> dict[str, Any] | None:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _unescaped(raw: str) -> str:
    """JSON's escapes as characters, in a text that is not quite JSON."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), raw).replace("\\n", "\n")


def _says(texts: Sequence[str], wanted: Sequence[_Wanted]) -> bool:
    said = {text.strip() for text in texts}
    words = {word for text in texts for word in (*query_terms(text), *index_terms(text).casefold().split())}
    return any(
        text in said or (len(terms) >= TERMS_LEAST and sum(term in words for term in terms) >= HELD * len(terms))
        for text, terms in wanted
        if text
    )
