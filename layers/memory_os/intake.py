"""Takes captured records from the spool, oldest first. A record leaves the spool only once it is in memory.db."""

from __future__ import annotations

import json
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_os import constants
from memory_os.errors import BadRequest, StoreError
from memory_os.store import Store, damage, is_damage

_SUFFIX = ".json"
# What somebody waits for is a turn just said; a pasted log of a megabyte takes seconds and can follow.
_QUICK_BYTES = 64 * 1024
# A record holds one turn of at most two messages of a megabyte each.
_RECORD_MAX_BYTES = 16 * 1024 * 1024
# What says that the record is wrong, however often it is tried.
_REFUSED = (BadRequest, UnicodeError, OverflowError, RecursionError, sqlite3.DataError)
# What says that the database or the disk is: the next record would fare no better. The rest are faults of our own code
# (IntegrityError too): a later version may take the record, and those behind it need not wait for that.
_UNAVAILABLE = (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.InternalError, OSError, StoreError, MemoryError)
_RETRY_S, _RETRY_MAX_S = 30.0, 3600.0
# Records of a backlog that share one fsync of the write-ahead log (1-30 ms each).
_BATCH = 64
# Rejected records are kept so long for whoever looks into them; they hold private text.
REJECTED_KEPT_S = 30 * 86_400.0
# A record is written in milliseconds: what is still a part so long after is what a killed host left, private text too.
PART_KEPT_S = 86_400.0


class Intake:
    """`take` gets each record once.

    A record it refuses, or that can't be read, is kept aside in `spool/rejected`. One on which our own code fails stays
    where it is, is passed over, and is tried again after 30 s, 1 min, 2 min … 1 h, and at the next start.
    """

    def __init__(self, folder: Path, store: Store, take: Callable[[dict[str, Any]], object]) -> None:
        self._folder = folder
        self._store = store
        self._take = take
        self._draining = threading.Lock()
        # By name: how often a record failed, and when it is due again on the monotonic clock.
        self._deferred: dict[str, tuple[int, float]] = {}
        # Taken, and in their place until that stands a power cut.
        self._stored: list[Path] = []
        # Set when the service ends: what is still in the spool is taken at the next start.
        self.halted = threading.Event()

    def waiting(self) -> list[Path]:
        """Records not taken yet, oldest first."""
        stored = {*self._stored}
        return [path for path in _records(self._folder) if path not in stored]

    def rejected(self) -> int:
        return len(_records(self._folder / "rejected"))

    def expire(self, now: float) -> int:
        """Delete rejected records a month old, and parts of records a day old. Returns how many."""
        old = self.expired(now)
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def expired(self, now: float) -> list[Path]:
        """What `expire` would delete."""
        rejected = [path for path in _records(self._folder / "rejected") if path.stat().st_mtime < now - REJECTED_KEPT_S]
        return rejected + [path for path in self._folder.glob(".*.json.part") if _age_s(path, now) > PART_KEPT_S]

    def drain(self, wait_s: float = -1, within_s: float | None = None) -> int:
        """Take the records there are, or those that `within_s` allows, whose files leave with the next drain without it: somebody
        waits for them, and not for the disk. Returns how many.

        0 at once when another thread is at it for longer than `wait_s`. What says that the database or the disk can't be
        used (sqlite3.OperationalError, OSError, StoreError …) is raised with the record still in its place.
        """
        if not self._draining.acquire(timeout=wait_s):
            return 0
        try:
            waiting = self.waiting()
            names = {path.name for path in waiting}
            self._deferred = {name: due for name, due in self._deferred.items() if name in names}
            return self._take_all(waiting, within_s)
        finally:
            self._draining.release()

    def _take_all(self, waiting: list[Path], within_s: float | None) -> int:
        """A file goes once its record stands a power cut: what is taken twice counts once, what is lost is lost."""
        taken, started = 0, time.monotonic()
        try:
            for path in waiting:
                if self.halted.is_set():
                    break
                if within_s is not None and time.monotonic() - started > within_s:
                    break
                if self._is_due(path, quick=within_s is not None) and self._take_file(path):
                    taken += 1
                    self._stored.append(path)
                if within_s is None and len(self._stored) >= _BATCH:
                    self._let_go()
        finally:
            if within_s is None:
                self._let_go()
        return taken

    def _let_go(self) -> None:
        try:
            if self._stored:
                self._store.make_durable()
            for path in self._stored:
                path.unlink(missing_ok=True)
        finally:
            self._stored = []

    def _is_due(self, path: Path, *, quick: bool) -> bool:
        if quick and path.lstat().st_size > _QUICK_BYTES:
            return False
        return self._deferred.get(path.name, (0, 0.0))[1] <= time.monotonic()

    def _take_file(self, path: Path) -> int:
        try:
            record = _read(path)
        except FileNotFoundError:
            return 0
        except (BadRequest, ValueError, RecursionError, PermissionError, IsADirectoryError) as error:
            return self._reject(path, error)
        try:
            self._take(record)
        except _REFUSED as error:
            return self._reject(path, error)
        except _UNAVAILABLE:
            raise
        except Exception as error:
            if is_damage(error):
                # No record's fault, and `status` is to say so.
                raise damage(self._store.path, error) from error
            return self._defer(path, error)
        return 1

    def _defer(self, path: Path, error: Exception) -> int:
        failures = self._deferred.get(path.name, (0, 0.0))[0] + 1
        wait_s = min(_RETRY_S * 2.0 ** min(failures - 1, 20), _RETRY_MAX_S)
        self._deferred[path.name] = (failures, time.monotonic() + wait_s)
        self._store.count("spool_faults", reason=f"{path.name}: {type(error).__name__}: {error}")
        return 0

    def _reject(self, path: Path, error: Exception) -> int:
        aside = path.parent / "rejected"
        aside.mkdir(exist_ok=True, mode=constants.DIRECTORY_MODE)
        path.replace(aside / path.name)
        self._store.count("spool_rejected", reason=f"{path.name}: {type(error).__name__}: {error}")
        return 0


def _age_s(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except FileNotFoundError:  # whole by now
        return 0.0


def _records(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX and not path.name.startswith("."))
    except FileNotFoundError:
        return []


def _read(path: Path) -> dict[str, Any]:
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise BadRequest("The record is not a regular file.")
    if found.st_size > _RECORD_MAX_BYTES:
        raise BadRequest(f"The record has {found.st_size} bytes.")
    record = json.loads(path.read_text("utf-8", "surrogatepass"))
    if not isinstance(record, dict):
        raise BadRequest("The record is not an object.")
    return record
