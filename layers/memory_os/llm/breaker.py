"""A circuit breaker: a provider that keeps failing is left alone for a while, then tried by one call. Pure, but for state.

closed ──5 transient failures in a row──▶ open ──30 s, doubling to 10 min──▶ half-open ──the probe answers──▶ closed
                                            ▲                                    │
                                            └──────────────the probe fails───────┘
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

FAILURES = 5
COOL_FIRST_S = 30.0
COOL_MAX_S = 600.0
# How calls may end that say nothing of the provider: the caller gave up, or had given it too little time.
SAYS_NOTHING = ("cancelled", "timeout_deadline")


class BreakerState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(slots=True)
class Breaker:
    """One provider's. All times are the caller's clock, in seconds."""

    failures: int = 0
    openings: int = 0
    open_until: float = 0.0
    probing: bool = False

    def state(self, now: float) -> BreakerState:
        if not self.openings:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.open_until else BreakerState.HALF_OPEN

    def admit(self, now: float) -> bool:
        """Whether a call may go out. Half-open, the first asker is the probe; others wait for what it finds."""
        state = self.state(now)
        if state is BreakerState.CLOSED:
            return True
        if state is BreakerState.OPEN or self.probing:
            return False
        self.probing = True
        return True

    def succeeded(self) -> None:
        """The provider answered, whatever it said."""
        self.failures = self.openings = 0
        self.open_until = 0.0
        self.probing = False

    def failed(self, now: float, asked_s: float | None = None) -> None:
        """A transient failure. `asked_s`: the pause the provider asked for, kept to when the breaker opens."""
        self.failures += 1
        # A call that started before the breaker opened says nothing new.
        if self.state(now) is BreakerState.OPEN:
            return
        if self.probing or self.failures >= FAILURES:
            cool = min(COOL_MAX_S, COOL_FIRST_S * 2.0 ** min(self.openings, 16))
            self.openings += 1
            self.open_until = now + max(cool, asked_s or 0.0)
            self.probing = False

    def abandoned(self) -> None:
        """The probe was cancelled: it found nothing out, and the next asker is the probe."""
        self.probing = False


def replayed(calls: Iterable[tuple[float, bool]]) -> Breaker:
    """The breaker as calls have left it: (when, whether it failed transiently), oldest first."""
    breaker = Breaker()
    for at, failed in calls:
        if failed:
            breaker.admit(at)
            breaker.failed(at)
        else:
            breaker.succeeded()
    return breaker
