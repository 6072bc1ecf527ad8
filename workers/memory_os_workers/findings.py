"""What a check found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memory_os.errors import MemoryOSError


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `memory-os doctor`: where, how it stands, why, and the command or act that mends it."""

    layer: str
    state: Verdict
    detail: str
    cure: str = ""


def ok(layer: str, detail: str) -> Finding:
    return Finding(layer, Verdict.OK, detail)


def warn(layer: str, detail: str, cure: str) -> Finding:
    return Finding(layer, Verdict.WARN, detail, cure)


def fail(layer: str, detail: str, cure: str) -> Finding:
    return Finding(layer, Verdict.FAIL, detail, cure)


def failed_by(layer: str, error: MemoryOSError) -> Finding:
    """The finding that an error amounts to."""
    return Finding(layer, Verdict.FAIL, error.message, error.cure)
