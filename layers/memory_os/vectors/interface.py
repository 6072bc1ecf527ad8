"""What a vector collection is, whichever engine holds it: the embedded one (`Collection`) and a server's
(`ServerCollection`) both fulfil `VectorCollection`, and one test-suite runs over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import VectorsError
from memory_os.memory import Health, Layer
from memory_os.vectors.folder import Stamp
from memory_os.vectors.points import Point

__all__ = ["ARM_DEPTH", "RRF_K", "Mode", "Scored", "Searched", "Vector", "VectorCollection", "search_with_fallback"]

Vector = NDArray[np.float32]
Scored = tuple[str, float]
Mode = Literal["hybrid", "dense", "sparse"]

# Qdrant's default of 2 lets one list's first place beat the agreement of two; near 20 the second place of both does.
RRF_K = 20
# How deep each arm is read before fusing, at least: agreement is often found below the page that is shown.
ARM_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, best first, and which arms really ran. `degraded_reason` is empty if all wanted ones did.

    Scores: cosine for dense, BM25 × IDF for sparse, reciprocal ranks for hybrid; comparable within one answer only.
    """

    hits: list[Scored]
    mode: Mode
    degraded_reason: str = ""


class VectorCollection(Protocol):
    """One open collection of one home. Thread-safe. Every method may raise VectorsError."""

    stamp: Stamp
    # True when opening found nothing and made an empty one: the index must then mark all passages unindexed.
    created: bool

    @property
    def place(self) -> str:
        """Which collection this is, among all there ever were: the index's marks are of one place only."""

    def begin_rebuild(self, fingerprint: str, dimension: int) -> VectorCollection:
        """A new, empty collection while this one goes on answering. Fill it, then call `swap` on it."""

    def swap(self) -> VectorCollection:
        """Point the alias at this rebuilt collection, delete what it replaces. Returns the one to use from here on."""

    def flush(self) -> bool:
        """Make all writes durable. False: it failed and was repaired without loss."""

    def verify(self) -> None:
        """Raises VectorsGone if this collection is no longer there, or another stands under its name."""

    def close(self) -> None:
        """Let go; a rebuild that was not swapped is deleted."""

    def health(self) -> Health: ...

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same id. All are checked before the first is written.

        Returned means: the engine has them, and a search finds them.
        """

    def delete(self, ids: Sequence[str]) -> None:
        """Take points out; unknown ids are no error."""

    def count(self) -> int: ...

    def ids(self) -> Iterator[str]:
        """Every point's id, to compare with memory.db."""

    def dense(
        self, vector: Vector, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10, sources: Sequence[str] = ()
    ) -> list[Scored]:
        """Nearest by cosine (-1…1), best first. No layers or sources given: all of them. No scopes: nothing may be seen."""

    def sparse(self, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10) -> list[Scored]:
        """Best by BM25 over the text's terms; empty for a text without any."""

    def hybrid(
        self, vector: Vector, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10
    ) -> Searched:
        """Both arms, fused by reciprocal rank (k = 20). A text without terms has one arm, and `mode` says `dense`."""

    def search(
        self, vector: Vector | None, text: str, scopes: Sequence[str], layers: Sequence[Layer] = (), limit: int = 10
    ) -> Searched:
        """See `search_with_fallback`."""


def search_with_fallback(
    collection: VectorCollection,
    vector: Vector | None,
    text: str,
    scopes: Sequence[str],
    layers: Sequence[Layer],
    limit: int,
) -> Searched:
    """Hybrid; if that fails dense alone; if that fails sparse alone, labelled with the reason.

    An empty answer is an answer: only a failure goes on to the next. Raises VectorsError when all failed; the
    caller then has full text over the same passages.
    """
    if vector is None:
        return Searched(collection.sparse(text, scopes, layers, limit), "sparse", "the question has no embedding")
    try:
        return collection.hybrid(vector, text, scopes, layers, limit)
    except VectorsError as error:
        reason = error.message
    try:
        return Searched(collection.dense(vector, scopes, layers, limit), "dense", reason)
    except VectorsError:
        return Searched(collection.sparse(text, scopes, layers, limit), "sparse", reason)
