"""What goes to whoever asks the model, and what comes back: both travel as JSON between service and worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from memory_os.understanding.transcript import Turn


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read of one session: turns, oldest first, and the facts a model should know of. JSON round trip.

    `known`: a line each; `facts`: their labels and ids.
    """

    scope: str
    session_id: str
    turns: tuple[Turn, ...]
    known: tuple[str, ...] = ()
    facts: dict[str, int] = field(default_factory=dict)
    budget: int = 16_000

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "turns": [one.as_dict() for one in self.turns]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Reading:
        turns = tuple(Turn.from_dict(one) for one in given["turns"])
        known = tuple(str(one) for one in given["known"])
        facts = {str(label): int(fact) for label, fact in given["facts"].items()}
        return cls(str(given["scope"]), str(given["session_id"]), turns, known, facts, int(given["budget"]))


@dataclass(slots=True)
class Read:
    """What came of it. `turns`: the ids that were read; `items`: dictionaries with `item` (the kind) and `turn` (an id);
    `withdrawn`: ids of turns that the person took back; `dropped`: how many items rested on no turn of the input; `facts`:
    those the model was shown, by label."""

    scope: str
    session_id: str
    turns: list[str] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    dropped: int = 0
    facts: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    units: float = 0.0
    partial: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
