"""Measures of a ranking against its evidence, and of the difference of two systems on the same questions. Pure.

A ranking is a list of what each place holds: the evidence items found there (none, one or several).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DEPTH = 10
SESSIONS = 5
_RESAMPLES = 2000
# Of fewer no interval is given.
QUESTIONS_MIN = 20
_SEED = 11

Ranking = Sequence[Collection[str]]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one question, or means over many: shares in 0..1. `mrr` is the reciprocal of the first evidence's place, 10 deep."""

    any_1: float
    any_5: float
    any_10: float
    recall_10: float
    all_10: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the differences question by question, and the interval that holds it in 95 % of resamplings.

    No interval (None) of too few questions: a percentile bootstrap's is then far too narrow, and of two it is the questions.
    """

    mean: float
    low: float | None
    high: float | None


def scores_of(ranking: Ranking, evidence: Collection[str]) -> Scores:
    """`evidence` is not empty. Each item counts once, at its first place."""
    places = _first_places(ranking, frozenset(evidence))
    first = min(places.values(), default=DEPTH + 1)
    found = len(places)
    return Scores(
        float(first <= 1), float(first <= 5), float(first <= DEPTH), found / len(evidence), float(found == len(evidence)),
        1 / first if first <= DEPTH else 0.0,
    )  # fmt: skip


def session_found(ranking: Ranking, evidence: Collection[str], sessions: Mapping[str, str]) -> float:
    """1.0 where a session of the evidence is among the first five, else 0.0. `sessions`: document -> its session.

    A session stands where its best document does.
    """
    order: dict[str, None] = {}
    for held in ranking:
        order |= dict.fromkeys(sorted(sessions[item] for item in held if item in sessions))
    wanted = {sessions[item] for item in evidence if item in sessions}
    return float(not wanted.isdisjoint(list(order)[:SESSIONS]))


def mean_of(scores: Sequence[Scores]) -> Scores:
    """Means of a non-empty list."""
    return Scores(*(float(column.mean()) for column in _columns(scores).T))


def difference(ours: Sequence[Scores], theirs: Sequence[Scores]) -> dict[str, Difference]:
    """Paired bootstrap over questions (Efron & Tibshirani 1993, percentile interval), by the name of the measure."""
    gaps = _columns(ours) - _columns(theirs)
    if len(gaps) < QUESTIONS_MIN:
        return {name: Difference(float(gaps[:, i].mean()), None, None) for i, name in enumerate(Scores.__slots__)}
    chosen = np.random.default_rng(_SEED).integers(0, len(gaps), (_RESAMPLES, len(gaps)))
    means = np.stack([gaps[rows].mean(axis=0) for rows in chosen])
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return {
        name: Difference(float(gaps[:, i].mean()), float(low[i]), float(high[i]))
        for i, name in enumerate(Scores.__slots__)
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which so large a share lies; 0.0 of none."""
    return float(np.quantile(np.asarray(values), share)) if values else 0.0


def _first_places(ranking: Ranking, evidence: frozenset[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, held in enumerate(ranking[:DEPTH], 1):
        for item in evidence.intersection(held):
            places.setdefault(item, place)
    return places


def _columns(scores: Sequence[Scores]) -> F64:
    return np.array([[getattr(one, name) for name in Scores.__slots__] for one in scores], np.float64)
