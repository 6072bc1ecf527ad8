"""How much of a memory is left, from its age, its last retrieval and its importance. Pure policy, computed when asked.

Exponential forgetting with a half-life that use and importance lengthen, the shape of spaced-repetition models
(Ebbinghaus' curve with a memory strength): R = 2^(-t/S). Nothing is stored, so nothing has to be kept up to date, and a
clock that was set wrong does no lasting harm. Recall turns R into a bounded factor (`relevance.prior`); the weekly duty
archives what has little left (`memory_os.maintenance.decay`).
"""

from __future__ import annotations

import math
from functools import lru_cache

DAY_S = 86_400.0
# Of a memory of ordinary importance that nobody has asked for yet.
HALF_LIFE_DAYS = 120.0
# A retrieval counts for less the more there were: 1, 3 and 7 of them add as much each.
_USE_GAIN = 0.5
# Importance 1 doubles the half-life, 0 halves it.
_IMPORTANCE_OCTAVES = 2.0


@lru_cache(maxsize=4096)
def half_life_days(uses: int, importance: float) -> float:
    """The half-life S in days: 120 at importance .5 without a use, longer with both."""
    use = 1 + _USE_GAIN * math.log2(1 + max(uses, 0))
    return float(HALF_LIFE_DAYS * use * 2 ** (_IMPORTANCE_OCTAVES * (min(max(importance, 0.0), 1.0) - 0.5)))


def effective_age_days(created_at: float, last_used_at: float | None, now: float) -> float:
    """The mean of the age and the time since the last retrieval, both in days.

    A retrieval at most halves the age: what is shown is used, and what is used is shown; with the whole age forgiven,
    an old statement would outrank the newer one that corrects it for no better reason.
    """
    age = max(now - created_at, 0.0)
    idle = age if last_used_at is None else min(max(now - last_used_at, 0.0), age)
    return (age + idle) / 2 / DAY_S


def retention(
    created_at: float, now: float, *, uses: int = 0, last_used_at: float | None = None, importance: float = 0.5
) -> float:
    """R in (0, 1]: 1 for what is new, 0.5 after one half-life. All times are epoch seconds."""
    days = effective_age_days(created_at, last_used_at, now)
    return math.exp2(-days / half_life_days(uses, importance))


def retention_after(days: float) -> float:
    """What is left of an ordinary memory that nobody asked for, after so many days: a threshold, told in days."""
    return math.exp2(-days / HALF_LIFE_DAYS)
