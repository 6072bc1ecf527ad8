"""Deleted words leave the bytes too: full-text segments, unused pages, the write-ahead log, the backups."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from memory_os.errors import StoreError
from memory_os.forgetting.targets import Gone
from memory_os.store import Store, sweep_partials

__all__ = ["DropBackups", "scrub"]

# Deletes what full backups hold: how many went, and what is said of those elsewhere.
DropBackups = Callable[[float], tuple[int, list[str]]]


def scrub(store: Store, drop_backups: DropBackups, now: float, gone: Gone) -> None:
    """What can't be done now stands in `gone.unfinished`."""
    with store.write() as db:
        db.execute("INSERT INTO passages_fts(passages_fts) VALUES('optimize')")
    try:
        store.vacuum()
    except sqlite3.Error as error:
        gone.unfinished.append(f"memory.db could not be written anew ({error}): its unused space may still hold it.")
    if not store.checkpoint():
        gone.unfinished.append("A reader holds the write-ahead log: what was forgotten is in it until the next checkpoint.")
    gone.counts["backups renewed"] = _renew_backups(store, now, gone)
    gone.counts["full backups deleted"], notes = drop_backups(now)
    gone.notes += notes


def _renew_backups(store: Store, now: float, gone: Gone) -> int:
    """A fresh backup in place of the old ones. Waits for one that is being made: that one goes as well."""
    folder = store.path.parent / "backups"
    with store.backing_up:
        sweep_partials(folder)
        old = sorted(folder.glob("memory-*.db"))
        if not old:
            return 0
        fresh = folder / f"memory-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}.db"
        try:
            store.backup(fresh)
        except (StoreError, sqlite3.Error, OSError) as error:
            gone.unfinished.append(f"{len(old)} backups in {folder} still hold it; a fresh one failed: {error}")
            return 0
        for path in old:
            if path != fresh:
                path.unlink()
        return len(old)
