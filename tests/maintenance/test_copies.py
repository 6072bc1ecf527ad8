"""The daily copy of memory.db: one a day, three kept, and it restores."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.maintenance.copies import BACKUPS_KEPT, Copies, backups
from memory_os.maintenance.duty import Run

NOW = 1_790_000_000.0
DAY = 86_400.0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(load_settings({}, hermes_home=tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def copies(engine: Engine) -> Copies:
    return Copies(engine.store, engine.settings.backups_dir)


def aged(engine: Engine, days: float) -> None:
    """All backups were made so long ago."""
    for path in backups(engine.settings.backups_dir):
        made = path.stat().st_mtime - days * DAY
        os.utime(path, (made, made))


def test_one_backup_a_day_and_three_are_kept(engine: Engine, copies: Copies) -> None:
    for day in range(BACKUPS_KEPT + 3):
        aged(engine, 1)
        copies.act(Run(NOW + day * DAY))
    kept = [path.name for path in backups(engine.settings.backups_dir)]
    assert len(kept) == BACKUPS_KEPT
    assert kept[-1] == "memory-20260926-141320.db"


def test_a_restart_makes_no_second_one_of_the_same_day(engine: Engine, copies: Copies) -> None:
    now = time.time()
    copies.act(Run(now))
    assert Copies(engine.store, engine.settings.backups_dir).act(Run(now + 60)).line == "today's is there"


def test_a_clock_set_back_still_leaves_a_new_backup(engine: Engine, copies: Copies) -> None:
    for day in range(3):
        aged(engine, 1)
        copies.act(Run(NOW + (400 + day) * DAY))
    aged(engine, -400)
    copies.act(Run(NOW))
    assert "memory-20260921-141320.db" in [path.name for path in backups(engine.settings.backups_dir)]


def test_a_backup_put_back_has_the_memory(engine: Engine, copies: Copies, tmp_path: Path) -> None:
    engine.call_tool("fact_store", {"action": "add", "content": "The staging gateway listens on port 8443."}, {})
    copies.act(Run(NOW))
    (copy,) = backups(engine.settings.backups_dir)
    home = tmp_path / "restored"
    (home / "memory-os").mkdir(parents=True)
    shutil.copy(copy, home / "memory-os" / "memory.db")
    restored = Engine.open(load_settings({}, hermes_home=home))
    found = restored.call_tool("fact_store", {"action": "search", "query": "staging gateway"}, {})
    assert "8443" in str(found)
    assert restored.store.check() == []
    restored.close()
