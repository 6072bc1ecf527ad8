"""Writing pages: under the page's lock, on what it says at that moment, and never over the user's own words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from memory_os.wiki.catalogue import Catalogue, proposal_of, read_catalogue
from memory_os.wiki.drafts import Addition
from memory_os.wiki.indexes import map_links
from memory_os.wiki.merging import Settled, merged, new_page, proposal, unsaid
from memory_os.wiki.page import Page, hash_of, read_page, related_in, render, with_related
from memory_os.wiki.records import CurationRecords
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import ARCHIVE, Tree, stem
from memory_os.wiki.wikilinks import subject_key
from memory_os.wiki.withdrawing import Withdrawal, lost, withdrawn

__all__ = ["Placed", "Publisher", "Withdrawn"]

# kept: the page is the user's, and says all of it already.
How = Literal["created", "merged", "proposed", "kept"]
Withdrawn = Literal["kept", "changed", "archived", "proposed"]
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
    """Writes for one state of one raw file. `source`: `raw/a.md`; `day`: ISO; `withdrawal`: what no longer holds."""

    tree: Tree
    schema: Schema
    records: CurationRecords
    day: str
    source: str
    sha: str
    withdrawal: Withdrawal | None = None

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
        now = self.standing(read_page(page.path, text))
        if unsaid(now, addition) != unsaid(page, addition) and not whatever:
            return None
        return self._put(text, page.path, addition, settled)

    def standing(self, page: Page) -> Page:
        """The page as far as it still holds."""
        if self.withdrawal is None:
            return page
        return withdrawn(page, self.withdrawal, self.day, of_origin=self._is_origin(page))

    def _is_origin(self, page: Page) -> bool:
        """Whether a file whose words are withdrawn made the page, and so gave its summary."""
        made_by = self.records.page(page.path).origin.rpartition("@")[0]
        return self.withdrawal is not None and made_by in self.withdrawal.sources

    def withdraw(self, path: str) -> Withdrawn:
        """Take what no longer holds off a page that nothing is added to. One left with no statement moves to the archive;
        for one the user edited, it stands in the side file. Raises WikiError."""
        with self.tree.lock(stem(path)):
            text = self.tree.read(path)
            if text is None:
                return "kept"
            page = read_page(path, text)
            left = self.standing(page)
            if not self.records.is_ours(path, text):
                placed = self._propose(page, Addition(page.title, page.kind), Settled())
                return "proposed" if placed.how == "proposed" else "kept"
            if left == page:  # a run that goes on after a kill finds what it did
                return "changed" if self.records.page(path).last == self._cause else "kept"
            if page.statements and not left.statements and not left.contradictions:
                self._archive(path, text)
                self.tree.remove(path)
                return "archived"
            self._write(page, left, text)
            return "changed"

    def _archive(self, path: str, text: str) -> None:
        """A copy of the page as it was: what is taken off it was paid for, and may be wanted back. Its name is that of its
        text, so that a run which is repeated writes it once."""
        copy = PurePosixPath(ARCHIVE, "pages", f"{stem(path)}-{hash_of(text)[:8]}.md")
        self.tree.write(copy.as_posix(), text)

    def _put(self, text: str, path: str, addition: Addition, settled: Settled) -> Placed:
        page = read_page(path, text)
        if not self.records.is_ours(page.path, text):
            return self._propose(page, addition, settled)
        return self._merge(page, text, addition, settled)

    def change(self, path: str, how: Callable[[Page], Page]) -> None:
        """Apply a change to a page of ours; one the user edited is left. Raises WikiError."""
        with self.tree.lock(stem(path)):
            text = self.tree.read(path)
            if text is not None and self.records.is_ours(path, text):
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
            page = self.standing(read_page(known.path, text))
            return self._put(text, page.path, addition, Settled(added=tuple(unsaid(page, addition))))

    def _merge(self, page: Page, text: str, addition: Addition, settled: Settled) -> Placed:
        addition = _without_taken(addition, read_catalogue(self.tree), page.path)
        left = self.standing(page)
        grown = merged(left, addition, settled, self.source, self.day, self.schema)
        if self.withdrawal is not None:
            grown = _kept_in_place(page, grown, addition, self._is_origin(page))
        self._write(page, grown, text)
        record = self.records.page(page.path)
        said = [one for one in grown.contradictions if self.source in one.second.sources and one.day == self.day]
        # A run that goes on after a kill finds its own page: it made it all the same.
        how: How = "created" if record.origin == self._cause else "merged"
        return Placed(page.path, how, len(said) if record.last == self._cause else 0)

    def _write(self, before: Page | None, page: Page, text: str) -> None:
        """Write a page of ours, its related block kept."""
        if before is not None and before == page:
            return
        related = related_in(text)
        if before is not None and lost(before, page):
            self._archive(page.path, text)
        titles = read_catalogue(self.tree).titles if page.links or related else {}
        whole = with_related(render(page, titles), related, titles, map_links(page, self.schema))
        self.records.announce(page.path, text, whole, self._cause)
        self.tree.write(page.path, whole)
        self.records.written(page.path)

    def _propose(self, page: Page, addition: Addition, settled: Settled) -> Placed:
        """Put what the user's page doesn't say into its side file, each state of a raw file once."""
        path = proposal_of(page.path)
        mark = f"memory-os: {self._cause} {subject_key(addition.title)}".replace("--", "-")
        gone = lost(page, self.standing(page))
        if not (settled.added or settled.against or gone):
            return Placed(page.path, "kept")
        current = self.tree.read(path) or ""
        if f"<!-- {mark} -->" not in current:
            head = current.rstrip() or _PROPOSAL_HEAD.format(title=page.title, stem=page.stem).rstrip()
            part = proposal(settled, self.source, self.day, mark, gone)
            self.tree.write(path, f"{head}\n\n{part.rstrip()}\n")
        return Placed(page.path, "proposed", len(settled.against))


def _kept_in_place(before: Page, page: Page, addition: Addition, origin: bool) -> Page:
    """A source that says other things now keeps its number, and has its say on confidence once; the summary of the file
    that made the page is what the file says now."""
    known = tuple(one for one in before.sources if one in page.sources)
    same = set(page.sources) <= set(before.sources)
    return replace(
        page,
        sources=tuple(dict.fromkeys((*known, *page.sources))),
        confidence=before.confidence if same else page.confidence,
        summary=addition.summary if origin and addition.summary else page.summary,
    )


def _without_taken(addition: Addition, catalogue: Catalogue, path: str) -> Addition:
    """Without the names that belong to other pages: a name means one page."""
    owners = {name: catalogue.named([name]) for name in addition.aliases}
    free = tuple(name for name, owner in owners.items() if owner is None or owner.path == path)
    return replace(addition, aliases=free)
