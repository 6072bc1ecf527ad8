"""memory.db: the one file that holds the truth. One writer at a time, readers beside it (WAL).

Only the service opens it for writing. Each layer brings its own migrations; `Store.migrate` applies what is new.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from memory_os import constants
from memory_os.errors import StoreCorrupt, StoreError, StoreNewer
from memory_os.store.migrations import Migrations
from memory_os.store.schema import SCHEMA_VERSION, base

__all__ = ["Row", "Store", "damage", "is_damage", "open_store", "sweep_partials"]

Row = sqlite3.Row

# A writer holds the database for milliseconds; a reader that waits longer than this has met a fault.
BUSY_TIMEOUT_S = 5.0
# A reader's statement takes milliseconds; the log is emptied between two of them.
_CHECKPOINT_TRIES = 4
_CHECKPOINT_WAIT_S = 0.25
_PARTIAL = ".partial"


class Store:
    """Connections to memory.db: one for writing behind a lock, one for reading per thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        # Held while a backup is made, and while forgetting renews them: none that runs keeps what is being forgotten.
        self.backing_up = threading.RLock()
        self._depth = 0
        self._readers: list[sqlite3.Connection] = []
        self._local = threading.local()
        self._closed = False
        self._home_id = ""
        self._writer = _connect(path)
        # Which file and which write-ahead log the connections hold: (device, inode). The log is made by the first read.
        self._file, self._log = _identity(path), _identity(_log_of(path))

    def migrate(self, *migrations: Migrations) -> None:
        """Apply each set's new migrations, in order. Raises StoreNewer for a file of a later version."""
        with self._lock:
            # Before anything is applied: a newer file's tables are not ours to add to.
            (version,) = self._writer.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                raise StoreNewer(
                    f"{self.path} was written by a newer memory-os (schema {version}, this one knows {SCHEMA_VERSION}).",
                    cure="Upgrade memory-os, or point MEMORY_OS_HOME at another folder.",
                )
            base.apply(self._writer)
            self._writer.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            for one in migrations:
                one.apply(self._writer)
            self._log = _identity(_log_of(self.path))

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction. Nested calls join the outer one; an exception rolls all of it back."""
        with self._lock:
            if self._depth:
                yield self._writer
                return
            self._depth = 1
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    def rows(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
        """All rows of a SELECT, on this thread's own read connection."""
        return self._reader().execute(sql, values).fetchall()

    def tuples(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """The same as plain tuples, fetched as they are wanted; whoever asks closes the cursor."""
        cursor = self._reader().cursor()
        cursor.row_factory = None
        return cursor.execute(sql, values)

    def row(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Row | None:
        """The first row of a SELECT, or None."""
        found: Row | None = self._reader().execute(sql, values).fetchone()
        return found

    def value(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Any:
        """The first column of the first row, or None."""
        found = self.row(sql, values)
        return None if found is None else found[0]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that this thread reads, and a `backup` it makes, is of one moment. What it writes it doesn't see meanwhile."""
        reader = self._reader()
        reader.execute("BEGIN")
        try:
            # SQLite takes its moment at the first read.
            reader.execute("SELECT 1 FROM meta").fetchone()
            yield
        finally:
            reader.execute("ROLLBACK")

    def count(self, name: str, by: int = 1, *, reason: str = "") -> None:
        """Move a named counter; `memory-os status` shows it with the last reason."""
        with self.write() as db:
            db.execute(
                "INSERT INTO counters(name, value, last_at, last_reason) VALUES(?, ?, ?, ?)"
                " ON CONFLICT(name) DO UPDATE SET value = value + excluded.value, last_at = excluded.last_at,"
                " last_reason = excluded.last_reason",
                (name, by, time.time(), reason[:300]),
            )

    def meta(self, key: str, default: str = "") -> str:
        found = self.value("SELECT value FROM meta WHERE key = ?", (key,))
        return default if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        with self.write() as db:
            db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (key, value))

    @property
    def home_id(self) -> str:
        """Who this memory is where several share a server: a UUID made once, and kept with the file wherever it moves."""
        if not self._home_id:
            with self.write() as db:
                db.execute("INSERT OR IGNORE INTO meta(key, value) VALUES('home_id', ?)", (str(uuid.uuid4()),))
            self._home_id = self.meta("home_id")
        return self._home_id

    def in_place(self) -> bool:
        """Whether the path still names the file, and beside it the log, that this store has open.

        Deleted or replaced under it, they go on taking all that is written, and nobody ever reads it again.
        """
        return _identity(self.path) == self._file and _identity(_log_of(self.path)) == self._log

    def check_in_place(self) -> None:
        """Raises StoreError if it is not: what waits must go on waiting, and nothing may be opened by the path."""
        if not self.in_place():
            raise StoreError(
                f"{self.path} or its log was deleted or replaced while it was in use.",
                cure="The service ends by itself; the next start opens what is there. `memory-os restore PATH` puts a backup back.",
            )

    def make_durable(self) -> None:
        """What is committed stands after a power cut, too: WAL alone promises that at its next checkpoint only.

        Raises StoreError if what was committed stands where nobody will look, OSError if the disk refuses.
        """
        self.check_in_place()
        descriptor = os.open(_log_of(self.path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def check(self) -> list[str]:
        """SQLite's own findings; empty when the file is sound."""
        found = [str(row[0]) for row in self.rows("PRAGMA quick_check(5)")]
        return [] if found == ["ok"] else found

    def backup(self, target: Path) -> None:
        """An online copy, verified; complete or absent. Raises StoreError when the copy isn't sound."""
        target.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        with self.backing_up:
            sweep_partials(target.parent)
            partial = target.with_suffix(_PARTIAL)
            try:
                partial.touch(constants.FILE_MODE)
                self._copy_to(partial)
                partial.replace(target)
            finally:
                # A copy that failed holds everything that is private, in a file nobody would look for.
                sweep_partials(target.parent)

    def _copy_to(self, partial: Path) -> None:
        with closing(sqlite3.connect(partial)) as copy:
            self._reader().backup(copy)
            (finding,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreError(f"A copy of {self.path} is not sound: {finding}.", cure="Run `memory-os doctor`.")

    def vacuum(self) -> None:
        """Write the file anew: deleted words also leave the unused space inside pages that are still in use.

        Needs as much free disk as the file has, and holds writers up for about a second per 100 MB. Raises sqlite3.Error.
        """
        with self._lock:
            self._writer.execute("VACUUM")

    def checkpoint(self) -> bool:
        """Bring the write-ahead log into the file and empty it. False: a reader held on to it for too long."""
        self.check_in_place()
        for _ in range(_CHECKPOINT_TRIES):
            with closing(sqlite3.connect(self.path, timeout=_CHECKPOINT_WAIT_S)) as connection:
                (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return True
            time.sleep(_CHECKPOINT_WAIT_S)
        return False

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            replaced = self.path.exists() and _identity(self.path) != self._file
            for connection in self._readers:
                connection.close()
            self._writer.close()
            if replaced and _identity(_log_of(self.path)) == self._log:
                # SQLite would write our log into the file that took our file's place, and damage it.
                for suffix in ("-wal", "-shm"):
                    Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            if self._closed:
                raise StoreError(f"{self.path} is closed.")
            self.check_in_place()
            connection = _connect(self.path)
            connection.execute("PRAGMA query_only=ON")
            self._local.connection = connection
            with self._lock:
                self._readers.append(connection)
        return connection


def sweep_partials(folder: Path) -> None:
    """Delete what backups that failed or were killed left in a folder. The caller holds `Store.backing_up`."""
    for path in folder.glob(f"*{_PARTIAL}*"):
        path.unlink(missing_ok=True)


def open_store(path: Path, migrations: Iterable[Migrations] = ()) -> Store:
    """Open or create memory.db. Raises StoreCorrupt, StoreNewer or StoreError; never moves or repairs the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        # SQLite gives its -wal and -shm files the mode that the database has when they are made.
        if not path.exists():
            path.touch(constants.FILE_MODE)
        store = Store(path)
    except sqlite3.DatabaseError as error:
        raise _typed(path, error) from error
    except OSError as error:
        raise StoreError(f"{path.parent} can't be used: {error.strerror}.", cure="Check its owner and mode.") from error
    try:
        store.migrate(*migrations)
        path.chmod(constants.FILE_MODE)
    except sqlite3.DatabaseError as error:
        store.close()
        raise _typed(path, error) from error
    except StoreError:
        store.close()
        raise
    return store


def is_damage(error: BaseException) -> bool:
    """Whether SQLite says that the file is damaged or no database, not that it is busy, full, or out of reach."""
    code = getattr(error, "sqlite_errorcode", None) if isinstance(error, sqlite3.Error) else None
    # The low byte is the kind, what stands above it says where.
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def damage(path: Path, error: BaseException) -> StoreCorrupt:
    """The typed error for damage met in memory.db."""
    return StoreCorrupt(
        f"{path} is damaged ({error}); it was left as it is.", cure="`memory-os doctor` offers the newest backup."
    )


def _log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _typed(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    if is_damage(error):
        return damage(path, error)
    return StoreError(f"{path} can't be opened: {error}.", cure="Check free disk space, its owner and its mode.")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        # NORMAL in WAL: an application crash loses nothing; the spool holds what a power cut could take.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
        # Whatever the library was built with: words that go leave no readable bytes behind.
        connection.execute("PRAGMA secure_delete=ON")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
