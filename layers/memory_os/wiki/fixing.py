"""Mending what lint found, where that is safe: pages nobody edited, our blocks, index pages, the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_os.wiki import indexes, journal, linking, sources
from memory_os.wiki.catalogue import Catalogue, read_catalogue
from memory_os.wiki.lint import Finding
from memory_os.wiki.page import Page
from memory_os.wiki.publishing import Publisher
from memory_os.wiki.records import CurationRecords
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import Tree

__all__ = ["fix"]


def fix(tree: Tree, schema: Schema, found: Sequence[Finding], day: str, now: float) -> None:
    """Mend the findings that are fixable. Raises WikiError."""
    wanted = [one for one in found if one.fixable]
    records = CurationRecords(tree)
    sources.settle(tree, schema, records, day, sources.missing(tree, records))
    publisher = Publisher(tree, schema, records, day, "", "lint")
    of_pages = {one.path for one in wanted if one.check in ("orphans", "broken links", "front matter", "tags")}
    of_pages &= set(tree.pages())
    for path in sorted(of_pages):
        known = read_catalogue(tree)
        publisher.change(path, lambda page, known=known: _cleaned(page, known, schema))  # type: ignore[misc]
    linking.connect(tree, schema, sorted(of_pages))
    if any(one.check == "log" for one in wanted):
        journal.rotate(tree, now)
        journal.ensure(tree)
    indexes.rewrite(tree, read_catalogue(tree), schema)


def _cleaned(page: Page, known: Catalogue, schema: Schema) -> Page:
    """Without links to pages that are gone, names that are another page's, and tags that are not in the vocabulary."""
    owners = {name: known.named([name]) for name in page.aliases}
    return replace(
        page,
        links=tuple(one for one in page.links if one in known.titles),
        aliases=tuple(name for name, owner in owners.items() if owner is None or owner.path == page.path),
        tags=tuple(one for one in page.tags if one in schema.tags),
    )
