"""How long to wait for a service that starts: as long as it gets on, and how that is known from outside.

A start takes a second; on a machine with other work it takes a minute, and with a large memory.db to bring up to date longer
still. So the time that counts is that without progress: the process uses the processor, or comes a step further.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from memory_os.errors import ServiceUnavailable

from memory_os_workers.processes import processor_ticks

# Even a machine that is busy with other things gives a process some of its time.
STALLED_S = 60.0
WAIT_MAX_S = 900.0
# From when on a person at a terminal is told what is waited for.
_TELL_AFTER_S = 3.0

Tell = Callable[[str], None]


def say_nothing(text: str) -> None:
    """For callers with nobody to tell."""


class Patience:
    """One wait. `look` is called again and again, and raises ServiceUnavailable once there is no point in it."""

    def __init__(
        self, log: Path, *, wait_s: float = WAIT_MAX_S, stalled_s: float = STALLED_S, tell: Tell = say_nothing
    ) -> None:
        self._log = log
        self._began = self._moved_at = monotonic()
        self._wait_s = wait_s
        self._stalled_s = stalled_s
        self._tell = tell
        self._told = ""
        self._state: tuple[object, ...] = ()

    def look(self, pid: int | None, what: str, *, starts: bool = True) -> None:
        """`pid`: who is at it, `what`: what it is at, as in "waited for …". `starts`: what it does is what is waited for."""
        now = monotonic()
        state = (pid, what, processor_ticks(pid) if starts else -1)
        # Without /proc it is known only that it lives.
        if state != self._state or state[2] is None:
            self._state, self._moved_at = state, now
        if now - self._moved_at > self._stalled_s:
            raise self._given_up(f"The service makes no progress; waited {now - self._began:.0f} s for {what}.")
        if now - self._began > self._wait_s:
            raise self._given_up(f"The service did not get ready within {self._wait_s:g} s; waited for {what}.")
        if what != self._told and now - self._began > _TELL_AFTER_S:
            self._told = what
            self._tell(f"waiting for {what}")

    def _given_up(self, message: str) -> ServiceUnavailable:
        return ServiceUnavailable(message, cure=f"See {self._log}.")
