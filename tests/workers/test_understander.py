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
from memory_os_workers.bench.hanging import Provider, hanging_provider
from memory_os_workers.jobs.pipeline import Pipeline
from memory_os_workers.run_files import prepare_home
from memory_os_workers.understanding import Understander

from workers.running import wait_until


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


def captured(engine: Engine, number: int, text: str, *, session: str = "s", at: float, before: str = "") -> None:
    engine.capture.take(
        {
            "v": 1, "type": "turn", "turn_id": f"{session}{number}", "session_id": session, "platform": "cli", "user": "local",
            "profile": "default", "at": at, "user_message": text, "assistant_response": "Noted.", "before": before,
        }
    )  # fmt: skip


def taken_back(engine: Engine) -> None:
    """Somebody says something, and in the next turn that it is to be forgotten."""
    said = "My password hint is the name of my first cat."
    captured(engine, 0, said, at=time.time() - 60)
    captured(engine, 1, "Forget that, please.", at=time.time() - 59, before=content_hash(said))


def test_what_was_taken_back_goes_with_the_next_look_also_without_a_model(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    prepare_home(settings)
    engine = Engine.open(settings)
    taken_back(engine)
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


def test_what_was_taken_back_does_not_wait_for_a_model_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understanding, "EVERY_S", 0.05)

    async def run(engine: Engine, provider: Provider) -> None:
        gone, loop = asyncio.Event(), asyncio.get_running_loop()
        engine.taking_back.forgotten = lambda: loop.call_soon_threadsafe(gone.set)
        with ThreadPoolExecutor(2) as executor:
            pipeline = Pipeline(engine, engine.settings, executor=executor, nudge=lambda: None)
            task = asyncio.create_task(Understander(engine, pipeline, executor=executor, nudge=lambda: None).run())
            await asyncio.to_thread(wait_until, lambda: provider.held > 0)
            await asyncio.to_thread(taken_back, engine)
            await asyncio.wait_for(gone.wait(), 60)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with hanging_provider() as provider:
        home = tmp_path / "memory-os"
        home.mkdir()
        model = f"models: {{provider: openai, base_url: {provider.url!r}, model: silent}}\n"
        (home / "config.yaml").write_text(model, "utf-8")
        settings = load_settings({}, hermes_home=tmp_path)
        prepare_home(settings)
        engine = Engine.open(settings)
        captured(engine, 0, "The kiln is fired at 1,040 degrees for nine hours.", session="earlier", at=time.time() - 7200)
        asyncio.run(run(engine, provider))
        try:
            rows = engine.store.rows("SELECT session_id FROM messages")
            assert {row["session_id"] for row in rows} == {"earlier"}
        finally:
            engine.close()
