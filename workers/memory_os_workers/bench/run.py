"""Fills a scratch home, starts the real service in it, and measures through the real plugin's hooks."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from memory_os.config import Settings, load_settings
from memory_os.embedding import FINGERPRINT, load_embedder, prepare_model
from memory_os.errors import ServiceUnavailable
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.store import open_store
from memory_os.text import query_terms, token_estimate
from memory_os.text.terms import fts_query

from memory_os_workers import run_files
from memory_os_workers.bench.memories import Generated, fill, generate
from memory_os_workers.client import ServiceClient, start_detached, stop_service
from memory_os_workers.setup.plugin_folder import place

Say = Callable[[str], None]

_TURNS = 200
_READY_TIMEOUT_S = 60.0
# Each look costs the starting service a millisecond of its one interpreter.
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table. `limit` is what the product promises, None where there is no promise."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def met(self) -> bool | None:
        return None if self.limit is None else self.value <= self.limit

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def run_bench(models: Path, count: int, say: Say) -> list[Figure]:
    """All figures. `models` is a folder of prepared models to copy, if it is there."""
    with _scratch_home(models) as settings:
        data = generate(count)
        say(f"filling a scratch home with {count} memories")
        _fill(settings, data)
        baseline = _plain_fts5(settings.home / "plain.db", data)
        say("starting the service")
        with _service(settings) as (client, cold):
            say("measuring turns through the plugin's hooks")
            turns = _turns(settings, data)
            resident = _resident_mb(int(client.get("/v1/health")["pid"]))
        return [*turns, *baseline, *cold, Figure("resident memory of the service", resident, "MB", 350)]


@contextmanager
def _scratch_home(models: Path) -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="mos-bench-") as folder:
        settings = load_settings({"HERMES_HOME": folder})
        if models.is_dir():
            shutil.copytree(models, settings.models_dir)
        prepare_model(settings.models_dir)
        yield settings


def _fill(settings: Settings, data: Generated) -> None:
    store = open_store(settings.database)
    index = Index(store, FINGERPRINT)
    indexing = Indexing(store, index)
    embedder = load_embedder(settings)
    for _ in fill(index, embedder, data.texts, time.time()):
        pass
    indexing.open(settings.vectors_dir, embedder)
    while indexing.work(256):
        pass
    indexing.close()
    store.close()


def _plain_fts5(path: Path, data: Generated) -> list[Figure]:
    """The floor: the same texts in one FTS5 table, porter + unicode61, OR of the content words, top ten."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("CREATE VIRTUAL TABLE plain USING fts5(text, tokenize = 'porter unicode61')")
        connection.executemany("INSERT INTO plain VALUES(?)", [(text,) for text in data.texts])
        connection.commit()
        times = [
            _elapsed_ms(
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
        Figure("plain FTS5 on the same texts, in process, p95", _p95(times), "ms"),
    ]


@contextmanager
def _service(settings: Settings) -> Iterator[tuple[ServiceClient, list[Figure]]]:
    """The service, cold started; how long until it answers, and until it searches by meaning."""
    run_files.prepare_home(settings)
    started = time.perf_counter()
    start_detached(settings)
    client = ServiceClient(settings)
    try:
        answers = _until(lambda: client.health() is not None, started)
        ready = _until(lambda: bool((client.health() or {}).get("ready")), started)
        yield (
            client,
            [
                Figure("service answers after a cold start", answers, "s"),
                Figure("service ready after a cold start", ready, "s", 2.0),
            ],
        )
    finally:
        stop_service(settings)


def _until(reached: Callable[[], bool], started: float) -> float:
    while not reached():
        if time.perf_counter() - started > _READY_TIMEOUT_S:
            raise ServiceUnavailable("The service did not get ready within a minute.", cure="See logs/service.log.")
        time.sleep(_POLL_S)
    return time.perf_counter() - started


def _turns(settings: Settings, data: Generated) -> list[Figure]:
    folder = settings.hermes_home / "plugins" / "memory-os"
    place(folder, settings.home, "soul")
    with _environment(HERMES_HOME=str(settings.hermes_home), MEMORY_OS_HOME=str(settings.home)):
        plugin, registration = _registered(folder)
        hooks: Any = importlib.import_module(f"{plugin.__name__}.hooks")
        _ask(hooks, "Is everything warm?", 0)
        recalls, tokens, captures = [], [], []
        for turn in range(_TURNS):
            question = data.questions[turn % len(data.questions)]
            answer: list[Any] = []
            recalls.append(_elapsed_ms(lambda: answer.append(_ask(hooks, question, turn))))  # noqa: B023
            tokens.append(token_estimate((answer[0] or {}).get("context", "")))
        # Afterwards: a person takes longer between two turns than the service needs to embed one.
        for turn in range(_TURNS):
            question = data.questions[turn % len(data.questions)]
            captures.append(_elapsed_ms(lambda: _answered(hooks, question, turn)))  # noqa: B023
        # A nudge that comes after the end would start the service again.
        importlib.import_module(f"{plugin.__name__}.courier").wait_empty(_READY_TIMEOUT_S)
    injected = [one for one in tokens if one]
    return [
        Figure("recall in the hook, p50", statistics.median(recalls), "ms", 25),
        Figure("recall in the hook, p95", _p95(recalls), "ms", 50),
        Figure("capture in the hook, p95", _p95(captures), "ms", 5),
        Figure("turns with a block", 100 * len(injected) / len(tokens), "%"),
        Figure("injected block, largest", max(tokens), "tokens", 1200),
        Figure("plugin registration", registration, "ms", 20),
    ]


def _ask(hooks: Any, question: str, turn: int) -> Any:
    # A session each: what one turn is given would be left out of the next as still visible.
    return hooks.pre_llm_call(
        session_id=f"bench-ask-{turn}", turn_id=f"bench-ask-{turn}:t:{turn:08x}", task_id="t", user_message=question,
        conversation_history=[{"role": "user", "content": question}], is_first_turn=False, platform="cli", sender_id="",
    )  # fmt: skip


def _answered(hooks: Any, question: str, turn: int) -> None:
    hooks.post_llm_call(
        session_id=f"bench-ask-{turn}", turn_id=f"bench-ask-{turn}:t:{turn:08x}", task_id="t", user_message=question,
        assistant_response=f"Noted, answer number {turn} to that.", conversation_history=[], platform="cli", model="none",
    )  # fmt: skip


def _registered(folder: Path) -> tuple[ModuleType, float]:
    """Import the plugin as Hermes does and register it; returns it and the milliseconds it took."""
    name = f"memory_os_bench_{uuid.uuid4().hex}"
    started = time.perf_counter()
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not a package")
    plugin = importlib.util.module_from_spec(spec)
    sys.modules[name] = plugin
    spec.loader.exec_module(plugin)
    plugin.register(_Registrations())
    return plugin, (time.perf_counter() - started) * 1e3


class _Registrations:
    """A host's registration context that keeps nothing."""

    manifest: object = None

    def register_hook(self, *_: Any, **__: Any) -> None: ...

    def register_tool(self, *_: Any, **__: Any) -> None: ...

    def register_command(self, *_: Any, **__: Any) -> None: ...

    def register_cli_command(self, *_: Any, **__: Any) -> None: ...


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _resident_mb(pid: int) -> float:
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024


def _elapsed_ms(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _p95(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)]
