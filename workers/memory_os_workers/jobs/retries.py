"""Which faults are worth another attempt, and when. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable

from memory_os.errors import (
    BudgetSpent,
    ConfigError,
    EmbeddingInvalid,
    EmbeddingUnavailable,
    ModelUnavailable,
    QueueError,
    ServiceUnavailable,
    StoreCorrupt,
    StoreError,
    WikiBusy,
)

ATTEMPTS = 6
BASE_S = 1.0
CAP_S = 60.0
# So many workers may die while they run a job before the job is taken for the cause.
CRASHES = 10

_TRANSIENT = (
    ServiceUnavailable, QueueError, ModelUnavailable, EmbeddingUnavailable, EmbeddingInvalid, StoreError, WikiBusy, TimeoutError,
    ConnectionError,
)  # fmt: skip
_PERMANENT = (StoreCorrupt, ConfigError)


def is_transient(error: BaseException) -> bool:
    """Whether the same job may well succeed later: something it needs is away, busy or slow."""
    return isinstance(error, _TRANSIENT) and not isinstance(error, _PERMANENT)


def delay(attempt: int, pick: Callable[[float, float], float] = random.uniform) -> float:
    """Seconds before the attempt after number `attempt` (from 1): full jitter, uniform in 0 .. min(60, 2^attempt).

    Exponential Backoff And Jitter, AWS Architecture Blog, 2015: the spread keeps many jobs from coming back together.
    """
    return pick(0.0, min(CAP_S, BASE_S * 2.0 ** min(attempt, 16)))


def wait_for(error: BaseException, attempt: int, now: float) -> float:
    """Like `delay`, but not before the time the fault itself names (epoch seconds)."""
    if isinstance(error, ModelUnavailable):
        return max(delay(attempt), error.retry_at - now)
    if isinstance(error, BudgetSpent):
        return max(0.0, error.resets_at - now) + delay(attempt)
    return delay(attempt)


def is_last(error: BaseException, attempt: int, function: str = "") -> bool:
    """Whether a failed attempt (from 1) was the last one. Waiting is no failure: for a budget, for a processor, for a model
    that is away."""
    if isinstance(error, BudgetSpent) or (function == "embed" and isinstance(error, (TimeoutError, EmbeddingUnavailable))):
        return False
    return not is_transient(error) or attempt >= ATTEMPTS
