from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.fabric.tiers import DAY_S, tier_of

NOW = 1_790_000_000.0
ORDER = ("hot", "warm", "cold")
DAYS = st.floats(-10, 4000)
VALUES = st.sampled_from(["", "normal", "high", "low", "strange"])


def tier(days: float, uses: int = 0, value: str = "", unfinished: bool = False) -> int:
    return ORDER.index(tier_of(NOW, NOW - days * DAY_S, None, uses, value, unfinished=unfinished))


@pytest.mark.parametrize(
    ("days", "uses", "value", "expected"),
    [
        (1, 0, "", 0),
        (20, 0, "", 1),
        (100, 0, "", 2),
        (20, 10, "", 0),
        (100, 10, "", 1),
        (1000, 99, "high", 1),
        (8, 0, "low", 1),
    ],
)
def test_entries_cool_by_age_and_stay_by_use(days: float, uses: int, value: str, expected: int) -> None:
    assert tier(days, uses, value) == expected


@given(DAYS, st.floats(0, 1000), st.integers(0, 50), VALUES)
def test_older_is_never_hotter(days: float, more: float, uses: int, value: str) -> None:
    assert tier(days + more, uses, value) >= tier(days, uses, value)


@given(DAYS, st.integers(0, 50), st.integers(0, 50), VALUES)
def test_more_use_is_never_colder(days: float, uses: int, more: int, value: str) -> None:
    assert tier(days, uses + more, value) <= tier(days, uses, value)


@given(DAYS, st.integers(0, 50), VALUES)
def test_open_work_is_hot_and_high_value_never_cold(days: float, uses: int, value: str) -> None:
    assert tier(days, uses, value, unfinished=True) == 0
    assert tier(days, uses, "high") < 2


def test_use_brings_an_entry_back() -> None:
    assert tier_of(NOW, NOW - 400 * DAY_S, NOW - DAY_S, 1, "", unfinished=False) == "hot"
