"""The loop that has turns read: it outlives what nobody foresaw."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.memory import content_hash
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


def test_what_was_taken_back_goes_with_the_next_look_also_without_a_model(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    prepare_home(settings)
    engine = Engine.open(settings)
    said, order = "My password hint is the name of my first cat.", "Forget that, please."
    for number, (text, before) in enumerate(((said, ""), (order, content_hash(said)))):
        engine.capture.take(
            {
                "v": 1, "type": "turn", "turn_id": f"t{number}", "session_id": "s", "platform": "cli", "user": "local",
                "profile": "default", "at": time.time() - 60 + number, "user_message": text, "assistant_response": "Noted.",
                "before": before,
            }
        )  # fmt: skip
    assert engine.store.value("SELECT count(*) FROM messages") > 0

    async def look() -> int:
        with ThreadPoolExecutor(1) as executor:
            pipeline = Pipeline(engine, settings, executor=executor, nudge=lambda: None)
            return await Understander(engine, pipeline, executor=executor, nudge=lambda: None).look()

    try:
        assert asyncio.run(look()) == 0
        assert engine.store.value("SELECT count(*) FROM messages") == 0
    finally:
        engine.close()
