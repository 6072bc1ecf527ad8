"""The collection `knowledge_base` in this process: dense, sparse and fused search over the passages of every layer.

It is derived from memory.db and can be rebuilt from it. What it returns are point ids; whether a reader may see them
now (archived, expired) is the index's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import qdrant_edge as edge
from filelock import FileLock

from memory_os.errors import VectorsError
from memory_os.memory import Health, Layer, State
from memory_os.vectors.folder import (
    Current,
    Stamp,
    lock_folder,
    next_shard,
    read_current,
    remove_others,
    remove_shard,
    write_current,
)
from memory_os.vectors.interface import ARM_DEPTH, RRF_K, Scored, Searched, Vector, search_with_fallback
from memory_os.vectors.points import Point, checked_vector
from memory_os.vectors.shard import CURE, DENSE, SPARSE_NAME, Shard
from memory_os.vectors.sparse import document_vector, query_vector

__all__ = ["Collection"]

# The engine holds the interpreter's lock while it writes: a recall in another thread waits for one batch at most.
BATCH = 128
EMBEDDED = "embedded"
PAGE = 1000
# A memory of more people than this is searched with a filter always, as if it held a scope that nobody has.
_SCOPES_COUNTED = 64
_MANY = ("\0many",)

# For each point wanted, so many of the best by their codes are compared by the vectors themselves: of 48 none was missed
# in 100,000 with 4, nor in 6,168 with 2, on made-up and on real vectors. A shard from before there were codes is compared whole.
_COMPARED = 4.0
_COMPARED_LEAST = 400

# The stub doesn't say that the variants of Fusion are Fusions.
_FUSION = cast(edge.Fusion, edge.Fusion.Rrf(k=RRF_K))


class Collection:
    """One open collection. Thread-safe; one process at a time."""

    def __init__(
        self,
        folder: Path,
        shard: Shard,
        stamp: Stamp,
        lock: FileLock,
        *,
        created: bool,
        published: bool = True,
        replaces: Collection | None = None,
    ) -> None:
        self.folder = folder
        self.stamp = stamp
        # True when `open` found nothing and made an empty one: the index must then mark all passages unindexed.
        self.created = created
        self._shard = shard
        self._lock = lock
        self._owns_lock = replaces is None
        self._published = published
        self._replaces = replaces
        # The scopes of all points: those there were when first asked, and those written since. May name one too many.
        self._stored_scopes: frozenset[str] | None = None
        self._written_scopes: set[str] = set()

    # -- life cycle ------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, folder: Path, fingerprint: str, dimension: int) -> Collection:
        """Open the current shard, or make the first one.

        Raises FingerprintMismatch if it was built by another pipeline, VectorsError if it is in use or damaged.
        """
        lock = lock_folder(folder)
        try:
            stamp = Stamp(fingerprint, dimension)
            current = read_current(folder)
            if current is None:
                remove_others(folder, "")
                shard = _new_shard(folder, stamp)
            else:
                stamp.check(current.stamp)
                shard = Shard.load(folder / current.shard)
                remove_others(folder, current.shard)
        except VectorsError:
            lock.release()
            raise
        return cls(folder, shard, stamp, lock, created=current is None)

    @classmethod
    def open_rebuild(cls, folder: Path, fingerprint: str, dimension: int) -> Collection:
        """A new, empty shard beside a current one that can't be opened (other pipeline, damaged).

        Nothing changes for the alias until `swap`. Raises VectorsError if the collection is in use.
        """
        lock = lock_folder(folder)
        try:
            stamp = Stamp(fingerprint, dimension)
            shard = Shard.create(folder / next_shard(folder), dimension)
        except VectorsError:
            lock.release()
            raise
        return cls(folder, shard, stamp, lock, created=True, published=False)

    def begin_rebuild(self, fingerprint: str, dimension: int) -> Collection:
        """A new, empty shard while this one goes on answering. Fill it, then call `swap` on it. Raises VectorsGone."""
        self.verify()
        shard = Shard.create(self.folder / next_shard(self.folder), dimension)
        stamp = Stamp(fingerprint, dimension)
        return Collection(self.folder, shard, stamp, self._lock, created=True, published=False, replaces=self)

    def swap(self) -> Collection:
        """Point the alias at this rebuilt shard and delete the others. Returns the collection to use from here on.

        For a rebuild begun on an open collection that is the same object as before, which now answers from the new
        shard: threads that hold it notice nothing.
        """
        self.flush()
        write_current(self.folder, Current(self._shard.path.name, self.stamp))
        self._published = True
        heir = self
        if self._replaces is not None:
            heir = self._replaces
            heir._written_scopes |= self._written_scopes
            former, heir._shard, heir.stamp = heir._shard, self._shard, self.stamp
            former.close()
        remove_others(self.folder, self._shard.path.name)
        return heir

    def flush(self) -> bool:
        """Put all writes on disk (fsync; tens of milliseconds in which no other thread runs: not after each write).

        A killed process loses nothing unflushed, a power cut may. False: the flush failed, and the shard was closed
        and reloaded without loss (counted in `health`). Raises VectorsError if that failed too.
        """
        return self._shard.flush()

    def close(self) -> None:
        """Flush and let go. A rebuild that was not swapped is deleted; one that was belongs to its heir."""
        if self._published and not self._owns_lock:
            return
        self._shard.close()
        if not self._published:
            remove_shard(self._shard.path)
        if self._owns_lock:
            self._lock.release()

    @property
    def place(self) -> str:
        """One folder, one owner: what is in step with memory.db stays so."""
        return EMBEDDED

    def verify(self) -> None:
        """The folder is locked and its shard is open: only somebody who deletes it takes it away. Raises VectorsGone."""
        self._shard.check_there()

    def health(self) -> Health:
        try:
            with self._shard.use() as shard:
                info = shard.info()
        except VectorsError as error:
            return Health(State.DEGRADED, error.message, error.cure or CURE)
        figures: dict[str, float | int | str] = {
            "points": info.points_count, "segments": info.segments_count, "reloads": self._shard.reloads,
            "dimension": self.stamp.dimension, "shard": self._shard.path.name, "codes": self._shard.has_codes,
        }  # fmt: skip
        detail = f"{info.points_count} points"
        if not figures["codes"]:
            detail += ", searched whole: `memory-os reindex` makes that several times faster"
        return Health(State.OK if info.points_count else State.EMPTY, detail, figures=figures)

    # -- writing ---------------------------------------------------------------------------------------------------

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same id. All are checked before the first is written.

        Returned means: in the engine's log, safe from a kill. Raises VectorsError.
        """
        made = [
            edge.Point(
                point.id,
                {
                    DENSE: checked_vector(point.vector, self.stamp.dimension),
                    SPARSE_NAME: document_vector(point.text, point.context),
                },
                point.payload.model_dump(mode="json"),
            )
            for point in points
        ]
        # Before they are written: a search beside this must not take all points for its reader's.
        self._written_scopes |= {point.payload.scope for point in points}
        for start in range(0, len(made), BATCH):
            with self._shard.use() as shard:
                shard.update(edge.UpdateOperation.upsert_points(made[start : start + BATCH]))

    def delete(self, ids: Sequence[str]) -> None:
        """Take points out; unknown ids are no error."""
        for start in range(0, len(ids), PAGE):
            with self._shard.use() as shard:
                shard.update(edge.UpdateOperation.delete_points(list(ids[start : start + PAGE])))

    # -- reading ---------------------------------------------------------------------------------------------------

    def count(self) -> int:
        with self._shard.use() as shard:
            return shard.count(edge.CountRequest(exact=True))

    def ids(self) -> Iterator[str]:
        """Every point's id, page by page, to compare with memory.db."""
        offset: Any = None
        while True:
            with self._shard.use() as shard:
                records, offset = shard.scroll(edge.ScrollRequest(limit=PAGE, offset=offset, with_payload=False))
            yield from (str(record.id) for record in records)
            if offset is None:
                return

    def dense(
        self, vector: Vector, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10, sources: Sequence[str] = ()
    ) -> list[Scored]:
        """Nearest by cosine (-1…1), best first. No layers or sources given: all of them. No scopes: nothing may be seen."""
        query = _dense_query(checked_vector(vector, self.stamp.dimension))
        unfiltered = not layers and not sources and self._holds_only(scopes)
        visible = None if unfiltered else _readable(scopes, layers, sources)
        request = edge.QueryRequest(limit=limit, query=query, filter=visible, params=_compared(limit))
        return self._query(request, scopes, limit)

    def sparse(self, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10) -> list[Scored]:
        """Best by BM25 over the text's terms; empty for a text without any."""
        query = query_vector(text)
        if not query.indices:
            return []
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(query, using=SPARSE_NAME),
            filter=_readable(scopes, layers),
            params=_own_words(scopes),
        )
        return self._query(request, scopes, limit)

    def hybrid(
        self, vector: Vector, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10
    ) -> Searched:
        """Both arms, fused by reciprocal rank (k = 20). A text without terms has one arm, and `mode` says `dense`."""
        words = query_vector(text)
        if not words.indices:
            return Searched(self.dense(vector, scopes, layers, limit), "dense")
        visible, depth = _readable(scopes, layers), max(ARM_DEPTH, limit)
        meaning = _dense_query(checked_vector(vector, self.stamp.dimension))
        arms = [
            edge.Prefetch(limit=depth, query=meaning, filter=visible, params=_compared(depth)),
            edge.Prefetch(
                limit=depth,
                query=edge.Query.Nearest(words, using=SPARSE_NAME),
                filter=visible,
                params=_own_words(scopes),
            ),
        ]
        fused = edge.QueryRequest(limit=limit, prefetches=arms, query=_FUSION)
        return Searched(self._query(fused, scopes, limit), "hybrid")

    def search(
        self,
        vector: Vector | None,
        text: str,
        scopes: Sequence[str],
        layers: Sequence[Layer] = (),
        limit: int = 10,
    ) -> Searched:
        """Hybrid, or what is left of it. Raises VectorsError when all failed."""
        return search_with_fallback(self, vector, text, scopes, layers, limit)

    def _holds_only(self, scopes: Sequence[str]) -> bool:
        """Whether every point is one of these scopes': then a filter, which is a third of a search, takes nothing out."""
        if self._stored_scopes is None:
            with self._shard.use() as shard:
                hits = shard.facet(edge.FacetRequest("scope", limit=_SCOPES_COUNTED, exact=True)).hits
            # As many as were asked for: there may be more.
            self._stored_scopes = frozenset(_MANY if len(hits) == _SCOPES_COUNTED else (str(hit.value) for hit in hits))
        return set(scopes) >= self._stored_scopes | self._written_scopes

    def _query(self, request: edge.QueryRequest, scopes: Sequence[str], limit: int) -> list[Scored]:
        if not scopes or limit < 1:
            return []
        with self._shard.use() as shard:
            found = shard.query(request)
        return [(str(point.id), float(point.score)) for point in found]


