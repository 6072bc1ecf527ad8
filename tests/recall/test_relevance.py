"""Relevance is a matter of evidence; priors only order what has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.config import RecallSettings
from memory_os.memory import Author, Layer, Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.relevance import Asked, prior, probability

NOW = 1_790_000_000.0
DAY = 86_400.0
GATE = RecallSettings().min_probability

cosines = st.floats(-1, 1)
shares = st.floats(0, 1)
sizes = st.integers(0, 10**6)


def candidate(cosine: float = 0.0, coverage: float = 0.0, *, compared: bool = True) -> Candidate:
    return Candidate(1, cosine, coverage * 10, coverage, compared)


def note(**values: object) -> Passage:
    return Passage(Layer.FACTS, "fact:1", "tea", "default/local", Author.AGENT, **values)  # type: ignore[arg-type]


@given(cosines, shares, sizes, st.booleans(), st.booleans())
def test_probability_is_one(cosine: float, coverage: float, size: int, compared: bool, cross: bool) -> None:
    assert 0 <= probability(candidate(cosine, coverage, compared=compared), size, cross_language=cross) <= 1


@given(cosines, cosines, shares, sizes, st.booleans())
def test_more_likeness_is_never_less_probable(one: float, other: float, coverage: float, size: int, cross: bool) -> None:
    low, high = sorted((one, other))
    assert probability(candidate(low, coverage), size, cross_language=cross) <= probability(
        candidate(high, coverage), size, cross_language=cross
    )


@given(cosines, shares, shares, sizes, st.booleans(), st.booleans())
def test_more_words_are_never_less_probable(
    cosine: float, one: float, other: float, size: int, cross: bool, compared: bool
) -> None:
    low, high = sorted((one, other))
    assert probability(candidate(cosine, low, compared=compared), size, cross_language=cross) <= probability(
        candidate(cosine, high, compared=compared), size, cross_language=cross
    )


@given(cosines, shares, sizes, sizes, st.booleans())
def test_the_best_of_many_must_be_better(cosine: float, coverage: float, one: int, other: int, cross: bool) -> None:
    few, many = sorted((one, other))
    assert probability(candidate(cosine, coverage), many, cross_language=cross) <= probability(
        candidate(cosine, coverage), few, cross_language=cross
    )


@given(cosines, shares, sizes)
def test_between_languages_nothing_is_less_probable(cosine: float, coverage: float, size: int) -> None:
    assert probability(candidate(cosine, coverage), size, cross_language=True) >= probability(
        candidate(cosine, coverage), size, cross_language=False
    )


@given(sizes)
def test_common_words_alone_don_t_pass_where_meaning_says_otherwise(size: int) -> None:
    common = Candidate(pk=1, cosine=0.0, bm25=1.0, coverage=1.0)
    assert probability(common, size, cross_language=False) < GATE


def test_a_rare_word_that_is_the_whole_question_passes_by_itself() -> None:
    """Asked for "kafka", the one memory that says it is what is wanted, whatever its vector."""
    rare = Candidate(pk=1, cosine=0.1, bm25=6.5, coverage=1.0, spoken=True)
    assert probability(rare, 1300, cross_language=False) > GATE
    assert probability(rare, 1300, cross_language=False, document=True) < GATE


@given(cosines, shares, sizes, shares, shares, st.booleans(), st.booleans())
def test_the_fewer_of_a_questions_names_are_known_the_less_probable(
    cosine: float, coverage: float, size: int, one: float, other: float, compared: bool, document: bool
) -> None:
    few, many = sorted((one, other))
    found = candidate(cosine, coverage, compared=compared)
    known, less, none = (
        probability(found, size, asked, cross_language=False, document=document)
        for asked in (Asked(unknown=few), Asked(unknown=many), Asked(unknown=1.0, strangers=True))
    )
    assert none <= less <= known


def test_between_languages_a_name_may_be_spelled_otherwise() -> None:
    asked, strangers = candidate(0.4), Asked(unknown=1.0, strangers=True)
    assert probability(asked, 100, strangers, cross_language=True) == probability(asked, 100, cross_language=True)


def test_a_date_is_none_of_the_words_an_answer_must_have() -> None:
    """Of "What did Imke buy on 9 July 2025?" nobody repeats the date: who says the other two words says all."""
    found = candidate(0.3, 0.4)
    plain, dated = (probability(found, 400, Asked(dated=share), cross_language=False) for share in (0.0, 0.6))
    assert dated > plain
    assert dated == probability(candidate(0.3, 1.0), 400, cross_language=False)


@given(cosines, shares, sizes, st.booleans(), st.booleans())
def test_what_was_said_on_the_day_asked_about_is_more_probable(
    cosine: float, coverage: float, size: int, cross: bool, compared: bool
) -> None:
    found = candidate(cosine, coverage, compared=compared)
    other, then = (probability(found, size, cross_language=cross, on_the_day=day) for day in (False, True))
    assert other < then or then > 1 - 1e-9


def test_the_day_alone_is_no_evidence() -> None:
    assert probability(candidate(0.05, 0.05), 400, cross_language=False, on_the_day=True) < GATE


def test_a_document_must_be_nearer_than_what_was_said() -> None:
    near = candidate(0.3, 0.45)
    said, written = (probability(near, 300, cross_language=False, document=document) for document in (False, True))
    assert written < GATE < said


def test_words_alone_decide_where_there_is_no_vector() -> None:
    assert probability(candidate(0.0, 0.9, compared=False), 1000, cross_language=False) > GATE
    assert probability(candidate(0.0, 0.2, compared=False), 1000, cross_language=False) < GATE


@pytest.mark.parametrize("size", [8, 30, 300, 3000])
def test_what_is_unrelated_stays_far_below_the_gate(size: int) -> None:
    assert probability(candidate(0.05, 0.1), size, cross_language=False) < 0.05
    assert probability(candidate(0.05), size, cross_language=True) < 0.1


@given(
    trust=st.none() | st.floats(0, 1), importance=st.floats(-5, 5), created=st.floats(-(10**10), 10**10), now=st.floats(0, 10**10)
)
def test_priors_stay_within_a_quarter(trust: float | None, importance: float, created: float, now: float) -> None:
    factor = prior(note(trust=trust, importance=importance, created_at=created), now)
    assert abs(factor - 1) <= 0.25 + 1e-9


def test_priors_go_the_way_they_should() -> None:
    base = prior(note(created_at=NOW - 100 * DAY), NOW)
    assert prior(note(created_at=NOW - 100 * DAY, trust=0.9), NOW) > base
    assert prior(note(created_at=NOW - 100 * DAY, trust=0.2), NOW) < base
    assert prior(note(created_at=NOW - DAY), NOW) > base
    assert prior(note(created_at=NOW - 100 * DAY, importance=1.0), NOW) > base


def test_a_clock_that_went_back_makes_the_future_now() -> None:
    assert prior(note(created_at=NOW + 1000 * DAY), NOW) == prior(note(created_at=NOW), NOW)
