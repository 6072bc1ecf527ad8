"""CREATIVE.md as text: learnings, open questions, and how many cycles it has seen. Pure; the user's own lines stay.

    # Creative
    Cycles: 3
    ## Learnings
    - 2026-11-02: The staging database listens on 6380.
    ## Open questions
    - 2026-11-03: Why does the nightly build take twice as long?

Whatever else stands in the file (other sections, notes, blank lines) is neither read nor changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LEARNINGS, QUESTIONS = "Learnings", "Open questions"
TEMPLATE = f"# Creative\n\nCycles: 0\n\n## {LEARNINGS}\n\n## {QUESTIONS}\n"

_HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ITEM = re.compile(r"^[ \t]{0,3}[-*+][ \t]+(?:(?P<day>\d{4}-\d{2}-\d{2})[ \t]*:[ \t]*)?(?P<text>\S.*?)[ \t]*$")
_CYCLES = re.compile(r"^(?P<label>[ \t]*cycles[ \t]*:[ \t]*)(?P<count>\d{1,9})[ \t]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a section. `day` is ISO 8601, or "" where the user gave none."""

    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Creative:
    learnings: list[Item] = field(default_factory=list)
    questions: list[Item] = field(default_factory=list)
    cycles: int = 0


def parse(text: str) -> Creative:
    """What the file says, in its order."""
    found = Creative(
        [_item(line) for line in _section_lines(text, LEARNINGS) if _ITEM.match(line)],
        [_item(line) for line in _section_lines(text, QUESTIONS) if _ITEM.match(line)],
    )
    counts = [int(match["count"]) for line in text.splitlines() if (match := _CYCLES.match(line))]
    return Creative(found.learnings, found.questions, counts[0] if counts else 0)


def with_item(text: str, section: str, item: Item) -> str:
    """The text with `item` as the section's last line; unchanged when it already says so."""
    known = parse(text)
    if any(_same(item.text, one.text) for one in (known.learnings if section == LEARNINGS else known.questions)):
        return text
    words = " ".join(item.text.split())
    added = f"- {item.day}: {words}" if item.day else f"- {words}"
    lines, newline = _lines(text)
    bounds = _bounds(lines, section)
    if bounds is None:
        gap = [""] if lines and lines[-1].strip() else []
        return newline.join([*lines, *gap, f"## {section}", "", added, ""])
    start, end = bounds
    while end > start and not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == start else []
    rest = lines[end:] if end < len(lines) else [""]
    return newline.join([*lines[:end], *gap, added, *rest])


def without_item(text: str, words: str) -> str:
    """The text without the lines, in either section, that say these words."""
    lines, newline = _lines(text)
    inside: set[int] = set()
    for section in (LEARNINGS, QUESTIONS):
        bounds = _bounds(lines, section)
        inside.update(range(*bounds) if bounds else ())
    kept = [
        line
        for number, line in enumerate(lines)
        if not (number in inside and (match := _ITEM.match(line)) and _same(match["text"], words))
    ]
    return newline.join(kept)


def with_cycles(text: str, cycles: int) -> str:
    """The text with the cycle count set, where it stands, or below the title."""
    lines, newline = _lines(text)
    for number, line in enumerate(lines):
        match = _CYCLES.match(line)
        if match:
            return newline.join([*lines[:number], f"{match['label']}{cycles}", *lines[number + 1 :]])
    at = 1 if lines and _HEADING.match(lines[0].removeprefix("\ufeff")) else 0
    return newline.join([*lines[:at], *([""] if at else []), f"Cycles: {cycles}", *(lines[at:] or [""])])


def _item(line: str) -> Item:
    match = _ITEM.match(line)
    assert match is not None
    return Item(match["text"], match["day"] or "")


def _section_lines(text: str, section: str) -> Iterator[str]:
    lines, _ = _lines(text)
    bounds = _bounds(lines, section)
    return iter(lines[slice(*bounds)] if bounds else ())


def _bounds(lines: list[str], section: str) -> tuple[int, int] | None:
    """Where a section's lines begin and end, its heading left out."""
    start: int | None = None
    for number, line in enumerate(lines):
        heading = _HEADING.match(line.removeprefix("\ufeff"))
        if heading is None:
            continue
        if start is not None:
            return start, number
        if heading[1].casefold() == section.casefold():
            start = number + 1
    return None if start is None else (start, len(lines))


def _lines(text: str) -> tuple[list[str], str]:
    """The lines without their ends, and the end the file uses."""
    newline = "\r\n" if "\r\n" in text else "\n"
    return text.split(newline), newline


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
