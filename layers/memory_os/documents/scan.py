"""What differs between the followed folders and memory, by size and time alone: a round over 10,000 files reads none.

The only files read are new ones that could be a deleted one under another name. Writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Changes", "Refused", "Renamed", "Seen"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as a scan saw it. `name`: relative to the vault if it lies there, else absolute."""

    name: str
    size: int
    mtime_ns: int

    @property
    def stamp(self) -> str:
        """Tells two states of one file apart; for a job's id."""
        return f"{self.size}-{self.mtime_ns}"


@dataclass(frozen=True, slots=True)
class Renamed:
    """The bytes of `old`, which is gone, under a new name."""

    old: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is never read: a link, a device, a name that is not UTF-8, a folder that can't be listed."""

    name: str
    reason: str


@dataclass(slots=True)
class Changes:
    """What a scan found. `waiting`: still being written; look again after `look_again_s` seconds (0: no need to).

    `away`: followed folders that are not there, such as a drive that is not mounted; nothing of them is deleted.
    """

    new: list[Seen] = field(default_factory=list)
    changed: list[Seen] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    waiting: list[Seen] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    unchanged: int = 0
    excluded: int = 0
    look_again_s: float = 0.0

    @property
    def to_prepare(self) -> list[Seen]:
        """What must be read and cut: new and changed files."""
        return [*self.new, *self.changed]
