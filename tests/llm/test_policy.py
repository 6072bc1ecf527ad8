"""Back-off, budgets of tokens, and what may be repeated: properties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.policy import BACKOFF_MAX_S, Question, backoff_s, decide

jitters = st.floats(0, 1, exclude_max=True)
standings = st.builds(
    Question,
    attempts=st.integers(1, 10_000),
    spent=st.floats(0, 1e6),
    budget=st.floats(1, 1e6),
    left_s=st.floats(-10, 1e5),
    corrections=st.integers(0, 3),
    repeatable=st.booleans(),
    open=st.booleans(),
)
kinds = st.sampled_from(FaultClass)
waits = st.none() | st.floats(0, 1e5)


@given(st.integers(1, 10_000), jitters)
def test_backoff_lies_between_one_second_and_a_bound_that_doubles_to_sixty(attempt: int, jitter: float) -> None:
    wait = backoff_s(attempt, jitter)
    assert 1.0 <= wait <= min(BACKOFF_MAX_S, 2.0 ** min(attempt, 20))


@given(st.integers(1, 100))
def test_jitter_covers_the_whole_span(attempt: int) -> None:
    assert backoff_s(attempt, 0.0) == 1.0
    assert backoff_s(attempt, 0.999999) > 0.99 * min(60.0, 2.0**attempt)


@given(st.integers(1, 100), jitters)
def test_backoff_never_shrinks_with_attempts(attempt: int, jitter: float) -> None:
    assert backoff_s(attempt + 1, jitter) >= backoff_s(attempt, jitter)


@given(kinds, standings, jitters, waits)
def test_nothing_is_repeated_beyond_its_budget_its_deadline_or_its_class(
    kind: FaultClass, question: Question, jitter: float, asked: float | None
) -> None:
    decision = decide(Fault(kind, "x", retry_after=asked), question, jitter)
    if not decision.repeat:
        assert decision.reason
        return
    assert question.repeatable
    assert kind is not FaultClass.TRANSIENT or not question.open
    assert kind in (FaultClass.TRANSIENT, FaultClass.CONTENT)
    share = 0.9 if kind is FaultClass.TRANSIENT else 0.7
    assert question.spent < share * question.budget
    assert decision.wait_s < question.left_s
    assert decision.correct == (kind is FaultClass.CONTENT)
    if kind is FaultClass.CONTENT:
        assert question.corrections == 0


@given(standings, jitters, st.floats(0, 1e5))
def test_what_the_provider_asks_for_is_what_is_waited(question: Question, jitter: float, asked: float) -> None:
    decision = decide(Fault(FaultClass.TRANSIENT, "x", retry_after=asked), question, jitter)
    if decision.repeat:
        assert decision.wait_s == asked


@given(standings, jitters)
def test_within_budget_and_deadline_a_transient_fault_is_repeated(question: Question, jitter: float) -> None:
    fits = (
        question.repeatable and not question.open and question.spent < 0.9 * question.budget and question.left_s > 60.0
    )
    if fits:
        assert decide(Fault(FaultClass.TRANSIENT, "x"), question, jitter).repeat
