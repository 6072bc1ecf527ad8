"""A clock that a test moves. Waits pass at once and are remembered; limits ring when the test moves time past them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_ROUNDS = 20


class FakeClock:
    """`waits`: what was slept, in order. Starts at noon UTC of a fixed day."""

    def __init__(self, now: float = 1_800_014_400.0) -> None:
        self._now = now
        self._alarms: list[tuple[float, asyncio.Future[None]]] = []
        self.waits: list[float] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.advance(seconds)

    async def alarm(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._alarms.append((self._now + seconds, future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move time on, ringing what becomes due, in order, each at its own time."""
        until = self._now + seconds
        while True:
            self._alarms = [one for one in self._alarms if not one[1].done()]
            due = min(self._alarms, key=lambda one: one[0], default=None)
            if due is None or due[0] > until:
                break
            self._now = max(self._now, due[0])
            due[1].set_result(None)
            await _let_others_run()
        self._now = until
        await _let_others_run()


async def _let_others_run() -> None:
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what real sockets bring. Raises TimeoutError when it does not come at all."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)
