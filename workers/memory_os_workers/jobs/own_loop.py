"""Work that is asynchronous and blocks all the same, on a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from threading import Event
from typing import Any, TypeVar

_T = TypeVar("_T")


async def on_own_loop(executor: Executor, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Its result. It is cancelled with its caller, at its next await. What it holds open belongs to its loop."""
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[_T]]] = []
    cancelled = Event()

    async def main() -> _T:
        task = asyncio.ensure_future(work())
        running.append((asyncio.get_running_loop(), task))
        if cancelled.is_set():  # before it stood in the list
            task.cancel()
        return await task

    try:
        return await asyncio.get_running_loop().run_in_executor(executor, lambda: asyncio.run(main()))
    except asyncio.CancelledError:
        cancelled.set()
        for loop, task in running:
            with suppress(RuntimeError):  # it has ended just now
                loop.call_soon_threadsafe(task.cancel)
        raise
