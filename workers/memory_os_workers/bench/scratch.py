"""What the benchmarks share: a scratch home, the real service in it, the plugin's hooks as Hermes calls them."""

from __future__ import annotations

import compileall
import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from memory_os.config import ENVIRONMENT, Settings, load_settings
from memory_os.embedding import fingerprint_of, load_embedder, prepare_model
from memory_os.errors import ServiceUnavailable
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.store import open_store

from memory_os_workers import run_files
from memory_os_workers.bench.memories import fill
from memory_os_workers.client import ServiceClient, start_detached, stop_service
from memory_os_workers.setup.plugin_folder import place

READY_TIMEOUT_S = 60.0
# Each look costs the starting service a millisecond of its one interpreter.
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table. `limit` is the most, `at_least` the least that the product promises; None: no promise."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        if self.limit is None and self.at_least is None:
            return None
        return (self.limit is None or self.value <= self.limit) and (
            self.at_least is None or self.value >= self.at_least
        )

    @property
    def promised(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}"
        return "" if self.limit is None else f"≤ {self.limit:g} {self.unit}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


@contextmanager
def scratch_home(models: Path) -> Iterator[Settings]:
    """A home of its own with all defaults: the caller's variables, which name the caller's folders, reach no process."""
    with (
        tempfile.TemporaryDirectory(prefix="mos-bench-") as folder,
        _environment({**dict.fromkeys(ENVIRONMENT), "MEMORY_OS_HOME": None, "HERMES_HOME": folder}),
    ):
        settings = load_settings({"HERMES_HOME": folder})
        if models.is_dir():
            shutil.copytree(models, settings.models_dir)
        prepare_model(settings.models_dir)
        yield settings


def fill_home(settings: Settings, texts: list[str]) -> None:
    """Write the texts as session passages with vectors; the service does not run yet."""
    store = open_store(settings.database)
    index = Index(store, fingerprint_of(settings.values.embedding))
    indexing = Indexing(store, index)
    embedder = load_embedder(settings)
    for _ in fill(index, embedder, texts, time.time()):
        pass
    indexing.open(settings.vectors_dir, embedder)
    while indexing.work(256):
        pass
    indexing.close()
    store.close()


@contextmanager
def running_service(settings: Settings) -> Iterator[tuple[ServiceClient, list[Figure]]]:
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
        if time.perf_counter() - started > READY_TIMEOUT_S:
            raise ServiceUnavailable("The service did not get ready within a minute.", cure="See logs/service.log.")
        time.sleep(_POLL_S)
    return time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin as Hermes has it after registration, which took so many ms."""

    hooks: Any
    courier: Any
    registration_ms: float

    def ask(self, question: str, turn: int) -> Any:
        """`pre_llm_call`: what the turn is given, or None."""
        # A session each: what one turn is given would be left out of the next as still visible.
        return self.hooks.pre_llm_call(
            session_id=f"bench-ask-{turn}", turn_id=f"bench-ask-{turn}:t:{turn:08x}", task_id="t", user_message=question,
            conversation_history=[{"role": "user", "content": question}], is_first_turn=False, platform="cli",
            sender_id="",
        )  # fmt: skip

    def answered(self, question: str, turn: int) -> None:
        """`post_llm_call`."""
        self.hooks.post_llm_call(
            session_id=f"bench-ask-{turn}", turn_id=f"bench-ask-{turn}:t:{turn:08x}", task_id="t", user_message=question,
            assistant_response=f"Noted, answer number {turn} to that.", conversation_history=[], platform="cli",
            model="none",
        )  # fmt: skip


@contextmanager
def registered_plugin(settings: Settings) -> Iterator[Plugin]:
    """The plugin placed into the home and registered; this process is its host while the context lasts."""
    folder = settings.hermes_home / "plugins" / "memory-os"
    place(folder, settings.home, "soul")
    with _environment({"HERMES_HOME": str(settings.hermes_home), "MEMORY_OS_HOME": str(settings.home)}):
        plugin, registration = _registered(folder)
        hooks, courier = (importlib.import_module(f"{plugin.__name__}.{name}") for name in ("hooks", "courier"))
        yield Plugin(hooks, courier, registration)


def _registered(folder: Path) -> tuple[ModuleType, float]:
    """Import the plugin as Hermes does and register it; returns it and the milliseconds it took.

    Compiled before, as it is from the host's second start on.
    """
    compileall.compile_dir(folder, quiet=1)
    name = f"memory_os_bench_{uuid.uuid4().hex}"
    started = time.perf_counter()
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
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
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """This process's variables, None: unset; afterwards as before."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def elapsed_ms(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def p95(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)]
