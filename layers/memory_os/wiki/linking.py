"""Links between pages: from vectors, and so that no page stands alone. They live in a block of each page that is ours.

The block may be set on a page the user wrote: every byte outside it stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_os.wiki.catalogue import Catalogue, read_catalogue
from memory_os.wiki.indexes import map_links
from memory_os.wiki.page import Page, with_related
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import Tree

__all__ = ["connect", "is_lonely", "nearest", "relate"]

RELATED_MAX = 5


def nearest(vectors: Mapping[str, NDArray[np.float32]], most: int = RELATED_MAX) -> dict[str, list[tuple[str, float]]]:
    """path -> its nearest pages with their cosine, best first.

    A neighbour must stand out: its cosine is at least one standard deviation above the mean of all pairs, because the
    cosines of one model lie in a band of their own (e5: 0.7 to 0.9). Of three pages or fewer, all are neighbours.
    """
    paths = sorted(vectors)
    if len(paths) < 2:
        return {path: [] for path in paths}
    matrix = np.stack([vectors[path] for path in paths]).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    cosines = matrix @ matrix.T
    pairs = cosines[~np.eye(len(paths), dtype=bool)]
    floor = float(pairs.mean() + pairs.std()) - 1e-6 if len(paths) > 3 else -1.0
    found: dict[str, list[tuple[str, float]]] = {}
    for row, path in enumerate(paths):
        order = sorted((-float(cosines[row, other]), paths[other]) for other in range(len(paths)) if other != row)
        found[path] = [(other, round(-cosine, 4)) for cosine, other in order[:most] if -cosine >= floor]
    return found


def relate(tree: Tree, schema: Schema, wanted: Mapping[str, Sequence[str]]) -> list[str]:
    """Set the related blocks of pages: path -> paths, nearest first. Returns what changed. Raises WikiError."""
    catalogue = read_catalogue(tree)
    changed = [
        path
        for path, others in sorted(wanted.items())
        if path in catalogue.pages
        and _set(
            tree, schema, catalogue, path, tuple(catalogue.pages[one].stem for one in others if one in catalogue.pages)
        )
    ]
    return sorted({*changed, *connect(tree, schema)})


def is_lonely(catalogue: Catalogue, path: str) -> bool:
    """Whether no other page links to it, or it links to none, though there are others."""
    return len(catalogue.pages) > 1 and not (catalogue.incoming[path] and catalogue.outgoing[path])


def connect(tree: Tree, schema: Schema, only: Sequence[str] | None = None) -> list[str]:
    """Give every page (of `only`) its block, and each lonely one a partner: both then link to each other.

    Returns what changed. Deterministic, so that a run that was killed ends where a whole one does. Raises WikiError.
    """
    catalogue = read_catalogue(tree)
    paths = [path for path in sorted(only if only is not None else catalogue.pages) if path in catalogue.pages]
    changed = {path for path in paths if _set(tree, schema, catalogue, path, catalogue.related(path))}
    for path in paths:
        if not is_lonely(catalogue, path):
            continue
        partner = _partner(catalogue, path)
        for one, other in ((path, partner), (partner, path)):
            if _set(tree, schema, catalogue, one, (*catalogue.related(one), catalogue.pages[other].stem)):
                changed.add(one)
            catalogue.outgoing[one].add(other)
            catalogue.incoming[other].add(one)
    return sorted(changed)


def _partner(catalogue: Catalogue, path: str) -> str:
    """Whom a lonely page is tied to: whom it links to, who links to it, else the page that has most in common."""
    tied = sorted(catalogue.outgoing[path] | catalogue.incoming[path])
    page = catalogue.pages[path]
    others = tied or sorted(other for other in catalogue.pages if other != path)
    return max(others, key=lambda other: _common(page, catalogue.pages[other]))


def _common(page: Page, other: Page) -> tuple[int, int, int]:
    return (len({*page.sources} & {*other.sources}), len({*page.tags} & {*other.tags}), page.kind == other.kind)


def _set(tree: Tree, schema: Schema, catalogue: Catalogue, path: str, stems: tuple[str, ...]) -> bool:
    """Set one block, under the page's lock, on what the page says now."""
    page = catalogue.pages[path]
    kept = tuple(dict.fromkeys(one for one in stems if one != page.stem and one in catalogue.titles))
    with tree.lock(page.stem):
        text = tree.read_exactly(path)
        if text is None:
            return False
        changed = with_related(text, kept, catalogue.titles, map_links(page, schema))
        if changed == text:
            return False
        tree.write(path, changed, durable=False)
    catalogue.texts[path] = changed
    return True
