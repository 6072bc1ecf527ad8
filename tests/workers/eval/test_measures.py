"""The measures, by hand and by their properties."""

from __future__ import annotations

import io
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_workers.cli.eval import _render_gaps
from memory_os_workers.eval.measures import (
    QUESTIONS_MIN,
    Difference,
    Scores,
    difference,
    mean_of,
    percentile,
    scores_of,
    session_found,
)
from rich.console import Console

ITEMS = st.sampled_from("abcdefgh")
RANKINGS = st.lists(st.frozensets(ITEMS, max_size=2), max_size=14)


def test_a_ranking_by_hand() -> None:
    ranking = [set(), {"a"}, {"x"}, {"a", "b"}]
    assert scores_of(ranking, {"a", "b", "c"}) == Scores(0.0, 1.0, 1.0, pytest.approx(2 / 3), 0.0, 0.5)
    assert scores_of(ranking, {"b"}) == Scores(0.0, 1.0, 1.0, 1.0, 1.0, 0.25)
    assert scores_of([], {"a"}) == Scores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert scores_of([{"x"}] * 10 + [{"a"}], {"a"}).any_10 == 0.0


@given(RANKINGS, st.frozensets(ITEMS, min_size=1))
def test_measures_are_shares_that_agree(ranking: list[frozenset[str]], evidence: frozenset[str]) -> None:
    scores = scores_of(ranking, evidence)
    assert 0 <= scores.any_1 <= scores.any_5 <= scores.any_10 <= 1
    assert scores.all_10 <= scores.recall_10 <= scores.any_10
    assert (scores.mrr > 0) == (scores.any_10 == 1)


def test_means_and_percentiles() -> None:
    assert mean_of([Scores(1, 1, 1, 1, 1, 1), Scores(0, 0, 1, 0.5, 0, 0.1)]) == Scores(0.5, 0.5, 1, 0.75, 0.5, 0.55)
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([], 0.5) == 0.0


def test_the_difference_of_a_system_to_itself_is_nothing() -> None:
    scores = [Scores(1, 1, 1, 1, 1, 1), Scores(0, 0, 0, 0, 0, 0)] * 20
    gap = difference(scores, scores)["any_10"]
    assert (gap.mean, gap.low, gap.high) == (0, 0, 0)


def test_a_clear_difference_has_an_interval_on_one_side_and_the_same_one_again() -> None:
    better = [Scores(1, 1, 1, 1, 1, 1)] * 40
    worse = [Scores(0, 0, float(i % 4 == 0), 0, 0, 0) for i in range(40)]
    gap = difference(better, worse)["any_10"]
    assert gap.mean == 0.75
    assert gap.low is not None and gap.high is not None
    assert 0.5 < gap.low < 0.75 < gap.high < 0.95
    assert difference(better, worse)["any_10"] == gap
    assert (difference(worse, better)["any_10"].high or 0.0) < 0


def test_of_too_few_questions_no_interval_is_claimed() -> None:
    better, worse = [Scores(1, 1, 1, 1, 1, 1)] * QUESTIONS_MIN, [Scores(0, 0, 0, 0, 0, 0)] * QUESTIONS_MIN
    assert difference(better, worse)["any_10"] == Difference(1.0, 1.0, 1.0)
    assert difference(better[1:], worse[1:])["any_10"] == Difference(1.0, None, None)
    out = Console(file=io.StringIO(), width=120)
    _render_gaps(out, {name: asdict(gap) for name, gap in difference(better[:2], worse[:2]).items()})
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "+100.0" in said and "too few questions for an interval: it takes 20" in said


def test_a_session_stands_where_its_best_text_does() -> None:
    sessions = {f"{name}{n}": name for name in "abcdef" for n in (1, 2)}
    ranking = [{"a1"}, {"a2"}, {"b1"}, {"c1"}, set(), {"d1"}, {"e1"}, {"f1"}]
    assert session_found(ranking, {"e2"}, sessions) == 1.0, "another text of the fifth session"
    assert session_found(ranking, {"f1"}, sessions) == 0.0, "the sixth"
    assert session_found(ranking, {"f1", "b2"}, sessions) == 1.0
    assert session_found([], {"a1"}, sessions) == 0.0
    assert session_found([{"a1"}], {"stray"}, sessions) == 0.0
