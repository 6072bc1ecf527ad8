"""Looking into memory.db without the service, and putting a backup in its place."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memory_os import constants
from memory_os.config import Settings
from memory_os.errors import StoreCorrupt, StoreError, StoreNewer
from memory_os.maintenance.full_backup import DATABASE, sets
from memory_os.maintenance.restore import Restored, plan, put_back
from memory_os.store import is_damage
from memory_os.store.schema import SCHEMA_VERSION

from memory_os_workers.client import stop_service
from memory_os_workers.run_files import InstanceLock


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
    copies = [*settings.backups_dir.glob("*.db"), *(one / DATABASE for one in sets(settings.backups_dir))]
    found = sorted((one for one in copies if one.is_file()), key=lambda path: path.stat().st_mtime, reverse=True)
    return (path for path in found if _is_sound(path) and _is_ours(path))


def restore_database(settings: Settings) -> Restored:
    """Put the newest sound copy in the place of a damaged, emptied or lost memory.db. Raises StoreError.

    A sound memory.db is left alone, and so is one that can't be read now or is a newer memory-os's. Whoever wants an
    older state names it: `restore_backup`.
    """
    if settings.database.exists() and not database_faults(settings.database) and not is_emptied(settings):
        raise StoreError(
            f"{settings.database} is sound; nothing was restored.", cure="For an older state: `memory-os restore PATH`."
        )
    backup = next(sound_backups(settings), None)
    if backup is None:
        raise StoreCorrupt(
            f"There is no sound backup in {settings.backups_dir}.",
            cure=f"Move {settings.database} away; memory starts empty, and takes what Hermes's state.db still holds.",
        )
    return restore_backup(settings, backup)


def restore_backup(settings: Settings, path: Path) -> Restored:
    """Stop the service, put this backup back, keep what it replaces. Raises BackupError, StoreError, ServiceError."""
    wanted = plan(settings, path)
    if settings.database.exists() and not is_emptied(settings):
        # A newer memory-os's file, or one that another program holds, is not to be replaced: this raises.
        database_faults(settings.database)
    stop_service(settings)
    # Held until all is in place: a turn that begins meanwhile must not start a service on half of it.
    settings.run_dir.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
    lock = InstanceLock(settings)
    lock.acquire()
    try:
        return put_back(settings, wanted, time.time())
    except OSError as error:
        raise StoreError(f"The backup can't be put in place: {error.strerror}.", cure="Check free disk space.") from error
    finally:
        lock.release()


def _is_sound(path: Path) -> bool:
    try:
        return not database_faults(path)
    except StoreError:
        return False


def _is_ours(path: Path) -> bool:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {"passages", "meta"} <= names
