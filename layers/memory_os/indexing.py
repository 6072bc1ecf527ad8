"""Keeps the vector collection in step with the index: embeds what is new, deletes what went, audits, rebuilds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_os.embedding import FINGERPRINT, Embedder
from memory_os.errors import VectorsError
from memory_os.index import Index, Pending
from memory_os.memory import Health, State
from memory_os.recall.query import Query
from memory_os.store import Store
from memory_os.vectors import Collection, Point

Progress = Callable[[int, int, str], None]

# A flush costs an fsync of 10-40 ms; memory.db is the truth, so a lost tail is added again by the audit at start.
_FLUSH_EVERY_S = 5.0
# Passages a step of a rebuild: small, so that a stop or a progress bar doesn't wait for minutes of embedding.
_PAGE = 32


class Indexing:
    """The bridge between passages and points. `collection` and `embedder` are None until `open`."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._working = threading.Lock()
        self.halted = threading.Event()
        self._flushed_at = 0.0
        self._unflushed = False
        self.embedder: Embedder | None = None
        self.collection: Collection | None = None
        self.fault: VectorsError | None = None

    def open(self, folder: Path, embedder: Embedder) -> None:
        """Open the collection and bring it in step. A fault is kept for `health`: recall goes on by full text."""
        self.embedder = embedder
        try:
            self.collection = Collection.open(folder, FINGERPRINT, embedder.dimension)
        except VectorsError as error:
            self.fault = error
            self._store.count("vectors_unavailable", reason=str(error))
            return
        if self.collection.created:
            self._index.mark_all_unindexed()
        else:
            self.audit()

    def audit(self) -> int:
        """Compare ids: missing points are indexed again, stray ones deleted. Returns how many.

        All of them, not their number: a power cut that takes one in and one out leaves the number as it was.
        """
        collection = self._open_collection()
        wanted = {row["id"]: row["pk"] for row in self._store.rows("SELECT id, pk FROM passages WHERE indexed = 1")}
        there = set(collection.ids())
        missing = [pk for point, pk in wanted.items() if point not in there]
        stray = sorted(there - wanted.keys())
        if not missing and not stray:
            return 0
        self._index.mark_unindexed(missing)
        collection.delete(stray)
        self._store.count(
            "vectors_audited", len(missing) + len(stray), reason=f"{len(missing)} missing, {len(stray)} stray"
        )
        return len(missing) + len(stray)

    def work(self, limit: int) -> int:
        """Embed and upsert up to `limit` pending passages, delete points that went. Returns how many were done."""
        if self.embedder is None or self.collection is None:
            return 0
        with self._working:
            pending = self._index.pending(limit)
            if pending:
                self._upsert(self.collection, pending)
            gone = self._index.deleted_points()
            if gone:
                self.collection.delete(gone)
                self._index.forget_deleted_points(gone)
            self._flush(idle=not pending)
            return len(pending) + len(gone)

    def rebuild(self, folder: Path, progress: Progress | None = None) -> int:
        """Fill a new shard from memory.db and swap it in; texts without an embedding of this model are embedded.

        Returns how many points it has. Raises VectorsError; the old collection then stays.
        """
        embedder = self.embedder
        if embedder is None:
            raise VectorsError(
                "The embedding model is not loaded yet.", cure="Wait for `memory-os status` to say ready."
            )
        with self._working:
            fresh = (
                Collection.open_rebuild(folder, FINGERPRINT, embedder.dimension)
                if self.collection is None
                else self.collection.begin_rebuild(FINGERPRINT, embedder.dimension)
            )
            before = self._index.indexed()
            try:
                done = self._fill(fresh, progress)
            except BaseException:
                # An unpublished shard goes with its lock; the old collection answers on, with the points it had.
                fresh.close()
                self._index.mark_all_unindexed()
                self._index.mark_indexed(before)
                raise
            self.collection = fresh.swap()
            self.fault = None
            self._store.count("reindexed", reason=f"{done} passages")
            return done

    def _fill(self, fresh: Collection, progress: Progress | None) -> int:
        self._index.mark_all_unindexed()
        total = self._index.pending_count()
        done = 0
        while pending := self._index.pending(_PAGE):
            if self.halted.is_set():
                raise VectorsError("The service is stopping; the collection stays as it was.", cure="Reindex again.")
            self._upsert(fresh, pending)
            done += len(pending)
            if progress is not None:
                progress(done, max(total, done), "reindexing")
        return done

    def dense(self, vector: NDArray[np.float32], query: Query, limit: int) -> list[tuple[str, float]]:
        """The dense arm of a recall. Raises VectorsError."""
        return self._open_collection().dense(vector, query.scope.readable, query.layers, limit)

    def health(self) -> Health:
        waiting = self._index.pending_count()
        figures: dict[str, float | int | str] = {"waiting": waiting}
        if self.fault is not None:
            return Health(State.DEGRADED, self.fault.message, self.fault.cure, figures)
        if self.collection is None:
            return Health(State.OFF, "the embedding model is still loading", figures=figures)
        health = self.collection.health()
        return Health(health.state, health.detail, health.cure, {**health.figures, **figures})

    def close(self) -> None:
        with self._working:
            if self.collection is not None:
                self.collection.flush()
                self.collection.close()
                self.collection = None

    def _upsert(self, collection: Collection, pending: Sequence[Pending]) -> None:
        known = self._index.embeddings([one.embed_hash for one in pending])
        missing = {one.embed_hash: one.embed_text for one in pending if one.embed_hash not in known}
        if missing and self.embedder is not None:
            vectors = self.embedder.embed_passages(list(missing.values()))
            fresh = dict(zip(missing, vectors, strict=True))
            self._index.store_embeddings(fresh)
            known.update(fresh)
        collection.upsert([Point.of(one.passage, known[one.embed_hash]) for one in pending])
        self._index.mark_indexed([one.pk for one in pending])
        self._unflushed = True

    def _flush(self, *, idle: bool) -> None:
        now = time.monotonic()
        if self.collection is not None and self._unflushed and (idle or now - self._flushed_at > _FLUSH_EVERY_S):
            self.collection.flush()
            self._flushed_at, self._unflushed = now, False

    def _open_collection(self) -> Collection:
        if self.collection is None:
            raise self.fault or VectorsError("The vector collection is not open yet.")
        return self.collection
