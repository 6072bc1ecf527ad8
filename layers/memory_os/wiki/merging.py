"""How what a raw file says comes into a page. Pure, and doing it twice changes nothing: a killed run is simply repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory_os.wiki.drafts import Addition, Verdict
from memory_os.wiki.page import Contradiction, Page, Statement
from memory_os.wiki.schema import Schema
from memory_os.wiki.wikilinks import subject_key

__all__ = ["Settled", "linked", "merged", "new_page", "proposal", "settle", "unsaid"]

# A verdict below this is no verdict: small models are seldom sure, and what they link wrongly stays linked.
SURE = 0.7
_TAGS_MAX, _ALIASES_MAX, _LINKS_MAX = 8, 20, 24


@dataclass(frozen=True, slots=True)
class Settled:
    """What a verdict made of the new statements. `added`: (section, text); `repeats`: existing text that now has one
    more source; `against`: (existing text, new text)."""

    added: tuple[tuple[str, str], ...] = ()
    repeats: tuple[str, ...] = ()
    against: tuple[tuple[str, str], ...] = field(default=())


def unsaid(page: Page, addition: Addition) -> list[tuple[str, str]]:
    """The statements that the page does not have in the same words, contradictions included."""
    said = {subject_key(one.text) for one in page.statements}
    said |= {subject_key(side.text) for one in page.contradictions for side in (one.first, one.second)}
    return [one for one in addition.statements if subject_key(one[1]) not in said]


def settle(existing: Sequence[str], new: Sequence[tuple[str, str]], verdict: Verdict) -> Settled:
    """Apply a verdict's numbers (from 1). What it says of numbers that don't exist is passed over.

    A contradiction outweighs a repetition: nothing disappears because a model took it for the same.
    """
    against = {
        pair.new: pair.existing
        for pair in verdict.contradictions
        if 0 < pair.new <= len(new) and 0 < pair.existing <= len(existing)
    }
    repeats = {
        pair.new: pair.existing
        for pair in verdict.duplicates
        if 0 < pair.new <= len(new) and 0 < pair.existing <= len(existing) and pair.new not in against
    }
    return Settled(
        added=tuple(one for number, one in enumerate(new, 1) if number not in against and number not in repeats),
        repeats=tuple(dict.fromkeys(existing[number - 1] for number in repeats.values())),
        against=tuple((existing[old - 1], new[number - 1][1]) for number, old in against.items()),
    )


def new_page(path: str, addition: Addition, source: str, day: str, schema: Schema) -> Page:
    """A page of its own."""
    page = Page(
        path=path,
        title=addition.title,
        kind=addition.kind,
        tags=addition.tags,
        created=day,
        updated=day,
        sources=(source,),
        confidence=addition.confidence,
        aliases=addition.aliases,
        summary=addition.summary,
    )
    return replace(page, sections=_with(page, addition.statements, source, schema))


def merged(page: Page, addition: Addition, settled: Settled, source: str, day: str, schema: Schema) -> Page:
    """The page with the addition. Nothing that stands there is changed or removed."""
    sources = page.sources if source in page.sources else (*page.sources, source)
    repeats = {subject_key(text) for text in settled.repeats} | {
        subject_key(text) for _, text in addition.statements if text not in {new for _, new in settled.against}
    }
    sections = {
        name: tuple(_sourced(one, source) if subject_key(one.text) in repeats else one for one in statements)
        for name, statements in page.sections.items()
    }
    grown = replace(
        page,
        sources=sources,
        tags=tuple(dict.fromkeys((*page.tags, *addition.tags)))[:_TAGS_MAX],
        aliases=_aliases(page, addition),
        confidence=_confidence(page, addition) if source not in page.sources else page.confidence,
        sections=sections,
        contradictions=_contradictions(page, settled, source, day),
    )
    grown = replace(grown, sections=_with(grown, settled.added, source, schema))
    return replace(grown, updated=day) if grown != page else page


def linked(page: Page, stems: Iterable[str]) -> Page:
    """The page with links to these pages in its list of links, itself left out."""
    links = tuple(dict.fromkeys((*page.links, *(one for one in stems if one != page.stem))))[:_LINKS_MAX]
    return replace(page, links=links)


def proposal(settled: Settled, source: str, day: str, mark: str, gone: Sequence[str] = ()) -> str:
    """What would have been added to a page the user edited, and taken off it (`gone`): one part of its side file."""
    lines = [f"<!-- {mark} -->", f"## {day}, from {source}", ""]
    by_section: dict[str, list[str]] = {}
    for section, text in settled.added:
        by_section.setdefault(section, []).append(text)
    for section, texts in by_section.items():
        lines += [f"### {section}", "", *(f"- {text}" for text in texts), ""]
    if settled.against:
        lines += ["### Contradictions", ""]
        for old, new in settled.against:
            lines += [f"- the page: {old}", f"  {source}: {new}"]
        lines.append("")
    if gone:
        lines += ["### No longer said there", "", *(f"- {text}" for text in gone), ""]
    return "\n".join(lines)


def _with(
    page: Page, statements: Iterable[tuple[str, str]], source: str, schema: Schema
) -> Mapping[str, tuple[Statement, ...]]:
    """The page's sections with these statements, in the order of SCHEMA.md; sections it doesn't name stay, at the end."""
    said = {subject_key(one.text) for one in page.statements}
    grown = {name: list(found) for name, found in page.sections.items()}
    for section, text in statements:
        if subject_key(text) not in said:
            said.add(subject_key(text))
            grown.setdefault(section, []).append(Statement(text, (source,)))
    order = {name: number for number, name in enumerate(schema.sections[page.kind])}
    names = sorted(grown, key=lambda name: order.get(name, len(order)))
    return {name: tuple(grown[name]) for name in names if grown[name]}


def _sourced(statement: Statement, source: str) -> Statement:
    return statement if source in statement.sources else replace(statement, sources=(*statement.sources, source))


def _contradictions(page: Page, settled: Settled, source: str, day: str) -> tuple[Contradiction, ...]:
    known = {frozenset((subject_key(one.first.text), subject_key(one.second.text))) for one in page.contradictions}
    held = {subject_key(one.text): one for one in page.statements}
    found = list(page.contradictions)
    for old, new in settled.against:
        pair = frozenset((subject_key(old), subject_key(new)))
        if pair not in known:
            known.add(pair)
            first = held.get(subject_key(old), Statement(old))
            found.append(Contradiction(day, Statement(first.text, first.sources), Statement(new, (source,))))
    return tuple(found)


def _aliases(page: Page, addition: Addition) -> tuple[str, ...]:
    found = {subject_key(name): name for name in reversed((*page.aliases, *addition.names))}
    found.pop(subject_key(page.title), None)
    ordered = dict.fromkeys(subject_key(name) for name in (*page.aliases, *addition.names))
    return tuple(found[key] for key in ordered if key in found)[:_ALIASES_MAX]


def _confidence(page: Page, addition: Addition) -> float:
    """The mean over the sources."""
    count = max(len(page.sources), 1)
    return round((page.confidence * count + addition.confidence) / (count + 1), 2)
