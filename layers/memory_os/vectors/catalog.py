"""The collections of a Qdrant server that are ours: numbered ones, and the alias `knowledge_base` on the current one.

Many homes share one collection; each sees its own points only. The stamp of the pipeline stands in the collection's own
metadata. A rebuild is marked with its home until it is published. Homes of another version may go on with an earlier
collection, which goes with the last of them.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memory_os import constants
from memory_os.errors import VectorsDenied, VectorsError, VectorsUnavailable
from memory_os.vectors.connection import ADMIN, LOOK, WRITE, Connection
from memory_os.vectors.folder import Stamp
from memory_os.vectors.shard import DENSE, SPARSE_NAME

if TYPE_CHECKING:
    from qdrant_client import models

__all__ = ["HOME", "Catalog", "Listed", "of_home"]

HOME = "home"
_METADATA = "memory_os"
_NUMBERED = re.compile(rf"{re.escape(constants.COLLECTION)}-(\d+)")
_CREATE_TRIES = 5
# Points of other homes go over to a new collection in pages of this size, a megabyte or so.
_COPY_PAGE = 128
_REBUILD = "`memory-os reindex` builds a new one from memory.db; nothing is embedded again."


@dataclass(frozen=True, slots=True)
class Listed:
    """One of our collections. `identity` is made with it; `rebuilding` is the home that is filling it, or empty."""

    name: str
    stamp: Stamp
    identity: str
    rebuilding: str = ""


class Catalog:
    """Finding, making, publishing and dropping collections on one server for one home."""

    def __init__(self, connection: Connection, home: str) -> None:
        self._connection = connection
        self._home = home

    def current(self, wanted: Stamp) -> tuple[Listed, bool]:
        """The collection to use, and whether it was made now. Raises FingerprintMismatch, VectorsError.

        What the alias names, if the stamp is ours. Else an earlier one of our stamp that still holds our points: another
        home, of another version, has moved the alias on.
        """
        for _ in range(_CREATE_TRIES):
            named = self.published()
            if named is not None:
                return self._fitting(named, wanted), False
            if constants.COLLECTION in self._names(re.compile(re.escape(constants.COLLECTION))):
                raise self._not_ours(constants.COLLECTION)
            # Listed once: a collection that another home makes from here on takes the number we would.
            names = self._names()
            for listed in self._looked_at(names):
                if listed.stamp == wanted and not listed.rebuilding:  # made by one that has not got to the alias yet
                    self._index(listed.name)
                    self._point_alias(listed.name)
                    return listed, False
            made = self._create(wanted, "", names)
            if made is not None:
                self._point_alias(made.name)
                return made, True
        raise self._no_name()

    def _fitting(self, named: str, wanted: Stamp) -> Listed:
        found = self.look(named)
        if found.stamp == wanted:
            return found
        ours = [one for one in self.all() if one.stamp == wanted and not one.rebuilding and self.points(one.name)]
        if not ours:
            wanted.check(found.stamp)
        return ours[-1]

    def published(self) -> str | None:
        """The collection behind the alias."""
        aliases = self._connection.call("listing aliases", ADMIN, lambda client: client.get_aliases().aliases)
        return next((one.collection_name for one in aliases if one.alias_name == constants.COLLECTION), None)

    def all(self) -> list[Listed]:
        """Our collections in the order they were made; what only looks like one is left out."""
        return self._looked_at(self._names())

    def _looked_at(self, names: list[str]) -> list[Listed]:
        found = []
        for name in sorted(names, key=lambda one: int(one.rpartition("-")[2])):
            try:
                found.append(self.look(name))
            except (VectorsUnavailable, VectorsDenied):
                raise
            except VectorsError:  # gone meanwhile, or somebody else's
                continue
        return found

    def look(self, name: str) -> Listed:
        """A collection as it stands there. Raises VectorsGone, or VectorsError if it isn't one of ours."""
        info = self._connection.call(f"looking at {name}", LOOK, lambda client: client.get_collection(name))
        told: Any = (info.config.metadata or {}).get(_METADATA)
        dense, sparse = _vectors(info.config.params)
        try:
            stamp = Stamp(str(told["model"]), int(told["dimension"]), str(told["chunker"]), str(told["sparse"]))
            listed = Listed(name, stamp, str(told["identity"]), str(told.get("rebuilding") or ""))
        except (KeyError, TypeError, ValueError) as error:
            raise self._not_ours(name) from error
        if dense != stamp.dimension or not sparse:
            raise VectorsError(f"{name} has not the vectors that its stamp says.", cure=_REBUILD)
        return listed

    def begin(self, stamp: Stamp) -> Listed:
        """A new, empty collection for a rebuild of this home, under the next number that is free."""
        for _ in range(_CREATE_TRIES):
            made = self._create(stamp, self._home, self._names())
            if made is not None:
                return made
        raise self._no_name()

    def publish(self, rebuilt: Listed) -> Listed:
        """Point the alias at a finished rebuild, take the others' points along, and drop what nobody uses any more."""
        named = self.published()
        former = None if named is None or named == rebuilt.name else named
        if former is not None and self.look(former).stamp == rebuilt.stamp:
            self._copy_others(former, rebuilt.name)
        finished = Listed(rebuilt.name, rebuilt.stamp, rebuilt.identity)
        self._connection.call(
            f"finishing {rebuilt.name}",
            ADMIN,
            lambda client: client.update_collection(rebuilt.name, metadata={_METADATA: _metadata(finished)}),
        )
        self._point_alias(rebuilt.name)
        with suppress(VectorsError):  # published it is; what can't be cleared now is cleared at the next opening
            if former is not None and self.look(former).stamp == rebuilt.stamp:
                self.drop(former)
            self.leave_others(rebuilt.name)
        return finished

    def leave_others(self, keep: str) -> None:
        """Take this home out of every collection but one; a collection that held nobody else goes."""
        for other in self.all():
            if other.name == keep:
                continue
            if other.rebuilding == self._home:  # a rebuild that was interrupted
                self.drop(other.name)
            elif not other.rebuilding and self.points(other.name):
                self._take_out(other.name)
                if not self.points(other.name, of_anybody=True) and self.published() != other.name:
                    self.drop(other.name)

    def points(self, name: str, *, of_anybody: bool = False) -> int:
        """How many points this home, or anybody, has there."""
        chosen = None if of_anybody else of_home(self._home)
        return self._connection.call(
            "counting points", LOOK, lambda client: client.count(name, count_filter=chosen, exact=True).count
        )

    def drop(self, name: str) -> None:
        self._connection.call(f"deleting {name}", ADMIN, lambda client: client.delete_collection(name))

    def _create(self, stamp: Stamp, rebuilding: str, names: list[str]) -> Listed | None:
        """The collection with its payload indexes; None when another home took the name first."""
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        numbers = [int(name.rpartition("-")[2]) for name in names]
        name = f"{constants.COLLECTION}-{max(numbers, default=0) + 1}"
        listed = Listed(name, stamp, str(uuid.uuid4()), rebuilding)
        try:
            self._connection.call(
                f"creating {name}",
                ADMIN,
                lambda client: client.create_collection(
                    name,
                    vectors_config={DENSE: models.VectorParams(size=stamp.dimension, distance=models.Distance.COSINE)},
                    sparse_vectors_config={SPARSE_NAME: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    # Qdrant's advice for many tenants: a graph for each of them, none over all.
                    hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
                    metadata={_METADATA: _metadata(listed)},
                ),
            )
        except VectorsError as error:
            if isinstance(error.__cause__, UnexpectedResponse) and error.__cause__.status_code == 409:
                return None
            raise
        self._index(name)
        return listed

    def _index(self, name: str) -> None:
        """The payload indexes; one that is there already stays as it is."""
        for field, schema in _indexes().items():
            self._connection.call(
                f"indexing {field} of {name}",
                ADMIN,
                lambda client, of=field, by=schema: client.create_payload_index(name, of, field_schema=by, wait=True),  # type: ignore[misc]
            )

    def _no_name(self) -> VectorsError:
        return VectorsError(
            f"Others keep taking the next free name on {self._connection.address.url}.", cure="Try again."
        )

    def _take_out(self, name: str) -> None:
        from qdrant_client import models

        chosen = models.FilterSelector(filter=of_home(self._home))
        self._connection.call(f"leaving {name}", WRITE, lambda client: client.delete(name, chosen, wait=True))

    def _copy_others(self, source: str, target: str) -> None:
        from qdrant_client import models

        others = models.Filter(must_not=[models.FieldCondition(key=HOME, match=models.MatchValue(value=self._home))])
        offset: Any = None
        while True:
            page, offset = self._connection.call(
                "reading the points of others",
                WRITE,
                lambda client, at=offset: client.scroll(  # type: ignore[misc]
                    source, scroll_filter=others, limit=_COPY_PAGE, offset=at, with_payload=True, with_vectors=True
                ),
            )
            points = [models.PointStruct(id=one.id, vector=one.vector, payload=one.payload) for one in page]
            if points:
                self._connection.call(
                    "taking over the points of others",
                    WRITE,
                    lambda client, some=points: client.upsert(target, some, wait=True),  # type: ignore[misc]
                )
            if offset is None:
                return

    def _point_alias(self, name: str) -> None:
        """In one step, so that no reader meets a moment without an alias."""
        from qdrant_client import models

        moved: list[Any] = [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=name, alias_name=constants.COLLECTION)
            )
        ]
        if self.published() is not None:
            moved.insert(
                0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=constants.COLLECTION))
            )
        self._connection.call(
            f"pointing the alias {constants.COLLECTION} at {name}",
            ADMIN,
            lambda client: client.update_collection_aliases(change_aliases_operations=moved),
        )

    def _not_ours(self, name: str) -> VectorsError:
        return VectorsError(
            f"{name} on {self._connection.address.url} was not made by memory-os.",
            cure=f"Use another server, or give it another name there: memory-os needs the name {constants.COLLECTION}.",
        )

    def _names(self, pattern: re.Pattern[str] = _NUMBERED) -> list[str]:
        found = self._connection.call("listing collections", ADMIN, lambda client: client.get_collections().collections)
        return [one.name for one in found if pattern.fullmatch(one.name)]


