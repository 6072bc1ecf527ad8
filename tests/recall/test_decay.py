"""Forgetting as a curve: older is less, use and importance keep, nothing leaves its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.recall.decay import DAY_S, HALF_LIFE_DAYS, effective_age_days, half_life_days, retention, retention_after

NOW = 1_790_000_000.0
DAYS = st.floats(0, 4000)
USES = st.integers(0, 500)
SHARE = st.floats(0, 1)


def left(days: float, uses: int = 0, importance: float = 0.5, idle: float | None = None) -> float:
    used = None if idle is None else NOW - idle * DAY_S
    return retention(NOW - days * DAY_S, NOW, uses=uses, last_used_at=used, importance=importance)


def test_half_is_left_after_a_half_life() -> None:
    assert left(0) == 1
    assert left(HALF_LIFE_DAYS) == pytest.approx(0.5)
    assert left(3 * HALF_LIFE_DAYS) == pytest.approx(retention_after(3 * HALF_LIFE_DAYS))


@given(DAYS, st.floats(0, 1000), USES, SHARE)
def test_older_is_never_more(days: float, more: float, uses: int, importance: float) -> None:
    assert left(days + more, uses, importance) <= left(days, uses, importance)


@given(DAYS, USES, st.integers(0, 50), SHARE, SHARE)
def test_use_and_importance_never_take_away(days: float, uses: int, more: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert left(days, uses + more, high) >= left(days, uses, low)


@given(DAYS, DAYS, USES)
def test_a_retrieval_at_most_halves_the_age(days: float, idle: float, uses: int) -> None:
    created = NOW - days * DAY_S
    seen = effective_age_days(created, NOW - idle * DAY_S, NOW)
    assert days / 2 - 1e-6 <= seen <= days + 1e-6


@given(st.floats(-(10**10), 10**10), st.floats(-(10**10), 10**10), st.integers(-5, 10**9), st.floats(-9, 9))
def test_it_is_a_share_whatever_the_clock_says(created: float, used: float, uses: int, importance: float) -> None:
    assert 0 <= retention(created, 10.0, uses=uses, last_used_at=used, importance=importance) <= 1


def test_the_first_uses_count_most() -> None:
    gains = [half_life_days(uses + 1, 0.5) - half_life_days(uses, 0.5) for uses in range(6)]
    assert gains == sorted(gains, reverse=True)
    assert half_life_days(1, 0.5) == HALF_LIFE_DAYS * 1.5
    assert half_life_days(0, 1.0) == HALF_LIFE_DAYS * 2
