"""The audit sees what it is there for: a memory that is whole passes, and each kind of harm is told."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from endurance.fork_server import ForkServer
from endurance.ordeal import Ordeal
from endurance.truth import faults_of_memory, out_of_step

_FIRST = "WHERE id = (SELECT min(id) FROM messages)"
HARM = {
    "lost: turn": f"DELETE FROM messages {_FIRST}",
    "2 times: ": f"UPDATE messages SET text = (SELECT text FROM messages ORDER BY id DESC LIMIT 1) {_FIRST}",
    "nobody said: ": f"UPDATE messages SET text = 'Someone else said this.' {_FIRST}",
    "document lost": "DELETE FROM documents",
    "is not at edition": "UPDATE passages SET text = 'older' WHERE source LIKE 'document:%'",
    "messages without a passage": "DELETE FROM passages WHERE pk = (SELECT min(pk) FROM passages WHERE layer = 'sessions')",
    "passages without full text": "DELETE FROM passages_fts WHERE rowid = (SELECT min(pk) FROM passages)",
    "embeddings of nothing": "UPDATE embeddings SET hash = 'none' WHERE hash = (SELECT min(hash) FROM embeddings)",
}


@pytest.fixture(scope="module")
def stopped(folder: Path, models: Path, forks: ForkServer) -> Iterator[Ordeal]:
    """A memory with some turns and files, settled, nobody at work on it."""
    ordeal = Ordeal(folder / "hermes", models, forks, seed=5)
    ordeal.change_files()
    ordeal.talk(4, wait=True)
    ordeal.settle()
    ordeal.stop()
    yield ordeal


def test_a_memory_that_is_whole_passes(stopped: Ordeal) -> None:
    assert faults_of_memory(stopped.settings, stopped.truth) + out_of_step(stopped.settings) == []


@pytest.mark.parametrize("told", HARM)
def test_harm_is_told(stopped: Ordeal, told: str) -> None:
    whole = stopped.settings.database
    kept = whole.with_suffix(".kept")
    shutil.copyfile(whole, kept)
    try:
        with closing(sqlite3.connect(whole)) as db, db:
            db.execute(HARM[told])
        assert any(told in fault for fault in faults_of_memory(stopped.settings, stopped.truth))
    finally:
        whole.with_name(f"{whole.name}-wal").unlink(missing_ok=True)
        kept.replace(whole)


def test_a_point_too_few_and_a_leak_are_told(stopped: Ordeal) -> None:
    assert out_of_step(stopped.settings, lambda: ["11111111-1111-1111-1111-111111111111"])[0].endswith("1 points of nothing")
    leaked = stopped.home / "leaked"
    leaked.write_text("turn 3 of Quillon was given Brasko's: crate\n")
    assert "was given" in faults_of_memory(stopped.settings, stopped.truth)[-1]
    leaked.unlink()
