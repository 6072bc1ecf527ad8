"""Blocking work leaves the caller's loop free, and ends with its caller."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.errors import MemoryOSError
from memory_os_workers.jobs.connection import WorkClient
from memory_os_workers.jobs.own_loop import on_own_loop
from memory_os_workers.jobs.tools import Tools


def test_work_that_blocks_holds_nobody_up() -> None:
    async def run() -> str:
        go_on = threading.Event()

        async def work() -> str:
            assert go_on.wait(30)
            return "done"

        with ThreadPoolExecutor(1) as thread:
            result = asyncio.ensure_future(on_own_loop(thread, work))
            await asyncio.sleep(0)
            # Only a loop that goes on gets here.
            go_on.set()
            return await result

    assert asyncio.run(run()) == "done"


def test_it_is_cancelled_with_its_caller_and_its_fault_arrives() -> None:
    async def run() -> None:
        begun, ended = threading.Event(), threading.Event()

        async def waits() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def fails() -> None:
            raise ValueError("its own")

        with ThreadPoolExecutor(1) as thread:
            caller = asyncio.ensure_future(on_own_loop(thread, waits))
            assert await asyncio.to_thread(begun.wait, 30)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            assert await asyncio.to_thread(ended.wait, 30)
            with pytest.raises(ValueError, match="its own"):
                await on_own_loop(thread, fails)

    asyncio.run(run())


def test_curation_is_such_work(tmp_path: Path) -> None:
    settings = load_settings({"HERMES_HOME": str(tmp_path)})

    async def run() -> None:
        tools = Tools(settings, WorkClient(settings))
        try:
            with pytest.raises(MemoryOSError):  # there is no wiki
                await tools.curate("notes.md")
            assert any(one.name.startswith("curate") for one in threading.enumerate())
        finally:
            await tools.close()

    asyncio.run(run())
