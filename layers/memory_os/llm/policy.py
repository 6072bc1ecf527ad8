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
class Question:
    """A question after a failed attempt.

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


def decide(fault: Fault, question: Question, jitter: float) -> Decision:
    """What to do after a fault. `jitter` is a random number in [0, 1)."""
    if not question.repeatable:
        return Decision(False, reason="not repeatable without an idempotency key")
    if fault.kind is FaultClass.TRANSIENT:
        return _after_transient(fault, question, jitter)
    if fault.kind is FaultClass.CONTENT:
        return _after_content(question)
    return Decision(False, reason=fault.kind.value)


def backoff_s(attempt: int, jitter: float) -> float:
    """Seconds after failed attempt `attempt` (from 1): uniform between 1 and a bound that doubles up to 60.

    Full jitter (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015), with a floor of a second.
    """
    bound = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(attempt, 16))
    return BACKOFF_FIRST_S + jitter * (bound - BACKOFF_FIRST_S)


def _after_transient(fault: Fault, question: Question, jitter: float) -> Decision:
    if question.open:
        return Decision(False, reason="the provider keeps failing")
    if question.spent >= TRANSIENT_SHARE * question.budget:
        return Decision(False, reason="the retry budget is spent")
    wait = backoff_s(question.attempts, jitter) if fault.retry_after is None else fault.retry_after
    if wait >= question.left_s:
        return Decision(False, wait_s=wait, reason="the deadline comes first")
    return Decision(True, wait_s=wait)


def _after_content(question: Question) -> Decision:
    if question.corrections >= CORRECTIONS:
        return Decision(False, reason="corrected once already")
    if question.spent >= CONTENT_SHARE * question.budget:
        return Decision(False, reason="the budget for corrections is spent")
    if question.left_s <= 0:
        return Decision(False, reason="the deadline comes first")
    return Decision(True, correct=True)
