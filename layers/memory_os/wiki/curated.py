"""What curation gives back, and what it asks of its surroundings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Curated", "Neighbour", "Related", "nothing_related"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A page near to a text by meaning. `page`: its path, relative to the wiki or to the vault; `similarity`: cosine."""

    page: str
    similarity: float = 0.0


# Pages near to a text, nearest first.
Related = Callable[[str], Awaitable[Sequence[Neighbour]]]


async def nothing_related(text: str) -> Sequence[Neighbour]:
    """Without vectors: subjects are then known by their names alone."""
    return ()


@dataclass(slots=True)
class Curated:
    """How one raw file went.

    `done` (with a `reason`: the model found nothing in it); `unchanged`: it was done before, in this very state; `partial`:
    the run's ceiling was reached, the next goes on; `ceiling`: the file cost as much as one may; `refused`: it can't be
    read as text, `reason` says why;
    `gone`: there is no such file (any more).
    """

    raw: str
    status: Literal["done", "unchanged", "partial", "ceiling", "refused", "gone"] = "done"
    reason: str = ""
    sha: str = ""
    created: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    contradictions: int = 0
    flagged: bool = False
    # Statements that read like orders: to a model, and left out; to whoever reads, and quoted.
    orders_left_out: int = 0
    orders_quoted: int = 0
    notes: list[str] = field(default_factory=list)
    calls: int = 0
    units: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
