"""The collection `knowledge_base` on a Qdrant server: what `Collection` is in this process, over its REST API.

Many homes may share one collection. Every point carries its home, its id is made from home and passage, and every read
and deletion is confined to the home: nobody finds, counts or deletes another's.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_os.errors import VectorsError, VectorsGone, VectorsUnavailable
from memory_os.memory import Health, Layer, State
from memory_os.vectors.catalog import HOME, Catalog, Listed, of_home
from memory_os.vectors.connection import RECALL, SEARCH, WRITE, Address, Connection
from memory_os.vectors.folder import Stamp
from memory_os.vectors.interface import ARM_DEPTH, RRF_K, Scored, Searched, Vector, search_with_fallback
from memory_os.vectors.points import Point, checked_vector
from memory_os.vectors.shard import DENSE, SPARSE_NAME
from memory_os.vectors.sparse import document_vector, query_vector

if TYPE_CHECKING:
    from qdrant_client import models
    from qdrant_edge import SparseVector

__all__ = ["ServerCollection"]

# A request holds so many points, and so many bytes of JSON by estimate, whichever is reached first: Qdrant takes 32 MB,
# a proxy before it often 8, and what takes long to write holds up what others write.
BATCH = 128
BATCH_BYTES = 4_000_000
_BYTES_A_DENSE_VALUE, _BYTES_A_SPARSE_VALUE, _BYTES_A_POINT = 21, 32, 400
PAGE = 1000


class ServerCollection:
    """One collection of one home on one server. Thread-safe."""

    def __init__(
        self,
        connection: Connection,
        home: str,
        listed: Listed,
        *,
        created: bool,
        published: bool = True,
        replaces: ServerCollection | None = None,
    ) -> None:
        self.stamp: Stamp = listed.stamp
        self.created = created
        self._connection = connection
        self._catalog = Catalog(connection, home)
        self._home = home
        self._listed = listed
        self._published = published
        self._replaces = replaces

    # -- life cycle ------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, address: Address, home: str, fingerprint: str, dimension: int) -> ServerCollection:
        """Find the collection behind the alias, or make the first. `home`: `Store.home_id`.

        Raises FingerprintMismatch if another pipeline built it, VectorsError and its leaves for what the server says.
        """
        connection = Connection(address)
        try:
            connection.check_version()
            catalog = Catalog(connection, home)
            listed, created = catalog.current(Stamp(fingerprint, dimension))
            catalog.leave_others(listed.name)
        except BaseException:
            connection.close()
            raise
        return cls(connection, home, listed, created=created)

    @classmethod
    def open_rebuild(cls, address: Address, home: str, fingerprint: str, dimension: int) -> ServerCollection:
        """A new, empty collection beside one that can't be used. Nothing changes for the alias until `swap`."""
        connection = Connection(address)
        try:
            connection.check_version()
            listed = Catalog(connection, home).begin(Stamp(fingerprint, dimension))
        except BaseException:
            connection.close()
            raise
        return cls(connection, home, listed, created=True, published=False)

    def begin_rebuild(self, fingerprint: str, dimension: int) -> ServerCollection:
        """A new, empty collection while this one goes on answering. Fill it, then call `swap` on it."""
        listed = self._catalog.begin(Stamp(fingerprint, dimension))
        return ServerCollection(self._connection, self._home, listed, created=True, published=False, replaces=self)

    def swap(self) -> ServerCollection:
        """Point the alias at this rebuilt collection. Returns the collection to use from here on.

        Other homes' points of the same pipeline come along; those of another pipeline stay where they are.
        """
        self._listed = self._catalog.publish(self._listed)
        self._published = True
        heir = self
        if self._replaces is not None:
            heir = self._replaces
            heir._listed, heir.stamp = self._listed, self.stamp
        return heir

    @property
    def place(self) -> str:
        return f"{self._connection.address.url} {self._listed.name} {self._listed.identity}"

    def flush(self) -> bool:
        """Every write was confirmed when it returned."""
        self._connection.check_open()
        return True

    def verify(self) -> None:
        """Raises VectorsGone if the collection is gone, or was made anew by somebody else after it was."""
        found = self._catalog.look(self._listed.name)
        if found.identity != self._listed.identity:
            raise VectorsGone(
                f"{found.name} on {self._connection.address.url} was made anew since it was opened.",
                cure="It is filled again from memory.db by itself; nothing is embedded again.",
            )

    def close(self) -> None:
        """Let go. A rebuild that was not swapped is deleted, now or at the next opening; one that was has its heir."""
        if not self._published:
            with suppress(VectorsError):
                # A swap that failed may have got as far as the alias.
                if self._catalog.published() != self._listed.name:
                    self._catalog.drop(self._listed.name)
        if self._replaces is None:
            self._connection.close()

    def health(self) -> Health:
        """Asks the server, within a second."""
        address, server = self._connection.address.url, ".".join(map(str, self._connection.version))
        try:
            self.verify()
            count = self.count()
        except VectorsError as error:
            figures: dict[str, float | int | str] = {"server": address, "failures": self._connection.pause.failures}
            return Health(State.DEGRADED, error.message, error.cure, figures)
        figures = {
            "points": count, "dimension": self.stamp.dimension, "collection": self._listed.name, "server": address,
            "qdrant": server, "rarity": "reader" if self._connection.counts_rarity_of_reader else "collection",
        }  # fmt: skip
        detail = f"{count} points in {self._listed.name} on {address}, Qdrant {server}"
        return Health(State.OK if count else State.EMPTY, detail, figures=figures)

    # -- writing ---------------------------------------------------------------------------------------------------

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same id. All are checked before the first is sent.

        Returned means: confirmed by the server. After an error some batches may be there; repeating it is harmless.
        """
        batch: list[models.PointStruct] = []
        size = 0
        for point, estimate in [self._made(point) for point in points]:
            if batch and (len(batch) == BATCH or size + estimate > BATCH_BYTES):
                self._write(batch)
                batch, size = [], 0
            batch.append(point)
            size += estimate
        if batch:
            self._write(batch)

    def delete(self, ids: Sequence[str]) -> None:
        """Take points out; unknown ids are no error."""
        for start in range(0, len(ids), PAGE):
            page: list[Any] = [self._id(one) for one in ids[start : start + PAGE]]
            self._confirmed(
                "deleting points", lambda client, some=page: client.delete(self._listed.name, some, wait=True)
            )

    # -- reading ---------------------------------------------------------------------------------------------------

    def count(self) -> int:
        return self._catalog.points(self._listed.name)

    def ids(self) -> Iterator[str]:
        """Every passage id of this home, page by page, to compare with memory.db."""
        offset: Any = None
        while True:
            records, offset = self._connection.call(
                "listing points",
                WRITE,
                lambda client, at=offset: client.scroll(  # type: ignore[misc]
                    self._listed.name, scroll_filter=of_home(self._home), limit=PAGE, offset=at, with_payload=["id"]
                ),
            )
            yield from (str((record.payload or {}).get("id", record.id)) for record in records)
            if offset is None:
                return

    def dense(
        self, vector: Vector, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10, sources: Sequence[str] = ()
    ) -> list[Scored]:
        """Nearest by cosine (-1…1), best first; within the time a recall has."""
        values = checked_vector(vector, self.stamp.dimension)
        query = {"query": values, "using": DENSE, "query_filter": self._readable(scopes, layers, sources)}
        return self._query(query, scopes, limit, recall=True)

    def sparse(self, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10) -> list[Scored]:
        """Best by BM25 over the text's terms; empty for a text without any."""
        words = query_vector(text)
        if not words.indices:
            return []
        query = {
            "query": _sparse(words), "using": SPARSE_NAME, "query_filter": self._readable(scopes, layers),
            "search_params": self._own_words(scopes),
        }  # fmt: skip
        return self._query(query, scopes, limit)

    def hybrid(
        self, vector: Vector, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10
    ) -> Searched:
        """Both arms, fused on the server by reciprocal rank (k = 20). A text without terms has one arm: `dense`."""
        from qdrant_client import models

        words = query_vector(text)
        if not words.indices:
            return Searched(self.dense(vector, scopes, layers, limit), "dense")
        visible, depth = self._readable(scopes, layers), max(ARM_DEPTH, limit)
        values = checked_vector(vector, self.stamp.dimension)
        arms = [
            models.Prefetch(query=values, using=DENSE, filter=visible, limit=depth),
            models.Prefetch(
                query=_sparse(words), using=SPARSE_NAME, filter=visible, limit=depth, params=self._own_words(scopes)
            ),
        ]
        fused = {"prefetch": arms, "query": models.RrfQuery(rrf=models.Rrf(k=RRF_K))}
        return Searched(self._query(fused, scopes, limit), "hybrid")

    def search(
        self, vector: Vector | None, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10
    ) -> Searched:
        """Hybrid, or what is left of it. Raises VectorsError when all failed."""
        return search_with_fallback(self, vector, text, scopes, layers, limit)

    # -- requests --------------------------------------------------------------------------------------------------

    def _query(self, query: dict[str, Any], scopes: Sequence[str], limit: int, *, recall: bool = False) -> list[Scored]:
        if not scopes or limit < 1:
            return []
        patience = RECALL if recall else SEARCH
        found = self._connection.call(
            "searching",
            patience,
            lambda client: (
                client.query_points(
                    self._listed.name, **query, limit=limit, with_payload=["id"], timeout=math.ceil(patience.read)
                ).points
            ),
        )
        return [(str((one.payload or {})["id"]), float(one.score)) for one in found]

    def _write(self, batch: list[models.PointStruct]) -> None:
        self._confirmed("writing points", lambda client: client.upsert(self._listed.name, batch, wait=True))

    def _confirmed(self, what: str, work: Any) -> None:
        """A write counts as done when the server says that it is, not when it has taken note of it."""
        result = self._connection.call(what, WRITE, work)
        status = str(getattr(result.status, "value", result.status))
        if status != "completed":
            raise VectorsUnavailable(
                f"{self._connection.address.url} has not confirmed {what} ({status}).",
                cure="It is tried again by itself.",
            )

    def _made(self, point: Point) -> tuple[models.PointStruct, int]:
        """The point as it is sent, and about how many bytes that is."""
        from qdrant_client import models

        words = document_vector(point.text, point.context)
        vectors: dict[str, Any] = {DENSE: checked_vector(point.vector, self.stamp.dimension)}
        if words.indices:
            vectors[SPARSE_NAME] = _sparse(words)
        payload = {**point.payload.model_dump(mode="json"), HOME: self._home}
        texts = sum(len(value.encode()) for value in payload.values() if isinstance(value, str))
        size = (
            self.stamp.dimension * _BYTES_A_DENSE_VALUE
            + len(words.indices) * _BYTES_A_SPARSE_VALUE
            + texts
            + _BYTES_A_POINT
        )
        return models.PointStruct(id=self._id(point.id), vector=vectors, payload=payload), size

    def _id(self, passage: str) -> str:
        """Two homes may hold the same passage: each has a point of its own."""
        return str(uuid.uuid5(uuid.UUID(self._home), passage))

    def _readable(self, scopes: Sequence[str], layers: Sequence[Layer], sources: Sequence[str] = ()) -> models.Filter:
        from qdrant_client import models

        conditions: list[Any] = [
            models.FieldCondition(key=HOME, match=models.MatchValue(value=self._home)),
            models.FieldCondition(key="scope", match=models.MatchAny(any=list(scopes))),
        ]
        if layers:
            conditions.append(
                models.FieldCondition(key="layer", match=models.MatchAny(any=[layer.value for layer in layers]))
            )
        if sources:
            conditions.append(models.FieldCondition(key="source", match=models.MatchAny(any=list(sources))))
        return models.Filter(must=conditions)

    def _own_words(self, scopes: Sequence[str]) -> models.SearchParams | None:
        """Count how rare a word is over what this reader may see, where the server can: nobody's memories weigh in
        another's ranking."""
        from qdrant_client import models

        if not self._connection.counts_rarity_of_reader:
            return None
        return models.SearchParams(idf=models.IdfCorpusParams(corpus=self._readable(scopes, ())))


def _sparse(vector: SparseVector) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
