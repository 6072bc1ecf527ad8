"""Ten checks of the wiki, as code. Pure but for what it is given; `fixing.py` mends what can be mended safely."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from memory_os.text.content import token_estimate
from memory_os.wiki.catalogue import Catalogue
from memory_os.wiki.journal import LOG_MAX_LINES, current_lines, is_full
from memory_os.wiki.linking import is_lonely
from memory_os.wiki.page import is_day
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import LOG, RAW, SCHEMA
from memory_os.wiki.wikilinks import wikilinks

__all__ = ["CHECKS", "Finding", "Snapshot", "findings"]

# A page longer than this is about more than one subject, or should be split by section: about ten screens.
PAGE_MAX_TOKENS = 4000
LOW_CONFIDENCE = 0.5
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Finding:
    """`fault`: something is not as it must be. `review`: all is in order, and wants a person's judgement."""

    check: str
    path: str
    message: str
    level: Literal["fault", "review"] = "fault"
    fixable: bool = False
    fixed: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.check, self.path, self.message)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in ("check", "level", "path", "message", "fixable", "fixed")}


@dataclass(frozen=True)
class Snapshot:
    """The wiki at one moment. `ours`: pages nobody edited since we wrote them. `source_days`: raw file (`raw/a.md`) ->
    epoch seconds it is of. `index`: index pages that are not as they should be."""

    catalogue: Catalogue
    schema: Schema | None
    schema_problem: str = ""
    ours: frozenset[str] = frozenset()
    source_days: Mapping[str, float] = field(default_factory=dict)
    index: Mapping[str, str | None] = field(default_factory=dict)
    log: str | None = None
    stale_days: int = 90


def findings(snapshot: Snapshot) -> list[Finding]:
    """All findings, by check and path."""
    return [
        replace(one, check=name)
        for name, check in CHECKS.items()
        for one in sorted(check(snapshot), key=lambda found: (found.path, found.message))
    ]


def _orphans(snapshot: Snapshot) -> Iterator[Finding]:
    catalogue = snapshot.catalogue
    for path in catalogue.pages:
        if is_lonely(catalogue, path):
            what = "no other page links here" if not catalogue.incoming[path] else "links to no other page"
            yield Finding("", path, what, fixable=snapshot.schema is not None)


def _broken_links(snapshot: Snapshot) -> Iterator[Finding]:
    for path, text in snapshot.catalogue.texts.items():
        for target in dict.fromkeys(link.target for link in wikilinks(text)):
            if snapshot.catalogue.resolves(target):
                continue
            if target.startswith(f"{RAW}/"):
                yield Finding("", path, f"its source {target} is gone", fixable=_is_mended(snapshot, path))
            else:
                yield Finding("", path, f"[[{target}]] leads nowhere", fixable=path in snapshot.ours)


def _is_mended(snapshot: Snapshot, path: str) -> bool:
    """Whether what rests on a missing file may be taken off this page."""
    return path in snapshot.ours and snapshot.schema is not None


def _index(snapshot: Snapshot) -> Iterator[Finding]:
    for path, text in snapshot.index.items():
        yield Finding("", path, "is not up to date" if text is not None else "is about a tag no page has", fixable=True)


def _front_matter(snapshot: Snapshot) -> Iterator[Finding]:
    for path, page in sorted(snapshot.catalogue.pages.items()):
        yield from (Finding("", path, problem) for problem in page.problems)
        for name in page.names:
            owner = snapshot.catalogue.named([name])
            if owner is not None and owner.path != path:
                mended = path in snapshot.ours and name in page.aliases and snapshot.schema is not None
                yield Finding("", path, f"the name {name!r} belongs to {owner.path} too", fixable=mended)
        if not page.problems and not page.sources:
            yield Finding("", path, "`sources` is empty", level="review")


def _tags(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.schema is None:
        yield Finding("", SCHEMA, snapshot.schema_problem)
        return
    for path, page in snapshot.catalogue.pages.items():
        for tag in page.tags:
            if tag not in snapshot.schema.tags:
                yield Finding("", path, f"tag {tag!r} is not in SCHEMA.md", fixable=path in snapshot.ours)


def _staleness(snapshot: Snapshot) -> Iterator[Finding]:
    for path, page in snapshot.catalogue.pages.items():
        days = [snapshot.source_days[one] for one in page.sources if one in snapshot.source_days]
        if not days or not is_day(page.updated):
            continue
        updated = datetime.datetime.fromisoformat(page.updated).replace(tzinfo=datetime.UTC).timestamp()
        behind = int((max(days) - updated) // _DAY_S)
        if behind > snapshot.stale_days:
            yield Finding("", path, f"lies {behind} days behind its newest source", level="review")


def _contradictions(snapshot: Snapshot) -> Iterator[Finding]:
    for path, page in snapshot.catalogue.pages.items():
        for one in page.contradictions:
            sides = [f"{side.text!r} ({', '.join(side.sources) or 'the page'})" for side in (one.first, one.second)]
            yield Finding("", path, f"since {one.day}: {' against '.join(sides)}", level="review")


def _confidence(snapshot: Snapshot) -> Iterator[Finding]:
    for path, page in snapshot.catalogue.pages.items():
        if page.confidence < LOW_CONFIDENCE:
            yield Finding("", path, f"confidence is {page.confidence:.2f}", level="review")


def _length(snapshot: Snapshot) -> Iterator[Finding]:
    for path, text in snapshot.catalogue.texts.items():
        tokens = token_estimate(text)
        if tokens > PAGE_MAX_TOKENS:
            yield Finding("", path, f"has about {tokens} tokens, more than {PAGE_MAX_TOKENS}: split it", level="review")


def _log(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.log is None:
        yield Finding("", LOG, "is missing", fixable=True)
    elif is_full(snapshot.log):
        count = len(current_lines(snapshot.log))
        yield Finding("", LOG, f"has {count} lines, {LOG_MAX_LINES} are a full log", fixable=True)


CHECKS: Mapping[str, Callable[[Snapshot], Iterator[Finding]]] = {
    "orphans": _orphans,
    "broken links": _broken_links,
    "index": _index,
    "front matter": _front_matter,
    "tags": _tags,
    "staleness": _staleness,
    "contradictions": _contradictions,
    "confidence": _confidence,
    "length": _length,
    "log": _log,
}
