"""Reconciliation: its loops outlive faults that nobody foresaw, which are counted and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os_workers.jobs import reconciliation
from memory_os_workers.jobs.pipeline import Pipeline
from memory_os_workers.jobs.reconciliation import Reconciliation
from memory_os_workers.run_files import prepare_home


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = load_settings({}, hermes_home=tmp_path)
    prepare_home(settings)
    opened = Engine.open(settings)
    yield opened
    opened.close()


class Faulty:
    """Raises what nobody foresaw at the first call, and sets `again` at the second."""

    def __init__(self, loop: asyncio.AbstractEventLoop, then: Callable[[], Any]) -> None:
        self.calls = 0
        self.again = asyncio.Event()
        self._loop = loop
        self._then = then

    def __call__(self) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise KeyError("nobody foresaw it")
        self._loop.call_soon_threadsafe(self.again.set)
        return self._then()


@pytest.mark.parametrize(
    ("part", "name", "counter"),
    [
        ("documents", "refresh", "documents_failed"),
        ("pipeline", "curate_waiting", "reconciliation_failed"),
        ("fabric", "refresh", "reconciliation_failed"),
    ],
)
def test_a_fault_nobody_foresaw_is_counted_and_the_loop_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, part: str, name: str, counter: str
) -> None:
    monkeypatch.setattr(reconciliation, "EVERY_S", 0.05)
    monkeypatch.setattr(reconciliation, "_AFTER_FAULT_S", 0.05)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as house, ThreadPoolExecutor(1) as executor:
            pipeline = Pipeline(engine, engine.settings, executor=executor, nudge=lambda: None)
            owner: Any = pipeline if part == "pipeline" else getattr(engine, part)
            faulty = Faulty(loop, getattr(owner, name))
            monkeypatch.setattr(owner, name, faulty)
            both = Reconciliation(engine, pipeline, house=house)
            task = asyncio.create_task(both.run())
            async with asyncio.timeout(90):
                while not faulty.again.is_set():
                    both._nudged(engine.settings.fabric_dir)
                    await asyncio.sleep(0.05)
            assert not task.done()
            both.stop()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    rows = engine.store.rows("SELECT value, last_reason FROM counters WHERE name = ?", (counter,))
    assert [row["value"] for row in rows] == [1] and "nobody foresaw it" in rows[0]["last_reason"]
