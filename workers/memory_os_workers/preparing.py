"""An answer about a person that a model is preparing: waited for a few seconds, without holding a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

# How often it is looked for when nothing says that it came: a thought that came between two looks is not missed.
_LOOK_S = 0.5
_IN_VAIN = "No model has answered within {seconds:g} s. "

Ask = Callable[[], Awaitable[dict[str, Any]]]


class Preparing:
    """One service's. `arrived` may be called from any thread; `hurry` has a question looked at now."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.hurry: Callable[[], None] = lambda: None

    def arrived(self) -> None:
        """A model has thought, or failed at it."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def answer(self, first: dict[str, Any], ask: Ask) -> dict[str, Any]:
        """`first`, or what `ask` gives once the answer is there; past the time what search found, which says so."""
        answer, until = first, self._loop.time() + self._seconds
        if answer.get("preparing"):
            self.hurry()
        while answer.get("preparing") and (left := until - self._loop.time()) > 0:
            self._arrived.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), min(left, _LOOK_S))
            answer = await ask()
        if answer.get("preparing") and self._seconds > 0:
            answer["note"] = _IN_VAIN.format(seconds=self._seconds) + str(answer.get("note", ""))
        return answer
