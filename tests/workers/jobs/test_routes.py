"""What the service does with its one thread for folders and duties while a worker asks for it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os_workers.jobs.begun import Begun
from memory_os_workers.jobs.routes import DUTY_JOB_FROM_S, _due


def test_work_for_a_busy_thread_can_be_taken_back_and_a_free_one_begins() -> None:
    async def run() -> None:
        free = threading.Event()
        with ThreadPoolExecutor(1) as house:
            house.submit(free.wait)
            waits = Begun(house, lambda: "never")
            assert not await waits.begun(0.05) and waits.job.cancel()
            later = Begun(house, lambda: "done")
            free.set()
            assert await later.begun(30) and not later.job.cancel()
            assert await asyncio.wrap_future(later.job) == "done"

    asyncio.run(run())


def test_duties_of_every_minute_are_no_jobs(tmp_path: Path) -> None:
    settings = load_settings({"HERMES_HOME": str(tmp_path)})
    settings.home.mkdir(parents=True)
    with closing(Engine.open(settings)) as engine:
        engine.maintenance.due(0.0)
        due, jobs = engine.maintenance.due(1e9), _due(engine, 1e9)
        every = {name: one["every_s"] for name, one in engine.maintenance.status()["duties"].items()}
    assert "fabric" in due and "fabric" not in jobs
    assert jobs == [name for name in due if every[name] >= DUTY_JOB_FROM_S] != []
