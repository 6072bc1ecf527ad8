from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from plugin import loading  # makes `memory_os_plugin` importable
from plugin.peer import Peer

from memory_os_plugin import commands, compaction, courier, launch, lookups, paths, recall, state, status_lines, tools  # isort: skip

assert loading.PACKAGE in sys.modules

# What the plugin waits for an answer, as it is shipped.
PROMISED: dict[tuple[ModuleType, str], float] = {
    (module, name): getattr(module, name)
    for module, name in (
        (recall, "WARM_SECONDS"), (recall, "FIRST_SECONDS"), (launch, "YOUNG_SECONDS"), (lookups, "CHECK_SECONDS"),
        (tools, "CALL_SECONDS"), (commands, "_SECONDS"), (compaction, "ASK_SECONDS"), (status_lines, "_SECONDS"),
        (courier, "_CALL_SECONDS"),
    )
}  # fmt: skip
# Of what hangs for ever: whoever waits for it does not come back within so long. A machine that stands still for a while does.
HANGS_S = 30.0


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about what is done with an answer, not about how fast this machine is."""
    for module, name in PROMISED:
        monkeypatch.setattr(module, name, 60.0)


@pytest.fixture
def promised(_patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times as they are shipped, but for the one that a first turn waits: what does not wait for it is told by that."""
    for (module, name), seconds in PROMISED.items():
        if name != "FIRST_SECONDS":
            monkeypatch.setattr(module, name, seconds)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No state of another test, no launch.json, and a folder of its own as the process's Hermes home."""
    short = tmp_path_factory.mktemp("h")  # a unix socket's path has to stay below 104 bytes
    monkeypatch.setenv("HERMES_HOME", str(short))
    monkeypatch.delitem(sys.modules, state._SHARED_KEY, raising=False)
    yield
    courier.wait_empty(5)


@pytest.fixture
def home() -> paths.Home:
    return paths.current_home()


@pytest.fixture
def peer(home: paths.Home) -> Iterator[Peer]:
    made = Peer(home.run / "service.sock")
    yield made
    made.close()


@pytest.fixture
def spooled(home: paths.Home) -> Callable[[], list[dict[str, Any]]]:
    """What lies in the spool, in the order of the names."""

    def read() -> list[dict[str, Any]]:
        return [json.loads(path.read_bytes()) for path in sorted(home.spool.glob("*.json"))]

    return read


@pytest.fixture
def python_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Make MEMORY_OS_PYTHON an executable that does what a shell line says."""

    def make(line: str) -> Path:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        monkeypatch.setenv("MEMORY_OS_PYTHON", str(path))
        return path

    return make


@pytest.fixture
def upgrading(python_that: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """An environment with such a python; returns the mark that `setup.sh` (here: this process) has set in it."""

    def begin(line: str) -> Path:
        python = tmp_path / "venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python_that(line).rename(python)
        monkeypatch.setenv("MEMORY_OS_PYTHON", str(python))
        mark = tmp_path / "venv" / ".upgrading"
        mark.write_text(f"{os.getpid()}\n")
        return mark

    return begin
