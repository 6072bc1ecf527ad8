"""One attempt under its time-outs: whole, first token, between tokens, and the question's deadline over all."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from memory_os.llm.clock import Clock, first_of
from memory_os.llm.patience import TimeOuts

_T = TypeVar("_T")


class Stopwatch:
    """Counts from `begin`, not from the wait for a place. A token costs one assignment, not a timer."""

    def __init__(self, clock: Clock, time_outs: TimeOuts, deadline: float) -> None:
        self._clock = clock
        self._time_outs = time_outs
        self._deadline = deadline
        self._begun: float | None = None
        self._last: float | None = None
        self.first_s: float | None = None
        self.longest_gap_s = 0.0
        self.pieces = 0

    @property
    def begun(self) -> bool:
        return self._begun is not None

    @property
    def seconds(self) -> float:
        return 0.0 if self._begun is None else self._clock.monotonic() - self._begun

    def begin(self) -> None:
        self._begun = self._clock.monotonic()

    def heard(self) -> None:
        """A token came."""
        now = self._clock.monotonic()
        self.pieces += 1
        if self._last is None:
            self.first_s = now - (now if self._begun is None else self._begun)
        else:
            self.longest_gap_s = max(self.longest_gap_s, now - self._last)
        self._last = now

    async def run(self, work: Awaitable[_T]) -> _T:
        """What `work` gives. Raises TimeoutError(`whole`, `first`, `between` or `deadline`); `work` is then cancelled."""
        return await first_of(work, self._expiry())

    async def _expiry(self) -> str:
        while True:
            due, name = self._next()
            left = due - self._clock.monotonic()
            if left <= 0:
                return name
            # The call may begin and its first token come while this sleeps, which brings the next limit forward: but not
            # to before the shortest of them has passed.
            await self._clock.alarm(min(left, self._shortest()))

    def _next(self) -> tuple[float, str]:
        due = [(self._deadline, "deadline")]
        if self._begun is not None:
            due.append((self._begun + self._time_outs.whole, "whole"))
            if self._last is None:
                due.append((self._begun + self._time_outs.first, "first"))
            else:
                due.append((self._last + self._time_outs.between, "between"))
        return min(due)

    def _shortest(self) -> float:
        return min(self._time_outs.whole, self._time_outs.first, self._time_outs.between)
