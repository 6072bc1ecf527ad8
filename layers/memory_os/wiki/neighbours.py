"""Pages of the wiki near to one another, or to a text, by the vectors of their passages in the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_os.documents.prepare import source_of
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.memory import Layer
from memory_os.store import Store
from memory_os.wiki.curated import Neighbour
from memory_os.wiki.layer import Wiki

__all__ = ["WikiNeighbours"]

# As much as the encoder reads at once; a page's first lines say what it is about.
_TEXT_CHARS = 2000
_NEAREST = 5
# SQLite binds 32,766 values at most.
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class _Pages:
    """What was read last: `passages` (source, embed hash) that have a vector, in order; each page's mean; all as one matrix."""

    fingerprint: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    norms: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))


class WikiNeighbours:
    """The wiki of one engine, seen through its index. Keeps the pages' vectors while they are the same. Thread-safe."""

    def __init__(self, store: Store, index: Index, indexing: Indexing, wiki: Wiki) -> None:
        self._store = store
        self._index = index
        self._indexing = indexing
        self._wiki = wiki
        self._kept = _Pages()

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """One vector a page, the mean of its passages, by path as in `wiki/concepts/a.md`. Pages without any are absent."""
        return dict(self._pages().vectors)

    def _pages(self) -> _Pages:
        """As they are now. Only which passages there are is asked each time; a page that changed is read anew."""
        fingerprint, kept = self._index.fingerprint, self._kept
        passages = tuple(
            (str(row["source"]), str(row["embed_hash"]))
            for row in self._store.rows(
                "SELECT source, embed_hash FROM passages WHERE layer = ? AND archived = 0 AND EXISTS(SELECT 1 FROM"
                " embeddings WHERE hash = embed_hash AND fingerprint = ?) ORDER BY source, ordinal",
                (Layer.WIKI.value, fingerprint),
            )
        )
        if (passages, fingerprint) == (kept.passages, kept.fingerprint):
            return kept
        if fingerprint != kept.fingerprint:
            kept = _Pages(fingerprint)
        hashes: dict[str, tuple[str, ...]] = {}
        prefix = source_of("")
        for source, group in groupby(passages, key=itemgetter(0)):
            hashes[source.removeprefix(prefix)] = tuple(one for _, one in group)
        vectors = self._means(hashes, kept)
        matrix = np.stack(list(vectors.values())) if vectors else np.empty((0, 0), np.float32)
        # Two threads may both have read: what either found is right.
        self._kept = _Pages(fingerprint, passages, vectors, hashes, matrix, np.linalg.norm(matrix, axis=1))
        return self._kept

    def _means(self, hashes: Mapping[str, tuple[str, ...]], kept: _Pages) -> dict[str, NDArray[np.float32]]:
        fresh = [path for path, wanted in hashes.items() if kept.hashes.get(path) != wanted]
        known = self._embeddings(sorted({one for path in fresh for one in hashes[path]}))
        found: dict[str, NDArray[np.float32]] = {}
        for path, wanted in hashes.items():
            if path in kept.vectors and kept.hashes[path] == wanted:
                found[path] = kept.vectors[path]
            elif there := [known[one] for one in wanted if one in known]:
                found[path] = np.mean(np.stack(there).astype(np.float32), axis=0)
        return found

    def _embeddings(self, hashes: list[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(hashes), _BATCH):
            found.update(self._index.embeddings.of_hashes(hashes[start : start + _BATCH]))
        return found

    def near(self, text: str) -> list[Neighbour]:
        """The pages nearest to a text, best first; none without the encoder or without vectors."""
        pages = self._pages()
        if not pages.vectors or not text.strip() or self._indexing.embedder is None:
            return []
        [wanted] = self._indexing.embedder.embed_passages([text[:_TEXT_CHARS]])
        paths = list(pages.vectors)
        cosines = pages.matrix @ wanted / np.maximum(pages.norms * np.linalg.norm(wanted), 1e-9)
        order = np.argsort(-cosines, kind="stable")[:_NEAREST]
        return [Neighbour(paths[int(row)], round(float(cosines[int(row)]), 4)) for row in order]

    def link(self, *, dry_run: bool) -> dict[str, Any]:
        """Write the related blocks of all pages that have vectors. Raises WikiError."""
        return self._wiki.links(self.vectors(), dry_run=dry_run)
