"""What a duty is, what one run of it gets, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
WEEK_S = 7 * DAY_S
MONTH_S = 30 * DAY_S
# A duty that failed is tried again after this long: a full disk may be empty long before tomorrow.
RETRY_S = 900.0

State = Literal["ok", "degraded", "failed", "dry run"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: when it is (epoch seconds), whether it may change anything, and under which id its steps are kept."""

    now: float
    dry_run: bool = False
    id: int = 0
    halted: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, or would do, in one line; `details` name each thing for a person and are stored nowhere."""

    line: str
    details: tuple[str, ...] = ()
    state: State = "ok"
    figures: dict[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DutyOutcome:
    """A finished run. `run` is what `maintain --undo` takes, 0 where there is nothing to undo."""

    name: str
    at: float
    state: State
    result: str
    error: str = ""
    milliseconds: float = 0.0
    run: int = 0
    details: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "details": list(self.details)}


@dataclass(frozen=True, slots=True)
class Duty:
    """Due every `every_s` seconds, the first time `first_after_s` after a memory begins.

    `act` raises MemoryOSError, sqlite3.Error or OSError when it can't. `undo(run id, now)` takes a run back and says
    what it did; without one `no_undo` says why not.
    """

    name: str
    every_s: float
    act: Callable[[Run], Report]
    does: str
    undo: Callable[[int, float], str] | None = None
    no_undo: str = ""
    first_after_s: float = 0.0


def simple(act: Callable[[float], object], preview: Callable[[float], object]) -> Callable[[Run], Report]:
    """A duty's `act` from a function that does it at a time, and one that says what it would do."""
    return lambda run: Report(str(preview(run.now) if run.dry_run else act(run.now)))


def excerpt(text: str, longest: int = 100) -> str:
    """The beginning of a text on one line, for a list."""
    words = " ".join(text.split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
