"""Deleted words leave the bytes too: full-text segments, unused pages, the write-ahead log, the backups."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from memory_os.constants import SCRATCH_PROFILE
from memory_os.errors import StoreError
from memory_os.forgetting.targets import Gone
from memory_os.sessions.scopes import LOCAL_PLATFORMS, LOCAL_USER
from memory_os.store import Store, sweep_partials
from memory_os.tooling import Caller

__all__ = ["DropBackups", "scrub"]

# Deletes full backups, and what a restore set aside if the person at this machine forgets: how many of each went, and what is
# said of the rest: what is meant to stay, and what should have gone.
DropBackups = Callable[[float, bool], tuple[dict[str, int], list[str], list[str]]]


def scrub(store: Store, drop_backups: DropBackups, caller: Caller, gone: Gone) -> None:
    """What can't be done now stands in `gone.unfinished`."""
    now = caller.now
    with store.write() as db:
        db.execute("INSERT INTO passages_fts(passages_fts) VALUES('optimize')")
    try:
        store.vacuum()
    except sqlite3.Error as error:
        gone.unfinished.append(f"memory.db could not be written anew ({error}): its unused space may still hold it.")
    if not store.checkpoint():
        gone.unfinished.append("A reader holds the write-ahead log: what was forgotten is in it until the next checkpoint.")
    if caller.scope.profile == SCRATCH_PROFILE:  # written a moment ago: in no backup
        return
    gone.counts["backups renewed"] = _renew_backups(store, now, gone)
    counts, notes, unfinished = drop_backups(now, _at_this_machine(caller))
    gone.counts.update(counts)
    gone.notes += notes
    gone.unfinished += unfinished


def _at_this_machine(caller: Caller) -> bool:
    """Whether a person at this machine asks, for themselves or, on the command line, for another."""
    return caller.scope.user == LOCAL_USER or (caller.platform != "" and caller.platform in LOCAL_PLATFORMS)


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
