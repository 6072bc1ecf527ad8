"""Takes captured records from the spool, oldest first. A record leaves the spool only once it is in memory.db."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_os import constants
from memory_os.errors import BadRequest
from memory_os.store import Store

_SUFFIX = ".json"
# A record holds one turn of at most two messages of a megabyte each.
_RECORD_MAX_BYTES = 16 * 1024 * 1024
# What says that the record is wrong, however often it is tried. Anything else says that the database or the disk is.
_REFUSED = (
    BadRequest, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError,
)  # fmt: skip


class Intake:
    """`take` gets each record once; a record it refuses, or that can't be read, is kept aside in `spool/rejected`."""

    def __init__(self, folder: Path, store: Store, take: Callable[[dict[str, Any]], object]) -> None:
        self._folder = folder
        self._store = store
        self._take = take
        self._draining = threading.Lock()
        # Set when the service ends: what is still in the spool is taken at the next start.
        self.halted = threading.Event()

    def waiting(self) -> list[Path]:
        """Records not taken yet, oldest first."""
        return _records(self._folder)

    def rejected(self) -> int:
        return len(_records(self._folder / "rejected"))

    def drain(self, wait_s: float = -1, within_s: float | None = None) -> int:
        """Take the records there are, or those that `within_s` allows. Returns how many.

        0 at once when another thread is at it for longer than `wait_s`. sqlite3.Error, OSError and StoreError (disk full,
        database gone) are raised with the record still in its place.
        """
        if not self._draining.acquire(timeout=wait_s):
            return 0
        try:
            taken, started = 0, time.monotonic()
            for path in self.waiting():
                if self.halted.is_set():
                    break
                if within_s is not None and time.monotonic() - started > within_s:
                    break
                taken += self._take_file(path)
            return taken
        finally:
            self._draining.release()

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
        path.unlink(missing_ok=True)
        return 1

    def _reject(self, path: Path, error: Exception) -> int:
        aside = path.parent / "rejected"
        aside.mkdir(exist_ok=True, mode=constants.DIRECTORY_MODE)
        path.replace(aside / path.name)
        self._store.count("spool_rejected", reason=f"{path.name}: {type(error).__name__}: {error}")
        return 0


def _records(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX and not path.name.startswith("."))
    except FileNotFoundError:
        return []


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _RECORD_MAX_BYTES:
        raise BadRequest(f"The record has {path.stat().st_size} bytes.")
    record = json.loads(path.read_text("utf-8", "surrogatepass"))
    if not isinstance(record, dict):
        raise BadRequest("The record is not an object.")
    return record
