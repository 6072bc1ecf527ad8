"""One fork server and one set of model files for all tests of endurance."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.library import model_files

from endurance.fork_server import ForkServer


@pytest.fixture(scope="session")
def models() -> Path:
    return model_files()


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with ForkServer(tmp_path_factory.mktemp("forks")) as server:
        yield server


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A short one: a socket's path may not be long."""
    path = Path(tempfile.mkdtemp(prefix="mos-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
