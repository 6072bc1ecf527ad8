"""How long to wait for a model: configured values at first, then what was observed. Pure, but for the observations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

# Below this many observations a 99th percentile says nothing.
ENOUGH = 20
# From this many on it is trusted as far as it can be.
PLENTY = 200
FACTOR_FEW = 2.0
FACTOR_PLENTY = 1.5
# A time-out moves within these multiples of what was configured: a provider that got slow is still noticed, and one
# lucky series does not cut off the next long answer.
LEAST = 0.25
MOST = 3.0


class Limits(Protocol):
    """Seconds: for the whole call, until the first token, between two."""

    @property
    def whole(self) -> float: ...

    @property
    def first(self) -> float: ...

    @property
    def between(self) -> float: ...


@dataclass(frozen=True, slots=True)
class TimeOuts:
    """Limits in seconds, as configured or as adapted."""

    whole: float
    first: float
    between: float


def stretched(start: Limits, factor: float) -> TimeOuts:
    """The same limits, `factor` times as long."""
    return TimeOuts(start.whole * factor, start.first * factor, start.between * factor)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of them do not exceed (nearest rank). `values` is not empty."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def adapted(start: float, observed: Sequence[float]) -> float:
    """The time-out in seconds: `start` until there are enough observations, then their p99 times 2, falling to 1.5."""
    if len(observed) < ENOUGH:
        return start
    share = min(1.0, (len(observed) - ENOUGH) / (PLENTY - ENOUGH))
    factor = FACTOR_FEW - share * (FACTOR_FEW - FACTOR_PLENTY)
    return min(max(percentile(observed, 0.99) * factor, LEAST * start), MOST * start)


def _ring() -> deque[float]:
    return deque(maxlen=PLENTY)


@dataclass(slots=True)
class Observations:
    """The latest times of one class of calls, in seconds.

    A time-out is an observation too, of the time that was waited: without it only quick calls would be seen, and the
    limit would creep down.
    """

    whole: deque[float] = field(default_factory=_ring)
    first: deque[float] = field(default_factory=_ring)
    between: deque[float] = field(default_factory=_ring)

    def time_outs(self, start: Limits) -> TimeOuts:
        return TimeOuts(
            whole=adapted(start.whole, self.whole),
            first=adapted(start.first, self.first),
            between=adapted(start.between, self.between),
        )
