"""How an ingest went, file by file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["FileReport", "IngestReport", "Progress", "Status"]

# Called before each file with (files done, files in all, path).
Progress = Callable[[int, int, str], None]
Status = Literal["ok", "unchanged", "skipped", "removed", "renamed", "stale"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """How one file went.

    `removed`: it is gone from its folder, and so from memory. `renamed`: the same bytes under another name, nothing was
    embedded again. `stale`: it changed while it was read; the next look takes it. `chunks`: how many passages it has now.
    `notes`: what was passed over in it.
    """

    path: str
    status: Status
    reason: str = ""
    chunks: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class IngestReport:
    """All files in the order they were taken. `excluded`: dot files, archives and bookkeeping, not looked at.

    `look_again_s`: when files that are still being written should have come to rest; 0 where there are none.
    """

    files: list[FileReport] = field(default_factory=list)
    excluded: int = 0
    look_again_s: float = 0.0

    def count(self, status: str) -> int:
        return sum(one.status == status for one in self.files)

    @property
    def chunks(self) -> int:
        return sum(one.chunks for one in self.files)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the figures, and every file that is not simply unchanged."""
        told = [
            {
                "path": one.path,
                "status": one.status,
                "reason": one.reason,
                "chunks": one.chunks,
                "notes": list(one.notes),
            }
            for one in self.files
            if one.status != "unchanged" or one.notes
        ]
        figures = {
            status: self.count(status) for status in ("ok", "unchanged", "skipped", "removed", "renamed", "stale")
        }
        return {**figures, "excluded": self.excluded, "chunks": self.chunks, "files": told}
