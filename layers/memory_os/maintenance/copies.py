"""The daily copy of memory.db: online, checked by SQLite, the newest three kept."""

from __future__ import annotations

import time
from pathlib import Path

from memory_os.maintenance.duty import DAY_S, Report, Run
from memory_os.store import Store, sweep_partials

BACKUPS_KEPT = 3


class Copies:
    """`memory-os restore` puts one back."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder

    def act(self, run: Run) -> Report:
        newest = max((path.stat().st_mtime for path in backups(self._folder)), default=0.0)
        if 0 <= run.now - newest < DAY_S:
            return Report("today's is there")
        if run.dry_run:
            return Report(f"would copy memory.db, {self._store.path.stat().st_size / 1e6:.1f} MB, and keep {BACKUPS_KEPT} copies")
        with self._store.backing_up:
            sweep_partials(self._folder)
            target = self._folder / f"memory-{stamp(run.now)}.db"
            self._store.backup(target)
            # Never the new one, whatever an older clock called the others.
            for old in [path for path in backups(self._folder) if path != target][: 1 - BACKUPS_KEPT]:
                old.unlink()
        return Report(target.name)


def backups(folder: Path) -> list[Path]:
    """The copies of memory.db, oldest first."""
    return sorted(folder.glob("memory-*.db"))


def stamp(now: float) -> str:
    """A time in UTC that sorts as a name."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
