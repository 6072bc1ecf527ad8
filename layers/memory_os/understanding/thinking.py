"""What goes to whoever reasons about a person: it travels as JSON between service and worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

DEPTH_MAX = 3


@dataclass(frozen=True, slots=True)
class Thinking:
    """What is to be thought about: `question` "" for the card. `conclusions`: (fact id, day, text). JSON round trip."""

    scope: str
    question: str
    depth: int
    basis: str
    conclusions: tuple[tuple[int, str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Thinking:
        conclusions = tuple((int(one[0]), str(one[1]), str(one[2])) for one in given["conclusions"])
        names = ("scope", "question", "basis")
        scope, question, basis = (str(given[name]) for name in names)
        return cls(scope, question, min(max(int(given["depth"]), 1), DEPTH_MAX), basis, conclusions)


@dataclass(frozen=True, slots=True)
class Memories:
    """What is to be looked at together: (fact id, day, text), oldest first. JSON round trip."""

    scope: str
    facts: tuple[tuple[int, str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Memories:
        return cls(str(given["scope"]), tuple((int(one[0]), str(one[1]), str(one[2])) for one in given["facts"]))
