"""Which collection the marks in memory.db are about ("this passage has its point"), and whether they are true of it."""

from __future__ import annotations

import time

from memory_os.index import Index
from memory_os.index.closed import take_points_along
from memory_os.store import Store
from memory_os.vectors import VectorCollection

# What the marks are about, and where points were left behind by a move.
_PLACE, _LEFT, _EMBEDDED = "vectors_place", "vectors_left", "embedded"


class Marks:
    """The marks of one memory; nothing here embeds or adds a point."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index

    def about(self, collection: VectorCollection) -> bool:
        """Whether they were made for this collection. If not (made anew, moved to a server, swapped by another home) it may hold
        earlier versions of a passage under the same id: every point is marked to be written again, from the embeddings
        memory.db has, and those of nothing are deleted. Raises VectorsError."""
        if not collection.created and collection.place == self._store.meta(_PLACE, _EMBEDDED):
            return True
        self._index.embeddings.mark_all_unindexed()
        take_points_along(self._store, time.time())
        _delete_stray(collection, {row["id"] for row in self._store.rows("SELECT id FROM passages WHERE indexed = 0")})
        self.settle(collection.place)
        return False

    def settle(self, place: str) -> None:
        """From now on they are about the collection at `place`."""
        former = self._store.meta(_PLACE, _EMBEDDED)
        if place == former:
            return
        self._store.set_meta(_PLACE, place)
        # Points on a server that is no longer configured can't be taken away from here: `left_behind` says so.
        if place == _EMBEDDED:
            self._store.set_meta(_LEFT, former)
        elif _server_of(place) == _server_of(self._store.meta(_LEFT)):
            self._store.set_meta(_LEFT, "")

    @property
    def left_behind(self) -> str:
        """The server and its collection where a move left points of this memory, or empty."""
        return " ".join(self._store.meta(_LEFT).split()[:2])

    def audit(self, collection: VectorCollection) -> int:
        """Compare ids: missing points are marked to be indexed again, stray ones deleted. Returns how many. Raises VectorsError.

        All of them, not their number: a power cut that takes one in and one out leaves the number as it was.
        """
        wanted = {row["id"]: row["pk"] for row in self._store.rows("SELECT id, pk FROM passages WHERE indexed = 1")}
        stray, there = _delete_stray(collection, set(wanted))
        missing = [pk for point, pk in wanted.items() if point not in there]
        if not missing and not stray:
            return 0
        self._index.embeddings.mark_unindexed(missing)
        self._store.count("vectors_audited", len(missing) + stray, reason=f"{len(missing)} missing, {stray} stray")
        return len(missing) + stray


def _delete_stray(collection: VectorCollection, wanted: set[str]) -> tuple[int, set[str]]:
    """How many points of nothing were deleted, and the ids that were there."""
    there = set(collection.ids())
    stray = sorted(there - wanted)
    collection.delete(stray)
    return len(stray), there


def _server_of(place: str) -> str:
    return place.partition(" ")[0]
