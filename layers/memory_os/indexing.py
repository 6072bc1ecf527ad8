"""Keeps the vector collection in step with the index: embeds what is new, deletes what went, audits, rebuilds."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
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
# The engine writes into mapped, sparse files: where the device has no block left for a page, the kernel ends the process
# with SIGBUS, and no error can be caught. A new shard takes 0.3 MB, a batch of 128 points 0.9 MB, and each of the two
# files of its log may fill up to 32 MB: with this much free, nothing the engine does until the next look runs out.
FREE_MIN_BYTES = 64 * 1024 * 1024


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
        # Set while the disk has too little room to write: recall goes on, what is new waits for its vector.
        self.starved: VectorsError | None = None
        self.free_bytes = free_bytes
        self._folder: Path | None = None

    def open(self, folder: Path, embedder: Embedder) -> None:
        """Open the collection and bring it in step. A fault is kept for `health`: recall goes on by full text."""
        self.embedder, self._folder = embedder, folder
        if not self._room():
            return
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

    def work(self, limit: int, elsewhere: frozenset[str] = frozenset()) -> int:
        """Embed and upsert up to `limit` pending passages, delete points that went. Returns how many were done.

        Texts with a hash in `elsewhere` are being embedded by somebody else and wait for that.
        On a full disk nothing is done; the collection is opened, if it wasn't, as soon as there is room.
        """
        if self.embedder is None or (self.collection is None and self.starved is None):
            return 0
        with self._working:
            if not self._room():
                return 0
            if self.collection is None and self.fault is None and self._folder is not None:
                self.open(self._folder, self.embedder)
            if self.collection is None:
                return 0
            pending = self._index.pending(limit, elsewhere)
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
            self._need_room(folder)
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
            self.fault = self.starved = None
            self._store.count("reindexed", reason=f"{done} passages")
            return done

    def _fill(self, fresh: Collection, progress: Progress | None) -> int:
        self._index.mark_all_unindexed()
        total = self._index.pending_count()
        done = 0
        while pending := self._index.pending(_PAGE):
            if self.halted.is_set():
                raise VectorsError("The service is stopping; the collection stays as it was.", cure="Reindex again.")
            self._need_room(fresh.folder)
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
        if self.starved is not None:
            return Health(State.DEGRADED, self.starved.message, self.starved.cure, figures)
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
            self.starved = None

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
            raise self.fault or self.starved or VectorsError("The vector collection is not open yet.")
        return self.collection

    def _room(self) -> bool:
        """Whether the engine may write now; remembered for `health`, and counted when it begins to be too little."""
        if self._folder is None:
            return True
        try:
            self._need_room(self._folder)
        except VectorsError as error:
            if self.starved is None:
                # The counter stands in memory.db, on the same full disk.
                with suppress(sqlite3.OperationalError):
                    self._store.count("vectors_without_room", reason=error.message)
            self.starved = error
            return False
        self.starved = None
        return True

    def _need_room(self, folder: Path) -> None:
        free = self.free_bytes(folder)
        if free < FREE_MIN_BYTES:
            raise VectorsError(
                f"The disk of {folder} has {free / 1e6:.0f} MB free; the vector engine needs {FREE_MIN_BYTES / 1e6:.0f} MB.",
                cure="Free some disk space: embedding then goes on by itself; until then new memories are found by words.",
            )


def free_bytes(folder: Path) -> int:
    """What this user may still write on the device of a folder that need not exist yet. Raises VectorsError."""
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    try:
        return shutil.disk_usage(there).free
    except OSError as error:
        raise VectorsError(f"{there} can't be used: {error.strerror}.", cure="Check the path.") from error
