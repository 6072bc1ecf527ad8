"""Time as something that is passed in, so that policy can be tried without waiting."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

_T = TypeVar("_T")


class Clock(Protocol):
    """`now`: epoch seconds; `monotonic`: seconds that never go back. `sleep` is for a wait that is part of the work, `alarm`
    for a limit that work is raced against: a clock of a test lets the first pass and rings the second when told to."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    async def alarm(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def alarm(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def first_of(work: Awaitable[_T], limit: Awaitable[str]) -> _T:
    """What `work` gives, or TimeoutError with what `limit` gives if that ends first. The loser is cancelled and awaited,
    also when the caller is cancelled: nothing of it runs on."""
    doing = asyncio.ensure_future(work)
    limiting = asyncio.ensure_future(limit)
    try:
        await asyncio.wait({doing, limiting}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise TimeoutError(limiting.result())
    finally:
        for task in (doing, limiting):
            task.cancel()
        for task in (doing, limiting):
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
