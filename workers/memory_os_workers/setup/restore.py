"""Looking into memory.db without the service, and putting a backup in its place."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memory_os import constants
from memory_os.config import Settings
from memory_os.errors import StoreCorrupt, StoreError, StoreNewer
from memory_os.store import is_damage
from memory_os.store.schema import SCHEMA_VERSION

from memory_os_workers.client import stop_service

# The write-ahead log and its index belong to the file: a log of the damaged one must not be played into the backup.
_SIDE_FILES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place, and where the damaged file went."""

    backup: str
    damaged: str

    @property
    def line(self) -> str:
        return f"memory.db restored from {self.backup}; the damaged file is kept in {self.damaged}"


def database_faults(path: Path) -> list[str]:
    """What is damaged in this file; empty when it is sound. A missing file is sound: it is made at need.

    Raises StoreNewer for a newer memory-os's file, and StoreError for one that can't be read now (busy, mode, disk):
    those are no damage, and nothing may be put in their place.
    """
    if not path.exists():
        return []
    try:
        # Read only: a check must not write to a file that may be damaged.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    except sqlite3.Error as error:
        if is_damage(error):
            return [str(error)]
        cure = "Check its owner and mode and the disk, and that no other program holds it; then try again."
        raise StoreError(f"{path} can't be read now: {error}.", cure=cure) from error
    if version > SCHEMA_VERSION and found == ["ok"]:
        raise StoreNewer(
            f"{path} was written by a newer memory-os (schema {version}, this one knows {SCHEMA_VERSION}).",
            cure="Upgrade memory-os; the file is sound.",
        )
    return [] if found == ["ok"] else found


def is_emptied(settings: Settings) -> bool:
    """Whether memory.db has 0 bytes beside a sound backup: SQLite takes it for a new database, and all would be gone."""
    path = settings.database
    return path.exists() and path.stat().st_size == 0 and next(sound_backups(settings), None) is not None


def sound_backups(settings: Settings) -> Iterator[Path]:
    """Backups of memory.db that pass SQLite's check and hold its tables, newest first."""
    found = sorted(settings.backups_dir.glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True)
    return (path for path in found if _is_sound(path) and _is_ours(path))


def restore_database(settings: Settings) -> Restored:
    """Move a damaged memory.db aside and put the newest sound backup in its place. Raises StoreError.

    A sound memory.db is left alone, and so is one that can't be read now or is a newer memory-os's. Whoever wants an
    older state says so by moving the file away first.
    """
    if settings.database.exists() and not database_faults(settings.database) and not is_emptied(settings):
        raise StoreError(f"{settings.database} is sound; nothing was restored.")
    backup = next(sound_backups(settings), None)
    if backup is None:
        raise StoreCorrupt(
            f"There is no sound backup in {settings.backups_dir}.",
            cure=f"Move {settings.database} away; memory starts empty, and takes what Hermes's state.db still holds.",
        )
    stop_service(settings)
    aside = settings.backups_dir / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1_000_000:06d}"
    try:
        aside.mkdir(parents=True, mode=constants.DIRECTORY_MODE)
        partial = settings.database.with_name(".memory.db.restoring")
        shutil.copyfile(backup, partial)
        partial.chmod(constants.FILE_MODE)
        for path in (settings.database, *(Path(f"{settings.database}{suffix}") for suffix in _SIDE_FILES)):
            if path.exists():
                path.rename(aside / path.name)
        partial.replace(settings.database)
    except OSError as error:
        raise StoreError(f"The backup can't be put in place: {error.strerror}.", cure="Check free disk space.") from error
    return Restored(str(backup), str(aside))


def _is_sound(path: Path) -> bool:
    try:
        return not database_faults(path)
    except StoreError:
        return False


def _is_ours(path: Path) -> bool:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {"passages", "meta"} <= names
