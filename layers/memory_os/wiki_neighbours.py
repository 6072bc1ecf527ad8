"""Pages of the wiki near to one another, or to a text, by the vectors of their passages in the index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_os.documents.prepare import source_of
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.memory import Layer
from memory_os.store import Store
from memory_os.wiki import Neighbour, Wiki

__all__ = ["WikiNeighbours"]

# As much as the encoder reads at once; a page's first lines say what it is about.
_TEXT_CHARS = 2000
_NEAREST = 5
# SQLite binds 32,766 values at most.
_BATCH = 10_000


class WikiNeighbours:
    """The wiki of one engine, seen through its index. Thread-safe."""

    def __init__(self, store: Store, index: Index, indexing: Indexing, wiki: Wiki) -> None:
        self._store = store
        self._index = index
        self._indexing = indexing
        self._wiki = wiki

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """One vector a page, the mean of its passages, by path as in `wiki/concepts/a.md`. Pages without any are absent."""
        hashes: dict[str, list[str]] = {}
        prefix = source_of("")
        for row in self._store.rows(
            "SELECT source, embed_hash FROM passages WHERE layer = ? AND archived = 0 ORDER BY source, ordinal",
            (Layer.WIKI.value,),
        ):
            hashes.setdefault(str(row["source"]).removeprefix(prefix), []).append(str(row["embed_hash"]))
        known = self._embeddings(sorted({one for some in hashes.values() for one in some}))
        found: dict[str, NDArray[np.float32]] = {}
        for path, wanted in hashes.items():
            vectors = [known[one] for one in wanted if one in known]
            if vectors:
                found[path] = np.mean(np.stack(vectors).astype(np.float32), axis=0)
        return found

    def _embeddings(self, hashes: list[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(hashes), _BATCH):
            found.update(self._index.embeddings(hashes[start : start + _BATCH]))
        return found

    def near(self, text: str) -> list[Neighbour]:
        """The pages nearest to a text, best first; none without the encoder or without vectors."""
        vectors = self.vectors()
        if not vectors or not text.strip() or self._indexing.embedder is None:
            return []
        [wanted] = self._indexing.embedder.embed_passages([text[:_TEXT_CHARS]])
        paths = list(vectors)
        matrix = np.stack([vectors[path] for path in paths])
        cosines = matrix @ wanted / np.maximum(np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted), 1e-9)
        order = np.argsort(-cosines, kind="stable")[:_NEAREST]
        return [Neighbour(paths[int(row)], round(float(cosines[int(row)]), 4)) for row in order]

    def link(self, *, dry_run: bool) -> dict[str, Any]:
        """Write the related blocks of all pages that have vectors. Raises WikiError."""
        return self._wiki.links(self.vectors(), dry_run=dry_run)
