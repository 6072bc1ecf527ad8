"""Homes with a service, short-lived or shared by a module."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.running import Home


@pytest.fixture
def home() -> Iterator[Home]:
    """A new home, its service (if one was started) ended afterwards."""
    yield from _home()


@pytest.fixture(scope="module")
def served() -> Iterator[Home]:
    """A home whose service is ready, for a whole module."""
    for one in _home():
        one.serve(ready=True)
        yield one


def _home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="mos-"))
    one = Home(folder / "hermes home")
    try:
        yield one
    finally:
        one.close()
        shutil.rmtree(folder)
