"""Days, months and years that a text names ("9 July, 2022", "im Juli", "2022年7月", "2022-07-09"), and the words that do. Pure.

A question's date says when something was said: memories carry it as their time, not as words. Absolute dates only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# By month: English, German, Portuguese, Spanish, French, Italian, Russian (its cases), Arabic (both sets of names).
_MONTHS = tuple(
    words.split()
    for words in (
        "january jan januar jänner janeiro enero janvier gennaio январь января январе يناير",
        "february feb februar feber fevereiro febrero février febbraio февраль февраля феврале فبراير شباط",
        "march mar märz maerz março marzo mars март марта марте مارس آذار",
        "april apr abril avril aprile апрель апреля апреле أبريل ابريل نيسان",
        "may mai maio mayo maggio май мая мае مايو أيار",
        "june jun juni junho junio juin giugno июнь июня июне يونيو حزيران",
        "july jul juli julho julio juillet luglio июль июля июле يوليو تموز",
        "august aug agosto août август августа августе أغسطس اغسطس آب",
        "september sept sep setembro septiembre septembre settembre сентябрь сентября сентябре سبتمبر أيلول",
        "october oct oktober okt outubro octubre octobre ottobre октябрь октября октябре أكتوبر اكتوبر",
        "november nov novembro noviembre novembre ноябрь ноября ноябре نوفمبر",
        "december dec dezember dez dezembro diciembre décembre dicembre декабрь декабря декабре ديسمبر",
    )
)
_NUMBER_OF = {word: number for number, words in enumerate(_MONTHS, 1) for word in words}
# These are words of their own, or short for something else: a month only beside a day or a year.
_AMBIGUOUS = frozenset({"may", "march", "mar", "mars", "mai", "jan", "sep", "dec", "mae", "мая", "мае", "شباط", "آب", "apr", "jun", "aug"})

_YEAR = r"(?:19|20)\d\d"
_DAY = r"[0-3]?\d"
_MONTH = "|".join(sorted(_NUMBER_OF, key=len, reverse=True))
_WORDED = re.compile(
    rf"(?:\b(?P<day>{_DAY})(?:st|nd|rd|th|º|er|\.|-?го|-?е)?\s+(?:of\s+|de\s+)?)?"
    rf"\b(?P<month>{_MONTH})\b\.?"
    rf"(?:\s+(?P<after>{_DAY})(?:st|nd|rd|th)?(?!\d|:|\s*[ap]m\b))?"
    rf"(?:,?\s+(?:of\s+|de\s+)?(?P<year>{_YEAR})\b)?"
)
_NUMERIC = re.compile(
    rf"\b(?P<year>{_YEAR})[-/.](?P<month>[01]?\d)(?:[-/.](?P<day>{_DAY}))?\b"
    rf"|\b(?P<day2>{_DAY})[.](?P<month2>[01]?\d)[.](?P<year2>{_YEAR})\b"
)
_EAST_ASIAN = re.compile(rf"(?:(?P<year>{_YEAR})\s*年\s*)?(?P<month>[01]?\d)\s*月(?:\s*(?P<day>{_DAY})\s*[日号])?")
_YEAR_ALONE = re.compile(
    rf"\b(?:in|of|since|during|im jahr|seit|em|desde|en|depuis|nel|в|с|عام|سنة|في)\s+(?P<year>{_YEAR})\b|(?P<year2>{_YEAR})\s*[年г]"
)
_TERM = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"\d+|[^\W\d_]+")
_DAY_S = 86_400
# "On Sunday I ran a race", said on Tuesday: what happened on a day is told within so many days. One day before it for time zones.
_TOLD_WITHIN_DAYS = 3
_MONTH_TOLD_WITHIN_DAYS = 2


class Date(NamedTuple):
    """What a text says of a date; 0 for what it leaves open. Month 0 is a whole year, day 0 a whole month."""

    year: int
    month: int
    day: int


class Dated(NamedTuple):
    """The dates of a text in their order, and their words, casefolded."""

    dates: tuple[Date, ...]
    words: frozenset[str]

    def names(self, term: str) -> bool:
        """Whether a term of full-text search ("july", "2022-07-09") only names one of the dates."""
        return term in self.words or (bool(self.words) and self.words.issuperset(_TERM.findall(term)))


UNDATED = Dated((), frozenset())


@lru_cache(maxsize=512)
def dates_in(text: str) -> Dated:
    """All dates that `text` names."""
    folded = text.casefold()
    dates: dict[Date, None] = {}
    words: set[str] = set()
    for date, said in _found(folded):
        dates[date] = None
        words.update(_TERM.findall(said), _PIECE.findall(said))
    return Dated(tuple(dates), frozenset(words))


def covers(date: Date, seconds: float) -> bool:
    """Whether something said at that moment (UTC) may tell of this date: said then, or a few days after."""
    for days in range(-1, _TOLD_WITHIN_DAYS + 1) if date.day else range(_MONTH_TOLD_WITHIN_DAYS + 1):
        at = time.gmtime(max(seconds - days * _DAY_S, 0.0))
        if all(not said or said == was for said, was in zip(date, at[:3], strict=True)):
            return True
    return False


def _found(folded: str) -> Iterator[tuple[Date, str]]:
    taken: list[tuple[int, int]] = []
    for pattern in (_NUMERIC, _EAST_ASIAN, _WORDED, _YEAR_ALONE):
        for match in pattern.finditer(folded):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            date = _date(match)
            if date is not None:
                taken.append(match.span())
                yield date, match.group().strip(" .,")


def _date(match: re.Match[str]) -> Date | None:
    """None for what is no date: a thirteenth month, "may" as a verb."""
    said = {name.rstrip("2"): value for name, value in match.groupdict().items() if value}
    day = int(said.get("day") or said.get("after") or 0)
    year = int(said.get("year", 0))
    name = said.get("month", "0")
    month = int(name) if name.isdecimal() else _NUMBER_OF[name]
    if name in _AMBIGUOUS and not (day or year):
        return None
    return Date(year, month, day) if month <= 12 and day <= 31 and (year or month) else None
