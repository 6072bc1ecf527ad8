"""Vectors for passages that lack one: what memory.db has, what the model makes of the rest, and the texts it fails on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_os.embedding import Embedder
from memory_os.embedding.apart import FailedTexts
from memory_os.errors import EmbeddingUnavailable
from memory_os.index import Index, Pending
from memory_os.memory import Layer, handle_of
from memory_os.store import Store

Vectors = dict[str, NDArray[np.float32]]


class Encoding:
    """What waits for its vector, and gets it. One thread works, any may ask what was left out."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._failed = FailedTexts()

    def due(self, limit: int, backlog: int) -> list[Pending]:
        """Pending passages. Texts that failed come when no other waits, one at a time: which of a batch it was is not said."""
        pending = self._index.embeddings.pending
        if not self._failed:
            return pending(limit, backlog)
        found = pending(limit + len(self._failed), backlog)
        if fresh := [one for one in found if one.embed_hash not in self._failed]:
            return fresh[:limit]
        first = self._failed.next_of(one.embed_hash for one in found)
        return [one for one in found if one.embed_hash == first]

    def vectors(self, pending: Sequence[Pending], embedder: Embedder) -> Vectors:
        """By embed hash: what memory.db has, and what the model makes of the other texts, which memory.db then has too.

        Raises EmbeddingError; those texts are then behind all others, unless no text is at fault.
        """
        return self._vectors(pending, lambda missing: self._failed.embed(missing, embedder.embed_passages))

    def vectors_apart(self, pending: Sequence[Pending], embedder: Embedder) -> Vectors:
        """The same without the texts that fail, which are then behind all others. Raises EmbeddingUnavailable."""
        return self._vectors(pending, lambda missing: self._failed.embed_apart(missing, embedder.embed_passages))

    def left_out(self) -> dict[str, str]:
        """Memories without a vector because the model failed on their text: the handle of each, and why. Most recent first."""
        failed = self._failed.reasons()
        if not failed:
            return {}
        rows = self._store.rows(
            "SELECT id, layer, embed_hash FROM passages WHERE indexed = 0"
            " AND embed_hash IN (SELECT value FROM json_each(?)) ORDER BY pk DESC",
            (json.dumps(list(failed)),),
        )
        return {handle_of(Layer(row["layer"]), row["id"]): failed[row["embed_hash"]] for row in rows}

    def embeds_nothing(self) -> EmbeddingUnavailable:
        """It is no single text: what is there goes on answering, and its texts wait for the model."""
        why = next(reversed(self._failed.reasons().values()), "")
        return EmbeddingUnavailable(f"The model embeds nothing now: {why}", cure="The collection stays as it was. Reindex again.")

    def _vectors(self, pending: Sequence[Pending], embed: Callable[[dict[str, str]], Vectors]) -> Vectors:
        vectors = self._index.embeddings.of_hashes([one.embed_hash for one in pending])
        missing = {one.embed_hash: one.embed_text for one in pending if one.embed_hash not in vectors}
        if missing:
            fresh = embed(missing)
            self._index.embeddings.keep(fresh)
            vectors.update(fresh)
        return vectors
