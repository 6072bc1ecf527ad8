"""Writing pages: under the page's lock, on what it says at that moment, and never over the user's own words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from memory_os.wiki.catalogue import Catalogue, proposal_of, read_catalogue
from memory_os.wiki.drafts import Addition
from memory_os.wiki.indexes import map_links
from memory_os.wiki.ledger import Ledger
from memory_os.wiki.merging import Settled, merged, new_page, proposal, unsaid
from memory_os.wiki.page import Page, read_page, related_in, render, with_related
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import Tree, stem
from memory_os.wiki.wikilinks import subject_key

__all__ = ["Placed", "Publisher"]

# kept: the page is the user's, and says all of it already.
How = Literal["created", "merged", "proposed", "kept"]
_PROPOSAL_HEAD = """\
# Proposed for {title}

You changed [[{stem}|{title}]], so curation leaves it alone. What raw files say besides stands here; take over what you
like and delete this file.
"""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an addition went."""

    path: str
    how: How
    contradictions: int = 0


@dataclass(frozen=True, slots=True)
class Publisher:
    """Writes for one state of one raw file. `source`: `raw/a.md`; `day`: ISO."""

    tree: Tree
    schema: Schema
    ledger: Ledger
    day: str
    source: str
    sha: str

    @property
    def _cause(self) -> str:
        return f"{self.source}@{self.sha[:16]}"

    def place(self, page: Page | None, addition: Addition, settled: Settled, *, whatever: bool) -> Placed | None:
        """Write an addition into `page`, as it was when `settled` was made of it, or into a new one (None).

        None: the page has changed since, or has come into being; compare again. `whatever`: take it as it is now.
        Raises WikiError.
        """
        if page is not None:
            with self.tree.lock(page.stem):
                text = self.tree.read(page.path)
                if text is not None:
                    return self._extend(page, text, addition, settled, whatever)
            if not whatever:  # deleted meanwhile
                return None
        return self._create(addition, whatever)

    def _extend(self, page: Page, text: str, addition: Addition, settled: Settled, whatever: bool) -> Placed | None:
        now = read_page(page.path, text)
        if unsaid(now, addition) != unsaid(page, addition) and not whatever:
            return None
        return self._put(now, text, addition, settled)

    def _put(self, page: Page, text: str, addition: Addition, settled: Settled) -> Placed:
        if not self.ledger.is_ours(page.path, text):
            return self._propose(page, addition, settled)
        return self._merge(page, text, addition, settled)

    def change(self, path: str, how: Callable[[Page], Page]) -> None:
        """Apply a change to a page of ours; one the user edited is left. Raises WikiError."""
        with self.tree.lock(stem(path)):
            text = self.tree.read(path)
            if text is not None and self.ledger.is_ours(path, text):
                page = read_page(path, text)
                self._write(page, how(page), text)

    def _create(self, addition: Addition, whatever: bool) -> Placed | None:
        """A new page, unless one of this name has come into being. One lock for all names that are being made."""
        with self.tree.lock("new page"):
            catalogue = read_catalogue(self.tree)
            known = catalogue.named([addition.title])
            if known is None:
                path = catalogue.free_path(addition.kind, addition.title)
                own = _without_taken(addition, catalogue, path)
                self._write(None, new_page(path, own, self.source, self.day, self.schema), "")
                return Placed(path, "created")
        if not whatever:
            return None
        with self.tree.lock(known.stem):
            text = self.tree.read(known.path) or ""
            page = read_page(known.path, text)
            return self._put(page, text, addition, Settled(added=tuple(unsaid(page, addition))))

    def _merge(self, page: Page, text: str, addition: Addition, settled: Settled) -> Placed:
        addition = _without_taken(addition, read_catalogue(self.tree), page.path)
        grown = merged(page, addition, settled, self.source, self.day, self.schema)
        self._write(page, grown, text)
        record = self.ledger.page(page.path)
        said = [one for one in grown.contradictions if self.source in one.second.sources and one.day == self.day]
        # A run that goes on after a kill finds its own page: it made it all the same.
        how: How = "created" if record.origin == self._cause else "merged"
        return Placed(page.path, how, len(said) if record.last == self._cause else 0)

    def _write(self, before: Page | None, page: Page, text: str) -> None:
        """Write a page of ours, its related block kept."""
        if before is not None and before == page:
            return
        related = related_in(text)
        titles = read_catalogue(self.tree).titles if page.links or related else {}
        whole = with_related(render(page, titles), related, titles, map_links(page, self.schema))
        self.ledger.announce(page.path, text, whole, self._cause)
        self.tree.write(page.path, whole)
        self.ledger.settle(page.path)

    def _propose(self, page: Page, addition: Addition, settled: Settled) -> Placed:
        """Put what the user's page doesn't say into its side file, each state of a raw file once."""
        path = proposal_of(page.path)
        mark = f"memory-os: {self._cause} {subject_key(addition.title)}".replace("--", "-")
        if not (settled.added or settled.against):
            return Placed(page.path, "kept")
        current = self.tree.read(path) or ""
        if f"<!-- {mark} -->" not in current:
            head = current.rstrip() or _PROPOSAL_HEAD.format(title=page.title, stem=page.stem).rstrip()
            part = proposal(settled, self.source, self.day, mark)
            self.tree.write(path, f"{head}\n\n{part.rstrip()}\n")
        return Placed(page.path, "proposed", len(settled.against))


def _without_taken(addition: Addition, catalogue: Catalogue, path: str) -> Addition:
    """Without the names that belong to other pages: a name means one page."""
    owners = {name: catalogue.named([name]) for name in addition.aliases}
    free = tuple(name for name, owner in owners.items() if owner is None or owner.path == path)
    return replace(addition, aliases=free)
