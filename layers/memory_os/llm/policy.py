"""When an attempt is repeated, and after how long. Pure.

Retries are bounded by what they may cost, not by a count: every attempt is charged with the tokens it had reserved, and
the question may spend a multiple of one attempt (`models.retry_budget`). Transient faults stop at 90 % of that, bad
answers at 70 % and after one correction: a model that misunderstands twice will do so a third time.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory_os.llm.faults import Fault, FaultClass

BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 60.0
TRANSIENT_SHARE = 0.9
CONTENT_SHARE = 0.7
CORRECTIONS = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one question stands after a failed attempt.

    `attempts`: of this class so far, 1 for the first. `spent`, `budget`: tokens. `left_s`: seconds to the deadline.
    `repeatable`: asking twice does no harm, or the provider is told by a key that it is the same question.
    `open`: this fault has opened the breaker; the next rung of the ladder is asked instead.
    """

    attempts: int
    spent: float
    budget: float
    left_s: float
    corrections: int = 0
    repeatable: bool = True
    open: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Repeat after `wait_s`, with a correction or as it was; or stop, because of `reason`."""

    repeat: bool
    wait_s: float = 0.0
    correct: bool = False
    reason: str = ""


def decide(fault: Fault, standing: Standing, jitter: float) -> Decision:
    """What to do after a fault. `jitter` is a random number in [0, 1)."""
    if not standing.repeatable:
        return Decision(False, reason="not repeatable without an idempotency key")
    if fault.kind is FaultClass.TRANSIENT:
        return _after_transient(fault, standing, jitter)
    if fault.kind is FaultClass.CONTENT:
        return _after_content(standing)
    return Decision(False, reason=fault.kind.value)


def backoff_s(attempt: int, jitter: float) -> float:
    """Seconds after failed attempt `attempt` (from 1): uniform between 1 and a bound that doubles up to 60.

    Full jitter (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015), with a floor of a second.
    """
    bound = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(attempt, 16))
    return BACKOFF_FIRST_S + jitter * (bound - BACKOFF_FIRST_S)


def _after_transient(fault: Fault, standing: Standing, jitter: float) -> Decision:
    if standing.open:
        return Decision(False, reason="the provider keeps failing")
    if standing.spent >= TRANSIENT_SHARE * standing.budget:
        return Decision(False, reason="the retry budget is spent")
    wait = backoff_s(standing.attempts, jitter) if fault.retry_after is None else fault.retry_after
    if wait >= standing.left_s:
        return Decision(False, wait_s=wait, reason="the deadline comes first")
    return Decision(True, wait_s=wait)


def _after_content(standing: Standing) -> Decision:
    if standing.corrections >= CORRECTIONS:
        return Decision(False, reason="corrected once already")
    if standing.spent >= CONTENT_SHARE * standing.budget:
        return Decision(False, reason="the budget for corrections is spent")
    if standing.left_s <= 0:
        return Decision(False, reason="the deadline comes first")
    return Decision(True, correct=True)
