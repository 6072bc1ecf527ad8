"""A damaged memory.db: found out without writing to it, kept aside, replaced by the newest sound backup."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from memory_os.config import Settings
from memory_os.errors import StoreCorrupt, StoreError, StoreNewer
from memory_os.store import open_store
from memory_os_workers.doctor import _database
from memory_os_workers.setup.restore import database_faults, is_emptied, restore_database, sound_backups


def memory(settings: Settings, marker: str) -> None:
    store = open_store(settings.database)
    store.set_meta("marker", marker)
    store.close()


def backup(settings: Settings, name: str, marker: str, age_s: float) -> Path:
    target = settings.backups_dir / name
    store = open_store(settings.database)
    store.set_meta("marker", marker)
    store.backup(target)
    store.close()
    os.utime(target, (target.stat().st_mtime - age_s,) * 2)
    return target


def damage(path: Path) -> bytes:
    data = b"SQLite format 3\x00" + b"\xff" * 8000
    path.write_bytes(data)
    return data


def marker_of(settings: Settings) -> str:
    store = open_store(settings.database)
    try:
        return store.meta("marker")
    finally:
        store.close()


def test_a_sound_or_missing_file_has_no_faults(settings: Settings) -> None:
    assert database_faults(settings.database) == []
    memory(settings, "a")
    assert database_faults(settings.database) == []


@pytest.mark.parametrize("data", [b"SQLite format 3\x00" + b"\xff" * 8000, b"text " * 2000])
def test_damage_is_found_and_not_touched(settings: Settings, data: bytes) -> None:
    settings.home.mkdir()
    settings.database.write_bytes(data)
    assert database_faults(settings.database)
    assert settings.database.read_bytes() == data
    assert [path.name for path in settings.home.iterdir()] == ["memory.db"]


def test_a_newer_schema_is_no_damage_to_restore_over(settings: Settings) -> None:
    memory(settings, "a")
    store = open_store(settings.database)
    with store.write() as db:
        db.execute("PRAGMA user_version = 9999")
    store.close()
    with pytest.raises(StoreNewer, match="newer memory-os"):
        database_faults(settings.database)
    before = settings.database.read_bytes()
    backup_of = settings.backups_dir / "memory-1.db"
    backup_of.parent.mkdir(parents=True, exist_ok=True)
    backup_of.write_bytes(before)
    assert list(sound_backups(settings)) == []
    with pytest.raises(StoreNewer) as refused:
        restore_database(settings)
    assert "Upgrade" in refused.value.cure
    assert settings.database.read_bytes() == before


def test_a_file_that_is_busy_is_no_damage(settings: Settings) -> None:
    backup(settings, "memory-1.db", "old", age_s=10)
    settings.database.unlink()
    with closing(sqlite3.connect(settings.database)) as other:
        other.execute("CREATE TABLE t(x)")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="can't be read now"):
            restore_database(settings)
    assert settings.database.stat().st_size


def test_an_emptied_file_beside_a_backup_is_restored_and_alone_it_is_new(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    settings.database.touch()
    assert not is_emptied(settings)
    settings.database.unlink()
    backup(settings, "memory-1.db", "old", age_s=10)
    settings.database.write_bytes(b"")
    assert is_emptied(settings)
    found = _database(settings)
    assert (found.state, "--restore" in found.cure) == ("warn", True)
    restore_database(settings)
    assert marker_of(settings) == "old"


def test_the_newest_sound_backup_takes_its_place(settings: Settings) -> None:
    backup(settings, "memory-1.db", "old", age_s=300)
    wanted = backup(settings, "memory-2.db", "newer", age_s=200)
    damage(backup(settings, "memory-3.db", "newest", age_s=100))
    other = settings.backups_dir / "other.db"
    other.write_bytes(b"")
    for suffix in ("-wal", "-shm"):
        Path(f"{settings.database}{suffix}").write_bytes(b"a log of the damaged file")
    damaged = damage(settings.database)
    restored = restore_database(settings)
    assert Path(restored.source) == wanted
    assert marker_of(settings) == "newer"
    aside = Path(restored.kept)
    assert (aside / "memory.db").read_bytes() == damaged
    assert (aside / "memory.db-wal").read_bytes() == b"a log of the damaged file"


def test_a_sound_file_is_not_replaced(settings: Settings) -> None:
    backup(settings, "memory-1.db", "old", age_s=10)
    memory(settings, "current")
    with pytest.raises(StoreError, match="sound"):
        restore_database(settings)
    assert marker_of(settings) == "current"


def test_a_lost_file_is_restored(settings: Settings) -> None:
    backup(settings, "memory-1.db", "old", age_s=10)
    settings.database.unlink()
    restore_database(settings)
    assert marker_of(settings) == "old"


def test_without_a_sound_backup_nothing_moves(settings: Settings) -> None:
    settings.home.mkdir()
    damaged = damage(settings.database)
    assert list(sound_backups(settings)) == []
    with pytest.raises(StoreCorrupt, match="no sound backup"):
        restore_database(settings)
    assert settings.database.read_bytes() == damaged
