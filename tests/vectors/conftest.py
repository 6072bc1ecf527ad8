from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.vectors import Collection
from memory_os.vectors.connection import Limit
from support.qdrant_server import QdrantServer

from vectors.building import opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "qdrant"


@pytest.fixture
def collection(folder: Path) -> Iterator[Collection]:
    made = opened(folder)
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    """A stand-in for a Qdrant server, empty, with a key. A busy machine is no slow server: nothing is given up early."""
    monkeypatch.setattr("memory_os.vectors.server.RECALL", Limit(30.0, 30.0))
    monkeypatch.setattr("memory_os.vectors.server.SEARCH", Limit(30.0, 30.0))
    monkeypatch.setattr("memory_os.vectors.catalog.LOOK", Limit(30.0, 30.0, heeds_pause=False))
    running = QdrantServer(tmp_path / "server", key="the-key").start()
    yield running
    running.close()
