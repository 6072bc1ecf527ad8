from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin import loading  # makes `memory_os_plugin` importable
from plugin.peer import Peer

from memory_os_plugin import courier, paths, state  # isort: skip

assert loading.PACKAGE in sys.modules


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
