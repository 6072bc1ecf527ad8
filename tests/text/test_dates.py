"""Dates that a question names, in the languages questions come in, and what was said then."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text import query_terms
from memory_os.text.dates import Date, covers, dates_in


def noon(year: int, month: int, day: int) -> float:
    return float(calendar.timegm((year, month, day, 12, 0, 0)))


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("What did we buy on 9 July, 2025?", Date(2025, 7, 9)),
        ("the notes of July 9th 2025", Date(2025, 7, 9)),
        ("What was said on May 8?", Date(0, 5, 8)),
        ("Was war am 9. Juli 2025?", Date(2025, 7, 9)),
        ("im März 2025", Date(2025, 3, 0)),
        ("Was haben wir im Dezember beschlossen?", Date(0, 12, 0)),
        ("O que fizemos em 9 de julho de 2025?", Date(2025, 7, 9)),
        ("Что было 9 июля 2025 года?", Date(2025, 7, 9)),
        ("в феврале", Date(0, 2, 0)),
        ("ماذا حدث في 9 يوليو 2025؟", Date(2025, 7, 9)),
        ("2025年7月9日做了什么？", Date(2025, 7, 9)),
        ("7月の会議", Date(0, 7, 0)),
        ("the log of 2025-07-09", Date(2025, 7, 9)),
        ("der Stand vom 9.7.2025", Date(2025, 7, 9)),
        ("What changed in 2025?", Date(2025, 0, 0)),
    ],
)
def test_dates_as_people_ask_for_them(text: str, date: Date) -> None:
    assert dates_in(text).dates == (date,)


@pytest.mark.parametrize(
    "text",
    ["May I ask something?", "a march on Rome", "port 8443", "version 3.11.2", "the 2025 budget", "99 bottles", "13.13.2025",
     "Wir sehen uns mal", "mars is red", ""],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert dates_in(text).dates == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What did Imke buy on 9 July, 2025?", ["imke", "buy"]),
        ("Imke's log of 2025-07-09", ["imke", "log"]),
        ("Was kaufte Imke am 9. Juli 2025?", ["kaufte", "imke"]),
        ("O que Imke comprou em 9 de julho de 2025?", ["imke", "comprou"]),
    ],
)
def test_the_words_of_a_date_are_told_from_the_others(text: str, left: list[str]) -> None:
    dated = dates_in(text)
    assert [term for term in query_terms(text) if not dated.names(term)] == left


@pytest.mark.parametrize(
    ("date", "said", "tells"),
    [
        (Date(2025, 7, 9), noon(2025, 7, 9), True),
        (Date(2025, 7, 9), noon(2025, 7, 11), True),
        (Date(2025, 7, 9), noon(2025, 7, 20), False),
        (Date(2025, 7, 9), noon(2024, 7, 9), False),
        (Date(0, 7, 9), noon(2024, 7, 9), True),
        (Date(2025, 7, 0), noon(2025, 7, 31), True),
        (Date(2025, 7, 0), noon(2025, 8, 1), True),
        (Date(2025, 7, 0), noon(2025, 8, 15), False),
        (Date(2025, 0, 0), noon(2025, 3, 3), True),
        (Date(2025, 0, 0), noon(2023, 3, 3), False),
    ],
)
def test_what_happened_on_a_day_is_told_then_or_soon_after(date: Date, said: float, tells: bool) -> None:
    assert covers(date, said) is tells


@given(st.text(max_size=200), st.floats(-1e12, 1e11))
def test_any_text_has_only_dates_of_a_calendar(text: str, seconds: float) -> None:
    dated = dates_in(text)
    for date in dated.dates:
        assert 0 <= date.month <= 12
        assert 0 <= date.day <= 31
        assert date.year or date.month
        covers(date, seconds)
    assert bool(dated.dates) is bool(dated.words)
