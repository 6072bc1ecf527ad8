"""What no raw file says any more leaves a page: the file was edited, or it is gone. Pure, and twice is as once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memory_os.wiki.page import Contradiction, Page, Statement, one_line
from memory_os.wiki.wikilinks import subject_key

__all__ = ["Withdrawal", "lost", "renamed", "withdrawn"]

_SUMMARY_MAX = 200


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Raw files (`raw/a.md`) that no longer say what they said, but for what stands in `restated` (folded texts)."""

    sources: frozenset[str]
    restated: frozenset[str] = frozenset()


def withdrawn(page: Page, what: Withdrawal, day: str, *, of_origin: bool) -> Page:
    """The page without statements that rest on these files alone, and without these files beside other sources.

    A contradiction one side of which goes is none; the other side stays as a statement. A summary that said what goes, or
    that one of the files gave (`of_origin`), becomes the first statement that is left. `day`: ISO, of the change.
    """
    sections = {
        name: tuple(one for said in statements if (one := _left(said, what)) is not None)
        for name, statements in page.sections.items()
    }
    contradictions, freed = _contradictions(page, what)
    left = replace(page, sections=_placed(page, sections, freed), contradictions=contradictions)
    cited = {source for one in _said(left) for source in one.sources}
    left = replace(left, sources=tuple(one for one in page.sources if one in cited or one not in what.sources))
    if left == page:
        return page
    gone = {subject_key(text) for text in lost(page, left)}
    if left.statements and (subject_key(page.summary) in gone or (of_origin and gone)):
        left = replace(left, summary=one_line(left.statements[0].text, _SUMMARY_MAX))
    return replace(left, updated=day)


def lost(before: Page, after: Page) -> list[str]:
    """The texts that stood on the page and do not any more, in order."""
    kept = {subject_key(one.text) for one in _said(after)}
    return list(dict.fromkeys(one.text for one in _said(before) if subject_key(one.text) not in kept))


def renamed(page: Page, names: Mapping[str, str]) -> Page:
    """The page with its sources under their new names. `names`: old -> new, as `raw/a.md`."""

    def told(sources: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names.get(one, one) for one in sources))

    def said(one: Statement) -> Statement:
        return replace(one, sources=told(one.sources))

    return replace(
        page,
        sources=told(page.sources),
        sections={name: tuple(said(one) for one in statements) for name, statements in page.sections.items()},
        contradictions=tuple(Contradiction(one.day, said(one.first), said(one.second)) for one in page.contradictions),
    )


def _said(page: Page) -> list[Statement]:
    return [*page.statements, *(side for one in page.contradictions for side in (one.first, one.second))]


def _left(statement: Statement, what: Withdrawal) -> Statement | None:
    """What is left of a statement; None if nothing carries it any more. One without a source is nobody's to take."""
    if subject_key(statement.text) in what.restated or not what.sources.intersection(statement.sources):
        return statement
    sources = tuple(one for one in statement.sources if one not in what.sources)
    return replace(statement, sources=sources) if sources else None


def _contradictions(page: Page, what: Withdrawal) -> tuple[tuple[Contradiction, ...], list[tuple[Statement, str]]]:
    """Those both sides of which still stand; and sides left alone, each with the text it stood against."""
    kept: list[Contradiction] = []
    freed: list[tuple[Statement, str]] = []
    for one in page.contradictions:
        first, second = _left(one.first, what), _left(one.second, what)
        if first is not None and second is not None:
            kept.append(Contradiction(one.day, first, second))
        else:
            freed += [(side, one.first.text) for side in (first, second) if side is not None]
    return tuple(kept), freed


def _placed(
    page: Page, sections: Mapping[str, tuple[Statement, ...]], freed: Iterable[tuple[Statement, str]]
) -> Mapping[str, tuple[Statement, ...]]:
    """A side left alone goes where the other stood, unless the page says it already."""
    found = {name: list(statements) for name, statements in sections.items()}
    for side, against in freed:
        said = {subject_key(one.text) for statements in found.values() for one in statements}
        if subject_key(side.text) not in said:
            stood = (name for name, some in page.sections.items() if any(one.text == against for one in some))
            name = next(stood, next(iter(found), "Facts"))
            found.setdefault(name, []).append(side)
    return {name: tuple(statements) for name, statements in found.items()}
