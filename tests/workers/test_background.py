"""The loops beside the requests: nothing ends them, nothing spooled is lost."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.errors import StoreError
from memory_os_workers.background import (
    BATCH_GOAL_S,
    BATCH_MAX,
    RETRY_MAX_S,
    Background,
    Duty,
    collect_young,
    is_disk_full,
    next_batch,
    retry_delay,
)
from memory_os_workers.run_files import prepare_home, spool_files


@given(st.integers(0, 100_000))
def test_retries_come_later_and_later_but_within_a_minute(failures: int) -> None:
    assert 0 <= retry_delay(failures) <= retry_delay(failures + 1) <= RETRY_MAX_S


def test_the_first_retry_comes_after_a_second() -> None:
    assert [retry_delay(one) for one in range(5)] == [0, 1, 2, 4, 8]


@given(st.floats(1e-4, 10))
def test_batches_settle_at_their_goal_whatever_a_passage_costs(cost: float) -> None:
    size = 4
    for _ in range(12):
        assert 1 <= size <= BATCH_MAX
        size = next_batch(size, size * cost)
    assert size == 1 or size * cost <= 1.5 * BATCH_GOAL_S
    assert size == BATCH_MAX or size * cost >= 0.5 * BATCH_GOAL_S


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (sqlite3.OperationalError("database or disk is full"), True),
        (_caused(StoreError("can't"), OSError(errno.EDQUOT, "quota")), True),
        (OSError(errno.EACCES, "denied"), False),
        (sqlite3.OperationalError("database is locked"), False),
        (None, False),
    ],
)
def test_a_full_disk_is_recognised_through_its_causes(error: Exception | None, full: bool) -> None:
    assert is_disk_full(error) is full


def test_a_duty_remembers_its_failures_and_recovers() -> None:
    duty = Duty("embedding")
    duty.failed(OSError(errno.ENOSPC, "No space left on device"))
    duty.failed(ValueError("x"))
    assert duty.figures()["failing"] and duty.figures()["failures"] == 2
    assert not duty.figures()["disk_full"]
    duty.succeeded()
    assert not duty.figures()["failing"]
    assert duty.figures()["last_error"] == "ValueError: x"


def test_young_garbage_is_found_unless_a_start_has_switched_that_off() -> None:
    class Ring:
        def __init__(self) -> None:
            self.itself = self

    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        ring = weakref.ref(Ring())
        gc.disable()
        collect_young()
        assert ring() is not None
        gc.enable()
        collect_young()
        assert ring() is None
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = load_settings({"HERMES_HOME": str(tmp_path)})
    prepare_home(settings)
    opened = Engine.open(settings)
    yield opened
    opened.close()


def _spool(engine: Engine, text: str) -> None:
    record = {
        "v": 1, "type": "turn", "turn_id": f"t-{text}", "session_id": "s1", "platform": "cli", "user": "local",
        "profile": "default", "at": time.time(), "user_message": text, "assistant_response": "Noted.",
    }  # fmt: skip
    name = f"{time.time_ns():020d}-00000000.json"
    (engine.settings.spool_dir / name).write_text(json.dumps(record), "utf-8")


def _run(engine: Engine, until: Callable[[Background], bool], *, busy: bool = False) -> Background:
    """The loops, until something holds."""

    async def run() -> Background:
        with ThreadPoolExecutor(1) as capture, ThreadPoolExecutor(1) as embed, ThreadPoolExecutor(1) as house:
            loops = Background(
                engine, engine.settings, capture=capture, embed=embed, house=house, busy=lambda: busy
            )
            task = asyncio.create_task(loops.run())
            async with asyncio.timeout(90):
                while not until(loops):
                    await asyncio.sleep(0.02)
            loops.stopping = True
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return loops

    return asyncio.run(run())


def test_the_spool_is_taken_in_without_a_nudge(engine: Engine) -> None:
    _spool(engine, "the relay stands in the cellar")
    loops = _run(engine, lambda _: not spool_files(engine.settings))
    assert loops.figures()["spool_depth"] == 0
    assert engine.store.value("SELECT count(*) FROM messages") >= 1


def test_a_full_disk_keeps_the_spool_says_so_and_goes_on_when_there_is_room(engine: Engine) -> None:
    writer = engine.store._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(20):
        _spool(engine, f"{number} " + "the relay stands in the cellar " * 200)
    loops = _run(engine, lambda one: one.spool.disk_full)
    assert loops.figures()["spool_depth"] > 0
    assert "disk is full" in loops.figures()["note"]
    writer.execute("PRAGMA max_page_count = 1000000")
    _run(engine, lambda _: not spool_files(engine.settings))
    turns = engine.store.value("SELECT count(DISTINCT turn_id) FROM messages")
    assert turns == 20


def test_a_failing_duty_neither_ends_the_loop_nor_the_other(engine: Engine) -> None:
    with engine.store.write() as db:
        db.execute("ALTER TABLE messages RENAME TO elsewhere")
    _spool(engine, "the relay stands in the cellar")
    loops = _run(engine, lambda one: one.spool.failures > 0 or one.housekeeping.runs + one.housekeeping.failures > 0)
    assert loops.housekeeping.runs + loops.housekeeping.failures > 0 or loops.spool.failures > 0
