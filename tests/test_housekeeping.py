"""What the service does beside turns: when it is due, one failing duty alone, backups that restore."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.housekeeping import BACKUPS_KEPT, Duty, Housekeeping, backups
from sessions.host import HostDb

NOW = 1_790_000_000.0
DAY = 86_400.0
ALL = ["history", "fabric", "documents", "trust", "tiers", "ledger", "backup", "rejected"]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(load_settings({}, hermes_home=tmp_path))
    yield opened
    opened.close()


def aged(engine: Engine, days: float) -> None:
    """All backups were made so long ago."""
    for path in backups(engine.settings.backups_dir):
        made = path.stat().st_mtime - days * DAY
        os.utime(path, (made, made))


def test_at_first_everything_is_due_and_works_on_an_empty_home(engine: Engine) -> None:
    done = engine.housekeeping(NOW)
    assert list(done) == ALL
    assert [name for name, result in done.items() if "error" in result] == []
    assert engine.status()["housekeeping"].keys() == set(ALL)
    assert engine.store.rows("SELECT * FROM counters") == []


def test_then_each_in_its_own_time(engine: Engine) -> None:
    engine.housekeeping(NOW)
    assert list(engine.housekeeping(NOW + 10)) == []
    assert list(engine.housekeeping(NOW + 60)) == ["history", "fabric"]
    assert "trust" in engine.housekeeping(NOW + 3601)
    assert "backup" in engine.housekeeping(NOW + DAY)


def test_a_clock_set_back_puts_nothing_off(engine: Engine) -> None:
    engine.housekeeping(NOW + 400 * DAY)
    assert list(engine.housekeeping(NOW)) == ALL


def test_a_failing_duty_is_counted_and_stops_no_other(engine: Engine) -> None:
    engine.settings.fabric_dir.parent.mkdir(exist_ok=True)
    (engine.settings.home / "backups").write_text("a file in the way")
    done = engine.housekeeping(NOW)
    assert list(done) == ALL
    assert "error" in done["backup"]
    row = engine.store.row("SELECT * FROM counters WHERE name = 'backup_failed'")
    assert row is not None
    assert row["value"] == 1


def test_a_failed_duty_is_tried_again_long_before_its_time(engine: Engine) -> None:
    blocking = engine.settings.home / "backups"
    blocking.write_text("a file in the way")
    engine.housekeeping(NOW)
    blocking.unlink()
    assert "backup" not in engine.housekeeping(NOW + 60)
    assert engine.housekeeping(NOW + 900)["backup"].get("error") is None
    assert len(backups(engine.settings.backups_dir)) == 1


def test_a_stopping_service_begins_no_duty(engine: Engine) -> None:
    engine.halt()
    assert engine.housekeeping(NOW) == {}


def test_duties_are_told_the_time(engine: Engine) -> None:
    told: list[float] = []
    keeping = Housekeeping(engine)
    keeping._duties = (Duty("one", 5.0, told.append),)
    keeping.run(NOW)
    keeping.run(NOW + 4)
    keeping.run(NOW + 5)
    assert told == [NOW, NOW + 5]


# -- backups -------------------------------------------------------------------------------------------------------


def test_one_backup_a_day_and_three_are_kept(engine: Engine) -> None:
    for day in range(BACKUPS_KEPT + 3):
        aged(engine, 1)
        engine.housekeeping(NOW + day * DAY)
    kept = [path.name for path in backups(engine.settings.backups_dir)]
    assert len(kept) == BACKUPS_KEPT
    assert kept[-1] == "memory-20260926-141320.db"


def test_a_restart_makes_no_second_one_of_the_same_day(engine: Engine) -> None:
    now = time.time()
    engine.housekeeping(now)
    again = Housekeeping(engine)
    assert again.run(now + 60)["backup"]["result"] == "today's is there"


def test_a_clock_set_back_still_leaves_a_new_backup(engine: Engine) -> None:
    for day in range(3):
        aged(engine, 1)
        engine.housekeeping(NOW + (400 + day) * DAY)
    aged(engine, -400)
    engine.housekeeping(NOW)
    assert "memory-20260921-141320.db" in [path.name for path in backups(engine.settings.backups_dir)]


def test_a_backup_put_back_has_the_memory(engine: Engine, tmp_path: Path) -> None:
    engine.call_tool("fact_store", {"action": "add", "content": "The staging gateway listens on port 8443."}, {})
    engine.housekeeping(NOW)
    (copy,) = backups(engine.settings.backups_dir)
    home = tmp_path / "restored"
    (home / "memory-os").mkdir(parents=True)
    shutil.copy(copy, home / "memory-os" / "memory.db")
    restored = Engine.open(load_settings({}, hermes_home=home))
    found = restored.call_tool("fact_store", {"action": "search", "query": "staging gateway"}, {})
    assert "8443" in str(found)
    assert restored.store.check() == []
    restored.close()


def test_the_hosts_history_is_taken_over_in_one_round(tmp_path: Path) -> None:
    host = HostDb(tmp_path / "state.db", schema=31)
    host.session("s1")
    for number in range(60):
        host.message("s1", "user", f"The rack number {number} stands in hall {number * 3}.", NOW - 5000 + number)
    host.close()
    engine = Engine.open(load_settings({}, hermes_home=tmp_path))
    engine.housekeeping(NOW)
    assert engine.index.count() == 60
    assert engine.housekeeping(NOW + 60)["history"]["result"].startswith("0 messages")
    engine.close()
