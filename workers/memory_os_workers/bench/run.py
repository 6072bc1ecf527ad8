"""Fills a scratch home, starts the real service in it, and measures through the real plugin's hooks."""

from __future__ import annotations

import sqlite3
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_os.config import Settings
from memory_os.embedding import load_embedder
from memory_os.text import query_terms, token_estimate
from memory_os.text.terms import fts_query

from memory_os_workers.bench.memories import Generated, generate
from memory_os_workers.bench.scratch import (
    READY_TIMEOUT_S,
    Figure,
    elapsed_ms,
    fill_home,
    p95,
    registered_plugin,
    running_service,
    scratch_home,
)

Say = Callable[[str], None]

_TURNS = 200


def run_bench(models: Path, count: int, say: Say) -> list[Figure]:
    """All figures. `models` is a folder of prepared models to copy, if it is there."""
    with scratch_home(models) as settings:
        data = generate(count)
        say(f"filling a scratch home with {count} memories")
        fill_home(settings, data.texts)
        baseline = [*_plain_fts5(settings.home / "plain.db", data), _encoding(settings, data)]
        say("starting the service")
        with running_service(settings) as (client, cold):
            say("measuring turns through the plugin's hooks")
            turns = _turns(settings, data)
            resident = _resident_mb(int(client.get("/v1/health")["pid"]))
        return [*turns, *baseline, *cold, Figure("resident memory of the service", resident, "MB", 350)]


def _plain_fts5(path: Path, data: Generated) -> list[Figure]:
    """The floor: the same texts in one FTS5 table, porter + unicode61, OR of the content words, top ten."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("CREATE VIRTUAL TABLE plain USING fts5(text, tokenize = 'porter unicode61')")
        connection.executemany("INSERT INTO plain VALUES(?)", [(text,) for text in data.texts])
        connection.commit()
        times = [
            elapsed_ms(
                lambda question=question: connection.execute(  # type: ignore[misc]
                    "SELECT text FROM plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT 10",
                    (fts_query(query_terms(question)),),
                ).fetchall()
            )
            for question in data.questions * 2
        ]
    finally:
        connection.close()
    return [
        Figure("plain FTS5 on the same texts, in process, p50", statistics.median(times), "ms"),
        Figure("plain FTS5 on the same texts, in process, p95", p95(times), "ms"),
    ]


def _encoding(settings: Settings, data: Generated) -> Figure:
    """What a recall can't do without, and how fast this machine is today."""
    embedder = load_embedder(settings)
    embedder.embed_query("Is everything warm?")
    times = [elapsed_ms(lambda text=text: embedder.embed_query(text)) for text in data.questions]  # type: ignore[misc]
    return Figure("encoding one question, alone, p50", statistics.median(times), "ms")


def _turns(settings: Settings, data: Generated) -> list[Figure]:
    with registered_plugin(settings) as plugin:
        plugin.ask("Is everything warm?", 0)
        recalls, tokens, captures = [], [], []
        for turn in range(_TURNS):
            question = data.questions[turn % len(data.questions)]
            answer: list[Any] = []
            recalls.append(elapsed_ms(lambda: answer.append(plugin.ask(question, turn))))  # noqa: B023
            tokens.append(token_estimate((answer[0] or {}).get("context", "")))
        # Afterwards: a person takes longer between two turns than the service needs to embed one.
        for turn in range(_TURNS):
            question = data.questions[turn % len(data.questions)]
            captures.append(elapsed_ms(lambda: plugin.answered(question, turn)))  # noqa: B023
        # A nudge that comes after the end would start the service again.
        plugin.courier.wait_empty(READY_TIMEOUT_S)
    injected = [one for one in tokens if one]
    return [
        Figure("recall in the hook, p50", statistics.median(recalls), "ms", 25),
        Figure("recall in the hook, p95", p95(recalls), "ms", 50),
        Figure("capture in the hook, p95", p95(captures), "ms", 5),
        Figure("turns with a block", 100 * len(injected) / len(tokens), "%"),
        Figure("injected block, largest", max(tokens), "tokens", 1200),
        Figure("plugin registration", plugin.registration_ms, "ms", 20),
    ]


def _resident_mb(pid: int) -> float:
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024
