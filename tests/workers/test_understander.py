"""The loop that has turns read: it outlives what nobody foresaw."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os_workers import understanding
from memory_os_workers.jobs.pipeline import Pipeline
from memory_os_workers.run_files import prepare_home
from memory_os_workers.understanding import Understander


def test_a_fault_nobody_foresaw_is_told_once_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(understanding, "EVERY_S", 0.01)
    settings = load_settings({}, hermes_home=tmp_path)
    prepare_home(settings)
    engine = Engine.open(settings)
    third, looks = asyncio.Event(), []

    async def look(self: Understander) -> int:
        looks.append(1)
        if len(looks) == 3:
            third.set()
        raise KeyError("nobody foresaw it")

    monkeypatch.setattr(Understander, "look", look)

    async def run() -> None:
        with ThreadPoolExecutor(1) as executor:
            pipeline = Pipeline(engine, settings, executor=executor, nudge=lambda: None)
            task = asyncio.create_task(Understander(engine, pipeline, executor=executor, nudge=lambda: None).run())
            await asyncio.wait_for(third.wait(), 30)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    engine.close()
    assert caplog.text.count("turns stay unread") == 1 and "nobody foresaw it" in caplog.text
