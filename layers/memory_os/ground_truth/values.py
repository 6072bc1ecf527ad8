"""Values of a text: what can be wrong in one character. Numbers, versions, times, addresses, paths, hosts. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

# Bounded: without it each start in `a.a.a.…` reads to the end, and 20,000 characters take half a minute.
_VALUE = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9_./:@#-]{0,120}\d[A-Za-z0-9_./:@%#-]{0,200}"  # with a digit in it
    r"|(?<![A-Za-z0-9])(?:[a-z0-9-]{1,20}://)?[A-Za-z0-9_-]{2,80}(?:[./_][A-Za-z0-9_-]{2,80}){1,40}"  # host, path, file
)
_PORT = re.compile(r":(\d{2,5})$")
_ARABIC_DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789")
_NAMED_HOST = re.compile(r"[a-z]\w*\.[a-z]")


def values(text: str) -> list[str]:
    """What can be wrong in one digit: numbers, versions, times, addresses, paths and names with a number in them."""
    normal = unicodedata.normalize("NFKC", text[:20_000]).translate(_ARABIC_DIGITS).casefold()
    found = [match.group().strip(".,:;-#").rstrip("/") for match in _VALUE.finditer(normal)]
    ports = [port[1] for value in found if "." in value and (port := _PORT.search(value))]
    every = [value for value in dict.fromkeys([*found, *ports]) if value]
    # `TIDE_TABLE=2026b`: where something has a number, the names around it are what it is said of.
    return [value for value in every if any(char.isdigit() for char in value)] or every


def named(value: str, among: Collection[str]) -> bool:
    """Whether a value is given: as it is, or as a part of a longer one (`falke:5050`, `TIDE_TABLE=2026b`)."""
    return value in among or any(re.search(rf"(?<![a-z0-9]){re.escape(value)}(?![a-z0-9])", one) for one in among)


def alike(one: str, other: str) -> bool:
    """Of one kind: both paths, both hosts, or of one shape."""
    if "/" in one or "/" in other:
        return "/" in one and "/" in other
    return _shape(one) == _shape(other) or bool(_NAMED_HOST.search(one) and _NAMED_HOST.search(other))


def _shape(value: str) -> str:
    """`8443` is like `9443`, `13.2` like `14.1`, `02:15` like `04:15`; length does not count."""
    return re.sub(r"[a-z_\u00c0-\uffff-]+", "a", re.sub(r"\d+", "0", value))


def disagree(one: str, other: str) -> bool:
    """Whether two texts on one subject give it different values of one kind, and share none."""
    mine, theirs = values(one), values(other)
    if any(named(value, theirs) for value in mine) or any(named(value, mine) for value in theirs):
        return False
    return any(alike(value, against) for value in mine for against in theirs)
