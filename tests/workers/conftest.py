"""Homes with a service, short-lived or shared by a module."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.embedding import prepare_model

from workers.running import Home


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's files, written once for all homes of these tests (a user's home has its own)."""
    return prepare_model(tmp_path_factory.mktemp("models"))


@pytest.fixture
def home(models: Path) -> Iterator[Home]:
    """A new home, its service (if one was started) ended afterwards."""
    yield from new_home(models)


@pytest.fixture(scope="module")
def served(models: Path) -> Iterator[Home]:
    """A home whose service is ready, for a whole module."""
    for one in new_home(models):
        one.serve(ready=True)
        yield one


def new_home(models: Path) -> Iterator[Home]:
    """One home for as long as the generator lives."""
    folder = Path(tempfile.mkdtemp(prefix="mos-"))
    one = Home(folder / "hermes home")
    one.settings.home.mkdir(parents=True)
    one.settings.models_dir.symlink_to(models)
    try:
        yield one
    finally:
        one.close()
        remove(folder)


def remove(folder: Path) -> None:
    """Also while the bundled Valkey, on its way out, still takes its own files away."""
    deadline = time.monotonic() + 20
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)
        time.sleep(0.02)
