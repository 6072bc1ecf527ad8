"""kill -9 at random moments of capture, ingest, reindex, the host's compaction and backup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from endurance.fork_server import ForkServer
from endurance.ordeal import Ordeal


@pytest.fixture(scope="module")
def ordeal(folder: Path, models: Path, forks: ForkServer) -> Iterator[Ordeal]:
    one = Ordeal(folder / "hermes", models, forks, seed=5)
    yield one
    one.close()


@pytest.mark.parametrize("kind", ["capture", "ingest", "reindex", "compaction", "backup"])
def test_killed_in_the_midst_of_it_memory_is_whole_and_everything_is_there_once(ordeal: Ordeal, kind: str) -> None:
    ordeal.strike(kind)
    ordeal.glance()
    ordeal.strike(kind)
    ordeal.audit()
