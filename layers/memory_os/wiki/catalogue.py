"""All pages at one moment: which one a name or a wikilink means, and who links to whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from memory_os.fabric.names import slug
from memory_os.wiki.page import Page, read_page, related_in
from memory_os.wiki.tree import FOLDERS, INDEX, LOG, PROPOSAL, RAW, SCHEMA, Tree, stem
from memory_os.wiki.wikilinks import subject_key, wikilinks

__all__ = ["Catalogue", "read_catalogue"]

# `concepts/` and a file system's own limit leave room for more; an encrypted home takes 143 bytes a name.
_STEM_BYTES = 80


@dataclass(frozen=True)
class Catalogue:
    """`pages` and `texts` by path, `raw`: the names of raw files (`raw/a.md`), `others`: maps and the like."""

    pages: dict[str, Page]
    texts: dict[str, str] = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    @cached_property
    def titles(self) -> dict[str, str]:
        """stem -> title."""
        return {page.stem: page.title for page in self.pages.values()}

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """Folded title or alias -> path; titles before aliases, the first page by path where two share one."""
        found: dict[str, str] = {}
        for names in (lambda page: (page.title,), lambda page: page.aliases):
            for path, page in sorted(self.pages.items()):
                for name in names(page):
                    if key := subject_key(name):
                        found.setdefault(key, path)
        return found

    @cached_property
    def _by_stem(self) -> dict[str, str]:
        return {stem(path).casefold(): path for path in sorted(self.pages, reverse=True)}

    def named(self, names: Iterable[str]) -> Page | None:
        """The page whose title or alias is one of these, in any script, or None."""
        for name in names:
            if path := self._by_name.get(subject_key(name)):
                return self.pages[path]
        return None

    def page(self, target: str) -> Page | None:
        """The page a wikilink's target means: by path, by file name, by title or alias."""
        plain = target.strip().removesuffix(".md").strip("/")
        if f"{plain}.md" in self.pages:
            return self.pages[f"{plain}.md"]
        path = self._by_stem.get(plain.casefold()) if "/" not in plain else None
        return self.pages[path] if path else self.named([plain])

    def at(self, path: str) -> Page | None:
        """The page of this path, relative to the wiki or to the vault."""
        return self.pages.get(path.removeprefix("wiki/"))

    def mentioned(self, text: str) -> list[Page]:
        """The pages that a text names; in scripts without spaces, anywhere in it."""
        key = subject_key(text)
        spaced = f" {key} "

        def says(name: str) -> bool:
            wanted = subject_key(name)
            return len(wanted) > 1 and (f" {wanted} " in spaced or (not wanted.isascii() and wanted in key))

        return [page for page in self.pages.values() if any(says(name) for name in page.names)]

    def resolves(self, target: str) -> bool:
        """Whether a wikilink leads anywhere: a page, a raw file, a map, the index."""
        return not target or self.page(target) is not None or self._other(target)

    def _other(self, target: str) -> bool:
        wanted = {target, f"{target}.md"}
        known = self.raw | self.others
        return bool(wanted & known) or any(PurePosixPath(one).name in wanted for one in known)

    @cached_property
    def outgoing(self) -> dict[str, set[str]]:
        """path -> paths of the other pages it links to, its related block included."""
        found: dict[str, set[str]] = {}
        for path, text in self.texts.items():
            targets = (self.page(one.target) for one in wikilinks(text) if one.target)
            found[path] = {page.path for page in targets if page is not None and page.path != path}
        return found

    @cached_property
    def incoming(self) -> dict[str, set[str]]:
        """path -> paths of the other pages that link to it."""
        found: dict[str, set[str]] = {path: set() for path in self.pages}
        for path, targets in self.outgoing.items():
            for target in targets:
                found[target].add(path)
        return found

    def related(self, path: str) -> tuple[str, ...]:
        """Stems in a page's related block."""
        return related_in(self.texts[path])

    def free_path(self, kind: str, title: str) -> str:
        """Where a new page goes. No two pages have one file name, in whichever folder."""
        base = slug(title, _STEM_BYTES) or "page"
        taken = set(self._by_stem) | {stem(one).casefold() for one in self.others}
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}-{number}"
        return f"{FOLDERS[kind]}/{name}.md"


def read_catalogue(tree: Tree, raw: Iterable[str] = ()) -> Catalogue:
    """Read every page. `raw`: the names of raw files there are. Raises WikiError for a page that can't be read."""
    texts = {path: text for path in tree.pages() if (text := tree.read(path)) is not None}
    others = {SCHEMA, INDEX, LOG, *tree.maps(), *tree.proposals()}
    pages = {path: read_page(path, text) for path, text in texts.items()}
    return Catalogue(pages, texts, frozenset(f"{RAW}/{name}" for name in raw), frozenset(others))


def proposal_of(path: str) -> str:
    """`concepts/redis.md` -> `concepts/redis.proposal.md`."""
    return path.removesuffix(".md") + PROPOSAL
