"""Keeps the vector collection in step with the index: embeds what is new, deletes what went or is over, audits, rebuilds.

`Encoding` gets passages their vectors, `Marks` are what memory.db says stands in which collection; here is the collection's life:
opened, lost, opened again, without room, filled anew.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_os.config import ServerSettings
from memory_os.embedding import Embedder
from memory_os.embedding.apart import FAILED_MAX
from memory_os.errors import (
    EmbeddingUnavailable,
    VectorsDenied,
    VectorsError,
    VectorsGone,
    VectorsUnavailable,
)
from memory_os.index import Index, Pending
from memory_os.index.closed import take_points_along
from memory_os.indexing.encoding import Encoding, Vectors
from memory_os.indexing.marks import Marks
from memory_os.memory import Health, State
from memory_os.recall.query import Query
from memory_os.store import Store
from memory_os.vectors import Point, VectorCollection
from memory_os.vectors.backend import Backend, backend_of
from memory_os.vectors.room import free_bytes, need_room

Progress = Callable[[int, int, str], None]

# A flush costs an fsync of 10-40 ms; memory.db is the truth, so a lost tail is added again by the audit at start.
_FLUSH_EVERY_S = 5.0
# Passages a step of a rebuild: small, so that a stop or a progress bar doesn't wait for minutes of embedding.
_PAGE = 32
# A collection on a server can be taken away or made anew by others: between writes it is looked at this often.
_VERIFY_EVERY_S = 10.0
# Faults that may pass by themselves: the server is started, its key mended, its collection derived again; who holds the
# folder (a service that is still ending) lets go.
_PASSING = (VectorsUnavailable, VectorsDenied, VectorsGone)
_WAIT = "Wait for `memory-os status` to say ready."
_TRIED_AGAIN = "Their words find them; they are tried again by themselves, behind all others. `memory-os forget HANDLE` ends that."
# Handles told of; how many more there are is said.
_TOLD_MAX = 5


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
        self.collection: VectorCollection | None = None
        self.fault: VectorsError | None = None
        # Set while the disk has too little room to write: recall goes on, what is new waits for its vector.
        self.starved: VectorsError | None = None
        self.free_bytes = free_bytes
        self._backend: Backend | None = None
        # Set by whoever finds that the collection has vanished; `work` then opens it again.
        self._gone: VectorsGone | None = None
        self._verified_at = 0.0
        # The ids are compared with memory.db once after each start, by the first `work`: of 100,000 that takes a second,
        # for which no turn waits. Till then a search may miss a point; one of nothing is left out by whoever reads it.
        self._unaudited = False
        self._marks = Marks(store, index)
        self._encoding = Encoding(store, index)

    def open(self, folder: Path, embedder: Embedder, servers: ServerSettings | None = None) -> None:
        """Open the collection, in the folder or on the server that the settings name, and bring it in step.

        A fault is kept for `health`: recall goes on by full text.
        """
        self.embedder = embedder
        self._backend = backend_of(folder, servers or ServerSettings(), self._store.home_id)
        if self._room():
            self._connect(self._backend, embedder)

    def _connect(self, backend: Backend, embedder: Embedder) -> None:
        collection: VectorCollection | None = None
        try:
            collection = backend.open(self._index.fingerprint, embedder.dimension)
            if self._marks.about(collection):
                self._unaudited = True
        except VectorsError as error:
            if collection is not None:
                collection.close()
            # Counted when it begins, not at each attempt while it lasts.
            if str(error) != str(self.fault or ""):
                self._store.count("vectors_unavailable", reason=str(error))
            self.fault = error
            return
        self.collection, self.fault, self._verified_at = collection, None, time.monotonic()

    @property
    def left_behind(self) -> str:
        """The server and its collection where a move left points of this memory, or empty."""
        return self._marks.left_behind

    def audit(self) -> int:
        """Compare the points with memory.db: missing ones are indexed again, stray ones deleted. Returns how many.

        Raises VectorsError.
        """
        return self._marks.audit(self._open_collection())

    def work(self, limit: int, backlog: int = 0) -> int:
        """Embed and upsert up to `limit` pending passages, delete points that went. Returns how many were done.

        `backlog`: passages up to this pk are embedded by somebody else; they wait for that.
        On a full disk nothing is done; the collection is opened, if it wasn't, as soon as there is room. Raises
        VectorsError while a server fails: what waits goes on waiting, and the caller tries again later.
        """
        passing = isinstance(self.fault, _PASSING)
        if self.embedder is None or (self.collection is None and self.starved is None and not passing):
            return 0
        with self._working:
            if not self._room():
                return 0
            self._open_again(self.embedder)
            if self.collection is None:
                return 0
            try:
                if self._unaudited:
                    self._marks.audit(self.collection)
                    self._unaudited = False
                return self._step(self.collection, limit, backlog)
            except VectorsGone as error:
                self._lost(error)
                raise

    def _open_again(self, embedder: Embedder) -> None:
        """Open what isn't open, or has vanished, where another attempt may help. Raises VectorsError if it did not."""
        if self._gone is not None and self.collection is not None:
            self.collection.close()
            self.collection = None
        if self.collection is not None or self._backend is None:
            return
        if self.fault is None or isinstance(self.fault, _PASSING):
            self._connect(self._backend, embedder)
            if isinstance(self.fault, _PASSING):
                raise self.fault.with_traceback(None)
            self._gone = None

    def _step(self, collection: VectorCollection, limit: int, backlog: int) -> int:
        take_points_along(self._store, time.time())
        pending = self._encoding.due(limit, backlog)
        if pending:
            self._upsert(collection, pending, self._encoding.vectors(pending, self._encoder))
        gone = self._index.embeddings.deleted_points()
        if gone:
            collection.delete(gone)
            self._index.embeddings.forget_deleted_points(gone)
        self._flush(idle=not pending)
        if not pending and not gone and time.monotonic() - self._verified_at > _VERIFY_EVERY_S:
            self._verified_at = time.monotonic()
            collection.verify()
        return len(pending) + len(gone)

    @property
    def _encoder(self) -> Embedder:
        if self.embedder is None:
            raise EmbeddingUnavailable("The embedding model is not loaded yet.", cure=_WAIT)
        return self.embedder

    def left_out(self) -> dict[str, str]:
        """Memories without a vector because the model failed on their text: the handle of each, and why. Most recent first."""
        return self._encoding.left_out()

    def _lost(self, error: VectorsGone) -> None:
        """Recall and search go on by words; the next `work` derives the collection again."""
        if self._gone is None:
            self._gone = error
            self._store.count("vectors_vanished", reason=error.message)

    def rebuild(self, progress: Progress | None = None) -> int:
        """Fill a new collection from memory.db and swap it in; texts without an embedding of this model are embedded.

        A text that the model fails on is left out and tried again later, behind all others (`left_out`). Returns how many
        points it has. Raises VectorsError, and EmbeddingUnavailable if it is not a text but the model; the old collection
        then stays.
        """
        embedder, backend = self.embedder, self._backend
        if embedder is None or backend is None:
            raise VectorsError("The embedding model is not loaded yet.", cure=_WAIT)
        with self._working:
            self._need_room(backend.folder)
            fresh = (
                backend.open_rebuild(self._index.fingerprint, embedder.dimension)
                if self.collection is None
                else self.collection.begin_rebuild(self._index.fingerprint, embedder.dimension)
            )
            before = self._index.embeddings.indexed()
            try:
                done = self._fill(fresh, progress)
                collection = fresh.swap()
            except BaseException:
                # An unpublished shard goes with its lock; the old collection answers on, with the points it had.
                fresh.close()
                self._index.embeddings.mark_all_unindexed()
                self._index.embeddings.mark_indexed(before)
                raise
            self.collection = collection
            self._marks.settle(collection.place)
            self.fault = self.starved = self._gone = None
            left = len(self.left_out())
            self._store.count("reindexed", reason=f"{done} passages" + f", {left} left out" * bool(left))
            return done

    def _fill(self, fresh: VectorCollection, progress: Progress | None) -> int:
        self._index.embeddings.mark_all_unindexed()
        take_points_along(self._store, time.time())
        total = self._index.embeddings.pending_count()
        done = 0
        left: set[int] = set()
        while pending := [one for one in self._index.embeddings.pending(_PAGE + len(left)) if one.pk not in left][:_PAGE]:
            if self.halted.is_set():
                raise VectorsError("The service is stopping; the collection stays as it was.", cure="Reindex again.")
            self._room_or_raise()
            vectors = self._encoding.vectors_apart(pending, self._encoder)
            left |= {one.pk for one in pending if one.embed_hash not in vectors}
            if len(left) > FAILED_MAX:
                raise self._encoding.embeds_nothing()
            done += self._upsert(fresh, pending, vectors)
            if progress is not None:
                progress(done + len(left), max(total, done + len(left)), "reindexing")
        if left and not done:
            raise self._encoding.embeds_nothing()
        return done

    def dense(self, vector: NDArray[np.float32], query: Query, limit: int) -> list[tuple[str, float]]:
        """The dense arm of a recall. Raises VectorsError."""
        try:
            return self._open_collection().dense(vector, query.scope.readable, query.layers, limit, query.sources)
        except VectorsGone as error:
            self._lost(error)
            raise

    def health(self) -> Health:
        waiting = self._index.embeddings.pending_count()
        figures: dict[str, float | int | str] = {"waiting": waiting}
        if self.fault is not None:
            return Health(State.DEGRADED, self.fault.message, self.fault.cure, figures)
        if self.starved is not None:
            return Health(State.DEGRADED, self.starved.message, self.starved.cure, figures)
        if self.collection is None:
            return Health(State.OFF, "the embedding model is still loading", figures=figures)
        if self.embedder is not None and not (encoder := self.embedder.watch.health()).well:
            return Health(State.DEGRADED, *encoder.told, {**figures, "failed_calls": encoder.faults})
        health = self.collection.health()
        if health.state is not State.DEGRADED and (left := self.left_out()):
            return Health(State.DEGRADED, _left_out_told(left), _TRIED_AGAIN, {**health.figures, **figures, "left_out": len(left)})
        return Health(health.state, health.detail, health.cure, {**health.figures, **figures})

    def close(self) -> None:
        with self._working:
            collection, self.collection, self.starved = self.collection, None, None
            if collection is None:
                return
            try:
                with suppress(VectorsGone):  # the next start derives it again
                    collection.flush()
            finally:
                collection.close()

    def _upsert(self, collection: VectorCollection, pending: Sequence[Pending], vectors: Vectors) -> int:
        """Returns how many had a vector."""
        there = [one for one in pending if one.embed_hash in vectors]
        collection.upsert([Point.of(one.passage, vectors[one.embed_hash]) for one in there])
        self._index.embeddings.mark_indexed([one.pk for one in there])
        self._unflushed = True
        return len(there)

    def _flush(self, *, idle: bool) -> None:
        now = time.monotonic()
        if self.collection is not None and self._unflushed and (idle or now - self._flushed_at > _FLUSH_EVERY_S):
            self.collection.flush()
            self._flushed_at, self._unflushed = now, False

    def _open_collection(self) -> VectorCollection:
        if self.collection is None:
            fault = self.fault or self.starved or VectorsError("The vector collection is not open yet.")
            # Raised again by each recall: without this it would keep the frames of all of them.
            raise fault.with_traceback(None)
        return self.collection

    def _room(self) -> bool:
        """Whether the engine may write now; remembered for `health`, and counted when it begins to be too little."""
        try:
            self._room_or_raise()
        except VectorsError as error:
            if self.starved is None:
                # The counter stands in memory.db, on the same full disk.
                with suppress(sqlite3.OperationalError):
                    self._store.count("vectors_without_room", reason=error.message)
            self.starved = error
            return False
        self.starved = None
        return True

    def _room_or_raise(self) -> None:
        self._need_room(None if self._backend is None else self._backend.folder)

    def _need_room(self, folder: Path | None) -> None:
        if folder is not None:  # else the points stand on a server
            need_room(folder, self.free_bytes)


def _left_out_told(left: dict[str, str]) -> str:
    named = ", ".join(list(left)[:_TOLD_MAX]) + f" and {len(left) - _TOLD_MAX} more" * (len(left) > _TOLD_MAX)
    one = len(left) == 1
    return f"{len(left)} passage{'s' * (not one)} ({named}) {'has' if one else 'have'} no vector: {next(iter(left.values()))}"
