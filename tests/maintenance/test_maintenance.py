"""Duties: when each is due, once whoever asks, one failing alone, their state kept over a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.errors import BadRequest
from memory_os.maintenance import Duty, Maintenance
from memory_os.maintenance.duty import DAY_S, HOUR_S, MONTH_S, WEEK_S, Report, Run
from sessions.host import HostDb

NOW = 1_790_000_000.0
AT_FIRST = ["history", "fabric", "documents", "trust", "tiers", "dead_letters", "rotation", "backup", "rejected"]
LATER = ["canary", "full_backup", "decay", "duplicates", "wiki_links", "wiki_sources"]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(load_settings({}, hermes_home=tmp_path))
    yield opened
    opened.close()


def only(keeping: Maintenance, *duties: Duty) -> Maintenance:
    """The same, with these duties instead."""
    keeping._duties = {duty.name: duty for duty in duties}
    keeping._running = {duty.name: threading.Lock() for duty in duties}
    return keeping


def duty(name: str, every_s: float, act: Callable[[Run], Report], **more: float) -> Duty:
    return Duty(name, every_s, act, "for a test", **more)  # type: ignore[arg-type]


def test_at_first_what_follows_and_keeps_is_due_and_works_on_an_empty_home(engine: Engine) -> None:
    done = engine.housekeeping(NOW)
    assert list(done) == AT_FIRST
    assert {name: result["state"] for name, result in done.items() if result["state"] != "ok"} == {}
    assert engine.status()["maintenance"]["duties"].keys() == {*AT_FIRST, *LATER}
    assert engine.store.rows("SELECT * FROM counters") == []


def test_then_each_in_its_own_time(engine: Engine) -> None:
    engine.housekeeping(NOW)
    keeping = engine.maintenance
    assert keeping.due(NOW + 10) == []
    assert keeping.due(NOW + 60) == ["history", "fabric"]
    assert "trust" in keeping.due(NOW + HOUR_S)
    assert "canary" in keeping.due(NOW + 600)
    assert "full_backup" in keeping.due(NOW + DAY_S)
    assert {"decay", "duplicates"} <= set(keeping.due(NOW + WEEK_S))


def test_weeks_and_months_are_kept(engine: Engine) -> None:
    keeping = engine.maintenance
    keeping.due(NOW)
    for name in LATER:
        keeping.run(name, NOW)
    assert "canary" not in keeping.due(NOW + 6 * HOUR_S - 1)
    assert "canary" in keeping.due(NOW + 6 * HOUR_S)
    assert "decay" not in keeping.due(NOW + WEEK_S - 1)
    assert {"decay", "full_backup"} <= set(keeping.due(NOW + WEEK_S))
    assert "duplicates" not in keeping.due(NOW + MONTH_S - 1)
    assert "duplicates" in keeping.due(NOW + MONTH_S)


def test_the_canary_goes_first(engine: Engine) -> None:
    engine.maintenance.due(NOW)
    assert engine.maintenance.due(NOW + 2 * DAY_S)[0] == "canary"


def test_a_restart_runs_nothing_twice(engine: Engine) -> None:
    engine.housekeeping(NOW)
    again = Maintenance(engine)
    assert again.due(NOW + 60) == ["history", "fabric"]
    assert again.run_if_due("trust", NOW + 60) is None
    assert again.status()["duties"]["trust"]["last_at"] == NOW


def test_a_clock_set_back_puts_nothing_off(engine: Engine) -> None:
    engine.housekeeping(NOW + 400 * DAY_S)
    assert set(AT_FIRST) <= set(engine.maintenance.due(NOW))


def test_a_failing_duty_is_counted_shown_and_stops_no_other(engine: Engine) -> None:
    (engine.settings.home / "backups").write_text("a file in the way")
    done = engine.housekeeping(NOW)
    assert list(done) == AT_FIRST
    assert (done["backup"]["state"], bool(done["backup"]["error"])) == ("failed", True)
    row = engine.store.row("SELECT * FROM counters WHERE name = 'backup_failed'")
    assert row is not None
    assert row["value"] == 1
    shown = engine.status()["maintenance"]["duties"]["backup"]
    assert (shown["state"], shown["failures"], shown["last_at"]) == ("failed", 1, NOW)


def test_a_failed_duty_is_tried_again_long_before_its_time(engine: Engine) -> None:
    blocking = engine.settings.home / "backups"
    blocking.write_text("a file in the way")
    engine.housekeeping(NOW)
    blocking.unlink()
    assert "backup" not in engine.maintenance.due(NOW + 60)
    assert engine.housekeeping(NOW + 900)["backup"]["state"] == "ok"
    assert engine.status()["maintenance"]["duties"]["backup"]["failures"] == 0
    assert "backup" not in engine.maintenance.due(NOW + 1800)


def test_a_stopping_service_begins_no_duty(engine: Engine) -> None:
    engine.halt()
    assert engine.housekeeping(NOW) == {}


def test_a_duty_switched_off_runs_only_by_hand(tmp_path: Path) -> None:
    home = tmp_path / "memory-os"
    home.mkdir()
    (home / "config.yaml").write_text("maintenance: {off: [backup]}\n")
    engine = Engine.open(load_settings({}, hermes_home=tmp_path))
    assert "backup" not in engine.housekeeping(NOW)
    assert engine.maintenance.run_if_due("backup", NOW) is None
    assert engine.status()["maintenance"]["duties"]["backup"]["state"] == "off"
    assert engine.maintenance.run("backup", NOW).state == "ok"
    engine.close()


def test_a_fault_nobody_foresaw_stops_no_other_duty_and_leaves_no_running_row(engine: Engine) -> None:
    def act(run: Run) -> Report:
        raise KeyError("nobody foresaw it")

    keeping = only(
        Maintenance(engine),
        duty("first", HOUR_S, act, undo=lambda run, now: ""),  # type: ignore[arg-type]
        duty("second", HOUR_S, lambda run: Report("done")),
    )
    done = keeping.run_due(NOW)
    assert (done["first"].state, done["second"].state) == ("failed", "ok")
    assert "nobody foresaw it" in done["first"].error
    assert keeping.due(NOW + 1) == [], "it is tried again later, not at once"
    assert engine.store.rows("SELECT * FROM duty_runs WHERE state = 'running'") == []


def test_duties_are_told_the_time(engine: Engine) -> None:
    told: list[float] = []

    def act(run: Run) -> Report:
        told.append(run.now)
        return Report("done")

    keeping = only(Maintenance(engine), duty("one", 5.0, act))
    for later in (0, 4, 5):
        keeping.run_due(NOW + later)
    assert told == [NOW, NOW + 5]


def test_two_that_ask_at_once_run_it_once(engine: Engine) -> None:
    """The service's loop and the worker's schedule: whoever comes second finds it done, or under way."""
    inside, finish, runs = threading.Event(), threading.Event(), []

    def act(run: Run) -> Report:
        runs.append(run.now)
        inside.set()
        assert finish.wait(20)
        return Report("done")

    keeping = only(Maintenance(engine), duty("slow", HOUR_S, act))
    first = threading.Thread(target=keeping.run_due, args=(NOW,))
    first.start()
    assert inside.wait(20)
    assert keeping.due(NOW) == []
    assert keeping.run_if_due("slow", NOW) is None
    with pytest.raises(BadRequest, match="running already"):
        keeping.run("slow", NOW)
    finish.set()
    first.join()
    assert keeping.run_if_due("slow", NOW) is None
    assert runs == [NOW]


def test_a_dry_run_changes_nothing_of_any_duty(engine: Engine) -> None:
    engine.call_tool("fact_store", {"action": "add", "content": "The staging gateway listens on port 8443."}, {})
    tables = [row[0] for row in engine.store.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]

    def everything() -> list[object]:
        files = sorted(path.relative_to(engine.settings.hermes_home) for path in engine.settings.hermes_home.rglob("*"))
        stored = [[tuple(row) for row in engine.store.rows(f"SELECT * FROM {name}")] for name in tables]
        return [files, stored]

    before = everything()
    for name in engine.maintenance.names:
        outcome = engine.maintenance.run(name, NOW, dry_run=True)
        assert (outcome.state, outcome.run, bool(outcome.result)) == ("dry run", 0, True), name
    assert everything() == before


def test_every_duty_can_be_undone_or_says_why_not(engine: Engine) -> None:
    for shown in engine.maintenance.status()["duties"].values():
        assert len(shown["undo"]) > 10
        assert shown["does"]


def test_an_unknown_duty_or_run_is_named(engine: Engine) -> None:
    with pytest.raises(BadRequest, match="no duty 'compact'") as unknown:
        engine.maintenance.run("compact", NOW)
    assert "canary" in unknown.value.cure
    with pytest.raises(BadRequest, match="no run 7"):
        engine.maintenance.undo(7, NOW)


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


def test_dead_letters_are_reported_until_they_are_gone(engine: Engine) -> None:
    number = engine.dead_letters.add("embed:x", "embed", [["x"]], "ValueError", "no such text", 3)
    outcome = engine.maintenance.run("dead_letters", NOW)
    assert outcome.state == "degraded"
    assert "1 embed: ValueError" in outcome.result
    engine.dead_letters.remove(number)
    assert engine.maintenance.run("dead_letters", NOW).state == "ok"
