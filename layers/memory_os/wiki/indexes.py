"""index.md and the maps: one list of all pages, one a type and one a tag. Derived, so made anew and compared.

Only what stands between our marks is ours; words around them are the user's and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from memory_os.wiki.catalogue import Catalogue
from memory_os.wiki.page import Page, wikilink
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import FOLDERS, INDEX, MAPS, Tree

__all__ = ["differing", "expected", "map_links", "rewrite"]

OPEN, CLOSE = "<!-- memory-os:index -->", "<!-- /memory-os:index -->"
_BLOCK = re.compile(rf"{re.escape(OPEN)}.*?{re.escape(CLOSE)}", re.DOTALL)
_HEADINGS = {"concept": "Concepts", "entity": "Entities", "comparison": "Comparisons"}


def rewrite(tree: Tree, catalogue: Catalogue, schema: Schema) -> list[str]:
    """Bring index.md and the maps up to date. Returns the paths that changed. Raises WikiError."""
    with tree.lock(INDEX):
        changed = differing(tree, catalogue, schema)
        for path, text in changed.items():
            if text is None:
                tree.remove(path)
            else:
                tree.write(path, text, durable=False)
    return sorted(changed)


def differing(tree: Tree, catalogue: Catalogue, schema: Schema) -> dict[str, str | None]:
    """The index pages that are not as they should be: path -> text, or None for a map of something that is gone."""
    wanted = {
        path: _placed(tree.read_exactly(path), title, lines) for path, title, lines in expected(catalogue, schema)
    }
    found: dict[str, str | None] = {path: text for path, text in wanted.items() if text != tree.read_exactly(path)}
    for path in tree.maps():
        if path not in wanted and _only_ours(tree.read(path) or ""):
            found[path] = None
    return found


def expected(catalogue: Catalogue, schema: Schema) -> Iterator[tuple[str, str, list[str]]]:
    """(path, title, lines of the block) of index.md and of every map."""
    pages = sorted(catalogue.pages.values(), key=lambda page: (page.title.casefold(), page.path))
    whole: list[str] = []
    for kind, heading in _HEADINGS.items():
        listed = list(_entries(page for page in pages if page.path.startswith(f"{FOLDERS[kind]}/")))
        whole += [f"## {heading}", "", *(listed or ["None yet."]), ""]
        yield f"{MAPS}/{FOLDERS[kind]}.md", heading, listed or ["None yet."]
    for tag in schema.tags:
        tagged = [page for page in pages if tag in page.tags]
        if tagged:
            meaning = [schema.tags[tag], ""] if schema.tags[tag] else []
            yield f"{MAPS}/tag-{tag}.md", tag, [*meaning, *_entries(tagged)]
    tags = [f"{wikilink(f'{MAPS}/tag-{tag}', tag)} ({count})" for tag, count in _counts(pages, schema).items()]
    yield INDEX, "Index", [f"{len(pages)} pages. Tags: {' · '.join(tags) or 'none yet'}", "", *whole]


def map_links(page: Page, schema: Schema) -> tuple[str, ...]:
    """The line of a page that leads to the maps it is on."""
    folder = FOLDERS.get(page.kind, page.path.partition("/")[0])
    tags = [wikilink(f"{MAPS}/tag-{tag}", tag) for tag in page.tags if tag in schema.tags]
    return (f"In: {' · '.join([wikilink(f'{MAPS}/{folder}', folder), *tags])}",)


def _entries(pages: Iterable[Page]) -> Iterator[str]:
    for page in pages:
        yield f"- {wikilink(page.stem, page.title)}{f': {page.summary}' if page.summary else ''}"


def _counts(pages: Iterable[Page], schema: Schema) -> Mapping[str, int]:
    tagged = [tag for page in pages for tag in page.tags]
    return {tag: tagged.count(tag) for tag in schema.tags if tag in tagged}


def _placed(text: str | None, title: str, lines: list[str]) -> str:
    block = "\n".join([OPEN, *lines, CLOSE])
    if not text or not text.strip():
        return f"# {title}\n\n{block}\n"
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _: block, text, count=1)
    return f"{text.rstrip()}\n\n{block}\n"


def _only_ours(text: str) -> bool:
    """Whether a map holds nothing that the user wrote: a title and our block."""
    rest = _BLOCK.sub("", text).strip()
    return bool(_BLOCK.search(text)) and not re.search(r"^(?!# ).*\S", rest, re.MULTILINE)