def of_home(home: str) -> models.Filter:
    """This home's points, nobody else's: part of every read and of every deletion."""
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key=HOME, match=models.MatchValue(value=home))])


def _indexes() -> dict[str, Any]:
    from qdrant_client import models

    keyword, decimal = models.KeywordIndexType.KEYWORD, models.FloatIndexType.FLOAT
    return {
        HOME: models.KeywordIndexParams(type=keyword, is_tenant=True),
        "scope": models.KeywordIndexParams(type=keyword, is_tenant=True),
        "layer": models.KeywordIndexParams(type=keyword),
        # Filtered by, never searched along: no graph of their own.
        "source": models.KeywordIndexParams(type=keyword, enable_hnsw=False),
        "created_at": models.FloatIndexParams(type=decimal, enable_hnsw=False),
    }


def _metadata(listed: Listed) -> dict[str, Any]:
    return {**asdict(listed.stamp), "identity": listed.identity, "rebuilding": listed.rebuilding}


def _vectors(params: Any) -> tuple[int, bool]:
    """The size of the dense vectors that a collection holds by cosine, and whether it has our sparse ones."""
    named = params.vectors if isinstance(params.vectors, dict) else {}
    dense: Any = named.get(DENSE)
    sparse: Any = (params.sparse_vectors or {}).get(SPARSE_NAME)
    cosine = dense is not None and _value(dense.distance) == "Cosine"
    return (int(dense.size) if cosine else 0), sparse is not None and _value(sparse.modifier) == "idf"


def _value(member: Any) -> str:
    return str(getattr(member, "value", member))