def _new_shard(folder: Path, stamp: Stamp) -> Shard:
    shard = Shard.create(folder / next_shard(folder), stamp.dimension)
    try:
        write_current(folder, Current(shard.path.name, stamp))
    except VectorsError:
        shard.close()
        raise
    return shard


def _dense_query(vector: list[float]) -> edge.Query:
    return edge.Query.Nearest(vector, using=DENSE)


def _readable(scopes: Sequence[str], layers: Sequence[Layer], sources: Sequence[str] = ()) -> edge.Filter:
    conditions: list[edge.ConditionType] = [edge.FieldCondition("scope", match=edge.MatchAny(list(scopes)))]
    if layers:
        conditions.append(edge.FieldCondition("layer", match=edge.MatchAny([layer.value for layer in layers])))
    if sources:
        conditions.append(edge.FieldCondition("source", match=edge.MatchAny(list(sources))))
    return edge.Filter(must=conditions)


def _compared(limit: int) -> edge.SearchParams:
    """By codes first. Of a handful wanted, as many are compared as of a page: their order is as sure."""
    oversampling = max(_COMPARED, _COMPARED_LEAST / max(limit, 1))
    return edge.SearchParams(quantization=edge.QuantizationSearchParams(rescore=True, oversampling=oversampling))


def _own_words(scopes: Sequence[str]) -> edge.SearchParams:
    """How rare a word is, is counted over what this reader may see: nobody's memories weigh in another's ranking."""
    return edge.SearchParams(idf=edge.IdfParams(corpus=_readable(scopes, ())))
