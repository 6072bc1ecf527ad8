"""What the service does beside turns, each duty when it is due; one that fails is counted and doesn't stop the others."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_os.errors import MemoryOSError
from memory_os.store import sweep_partials

if TYPE_CHECKING:
    from memory_os.engine import Engine

# Rows of the host's history a round; the next round goes on. A batch takes some 100 ms.
_HISTORY_BATCH = 500
BACKUPS_KEPT = 3
_DAY_S = 86_400.0
# A duty that failed is tried again after this long: a full disk may be empty long before tomorrow.
_RETRY_S = 900.0


@dataclass(frozen=True, slots=True)
class Duty:
    """Runs every `every_s` seconds; `run` returns what `status` shows of it."""

    name: str
    every_s: float
    run: Callable[[float], object]


class Housekeeping:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due: dict[str, float] = {}
        self.halted = threading.Event()
        self.last: dict[str, dict[str, Any]] = {}
        self._duties = (
            Duty("history", 30.0, lambda now: self._history()),
            Duty("fabric", 60.0, lambda now: engine.fabric.refresh()),
            Duty("documents", 600.0, lambda now: engine.documents.refresh()),
            Duty("trust", 3600.0, engine.facts.refresh_trust),
            Duty("tiers", 6 * 3600.0, engine.fabric.tier),
            Duty("ledger", _DAY_S, engine.recaller.ledger.rotate),
            Duty("backup", _DAY_S, self._backup),
            Duty("rejected", _DAY_S, engine.intake.expire),
        )

    def run(self, now: float) -> dict[str, Any]:
        """Run what is due. Returns what was done, by duty."""
        # A clock that was set back must not put a duty off for years.
        due = [duty for duty in self._duties if not 0 <= now - self._due.get(duty.name, -1e12) < duty.every_s]
        return {duty.name: self._run(duty, now) for duty in due if not self.halted.is_set()}

    def _run(self, duty: Duty, now: float) -> dict[str, Any]:
        self._due[duty.name] = now
        started = time.perf_counter()
        try:
            result: dict[str, Any] = {"at": now, "result": str(duty.run(now))}
        except (MemoryOSError, sqlite3.Error, OSError) as error:
            result = {"at": now, "error": str(error)}
            self._due[duty.name] = now - duty.every_s + min(duty.every_s, _RETRY_S)
            self._engine.store.count(f"{duty.name}_failed", reason=str(error))
        result["milliseconds"] = round((time.perf_counter() - started) * 1e3, 1)
        self.last[duty.name] = result
        return result

    def _history(self) -> str:
        """Batches until nothing is left: a first start takes a whole past over."""
        total = 0
        while True:
            imported = self._engine.sessions.import_history(_HISTORY_BATCH)
            total += imported.taken
            if not imported.more or self.halted.is_set():
                return f"{total} messages{f', {imported.reason}' if imported.reason else ''}"

    def _backup(self, now: float) -> str:
        """A verified copy of memory.db a day, the newest three kept. `memory-os doctor --restore` puts one back."""
        folder, store = self._engine.settings.backups_dir, self._engine.store
        with store.backing_up:
            sweep_partials(folder)
            return self._backup_into(folder, now)

    def _backup_into(self, folder: Path, now: float) -> str:
        newest = max((path.stat().st_mtime for path in backups(folder)), default=0.0)
        if 0 <= now - newest < _DAY_S:
            return "today's is there"
        target = folder / f"memory-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}.db"
        self._engine.store.backup(target)
        # Never the new one, whatever an older clock called the others.
        for old in [path for path in backups(folder) if path != target][: 1 - BACKUPS_KEPT]:
            old.unlink()
        return target.name


def backups(folder: Path) -> list[Path]:
    """The copies of memory.db, oldest first."""
    return sorted(folder.glob("memory-*.db"))
