"""memory.db: one writer, many readers, typed faults, and a file that is never touched when it can't be used."""

from __future__ import annotations

import sqlite3
import stat
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from memory_os.errors import StoreCorrupt, StoreError, StoreNewer
from memory_os.store import Store, open_store
from memory_os.store.migrations import Migrations
from memory_os.store.schema import SCHEMA_VERSION
from sqlite_utils import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path)
    yield opened
    opened.close()


def counters(store: Store) -> dict[str, tuple[int, str]]:
    return {row["name"]: (row["value"], row["last_reason"]) for row in store.rows("SELECT * FROM counters")}


# -- opening -------------------------------------------------------------------------------------------------------


def test_all_its_files_are_the_owners_alone(store: Store, path: Path) -> None:
    store.count("something")
    files = sorted(path.parent.iterdir())
    assert {file.name for file in files} >= {"memory.db", "memory.db-wal", "memory.db-shm"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_opening_again_keeps_what_was_written(store: Store, path: Path) -> None:
    store.set_meta("key", "値")
    store.close()
    again = open_store(path)
    assert again.meta("key") == "値"
    assert again.check() == []
    again.close()


@pytest.mark.parametrize("content", [b"This is not a database. " * 50, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    before = path.stat().st_mtime_ns
    with pytest.raises(StoreCorrupt, match=r"damaged.*left as it is") as caught:
        open_store(path)
    assert "doctor" in caught.value.cure
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, before)
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_a_file_cut_in_half_is_refused_and_left_as_it_is(store: Store, path: Path) -> None:
    with store.write() as db:
        db.executemany("INSERT INTO meta VALUES(?, ?)", [(str(number), "x" * 500) for number in range(2000)])
    store.close()
    content = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        open_store(path).check()
    assert path.read_bytes() == content


def test_a_newer_file_is_refused_before_anything_is_applied(path: Path) -> None:
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE passages(other INTEGER)")
    database.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    database.commit()
    with pytest.raises(StoreNewer, match=f"schema {SCHEMA_VERSION + 1}, this one knows {SCHEMA_VERSION}") as caught:
        open_store(path)
    assert "Upgrade memory-os" in caught.value.cure
    assert [row[0] for row in database.execute("SELECT name FROM sqlite_master")] == ["passages"]
    database.close()


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        open_store(tmp_path / "file" / "memory.db")


def test_layers_bring_their_own_tables_once(path: Path) -> None:
    layer = Migrations("layer")
    applied: list[int] = []

    @layer()
    def m001(db: Database) -> None:
        applied.append(1)
        db["things"].create({"id": int})

    open_store(path, [layer]).close()
    store = open_store(path, [layer])
    assert applied == [1]
    assert store.rows("SELECT * FROM things") == []
    store.close()


# -- transactions --------------------------------------------------------------------------------------------------


def test_an_error_takes_back_the_whole_transaction_with_what_is_nested(store: Store) -> None:
    def half() -> None:
        with store.write():
            store.set_meta("outer", "1")
            store.count("inner")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        half()
    assert store.meta("outer", "none") == "none"
    assert counters(store) == {}
    store.set_meta("after", "1")
    assert store.meta("after") == "1"


def test_readers_see_only_what_is_committed(store: Store) -> None:
    with store.write() as db:
        db.execute("INSERT INTO meta VALUES('a', '1')")
        assert store.meta("a", "none") == "none"
        assert db.execute("SELECT value FROM meta").fetchone()[0] == "1"
    assert store.meta("a") == "1"


def test_a_read_connection_can_not_write(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store.rows("INSERT INTO meta VALUES('a', '1')")


def test_many_threads_lose_no_count(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.count("ticks"), range(200)))
        seen = set(pool.map(lambda _: store.value("SELECT value FROM counters"), range(20)))
    assert seen == {200}


def test_a_counter_keeps_its_last_reason(store: Store) -> None:
    store.count("faults", reason="first")
    store.count("faults", 2, reason="x" * 1000)
    assert counters(store) == {"faults": (3, "x" * 300)}


def test_after_close_nothing_answers(store: Store) -> None:
    store.close()
    store.close()
    errors: list[Exception] = []

    def read() -> None:
        try:
            store.rows("SELECT 1")
        except (StoreError, sqlite3.Error) as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert isinstance(errors[0], StoreError)
    with pytest.raises(sqlite3.ProgrammingError), store.write():
        pass


# -- backup --------------------------------------------------------------------------------------------------------


def test_a_backup_taken_while_open_restores(store: Store, path: Path) -> None:
    store.set_meta("key", "kept")
    target = path.parent / "backups" / "memory-1.db"
    store.backup(target)
    store.set_meta("key", "changed")
    store.close()
    for file in path.parent.glob("memory.db*"):
        file.unlink()
    target.replace(path)
    restored = open_store(path)
    assert restored.meta("key") == "kept"
    restored.set_meta("key", "goes on")
    assert restored.check() == []
    restored.close()


def test_a_snapshot_is_of_one_moment_and_so_is_a_backup_made_in_it(store: Store, path: Path) -> None:
    store.set_meta("key", "then")
    with store.snapshot():
        store.set_meta("key", "now")
        assert store.meta("key") == "then"
        store.backup(path.parent / "then.db")
    assert store.meta("key") == "now"
    with closing(sqlite3.connect(path.parent / "then.db")) as copy:
        assert copy.execute("SELECT value FROM meta WHERE key = 'key'").fetchone() == ("then",)
    with pytest.raises(ValueError, match="fails inside"), store.snapshot():
        raise ValueError("fails inside")
    assert store.checkpoint(), "no reader holds on to it"


def test_a_backup_is_the_owners_alone_and_leaves_nothing_partial(store: Store, path: Path) -> None:
    target = path.parent / "backups" / "memory-1.db"
    target.parent.mkdir()
    target.with_suffix(".partial").write_bytes(b"an earlier try that was killed")
    store.backup(target)
    assert [file.name for file in target.parent.iterdir()] == ["memory-1.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_an_unsound_database_is_not_backed_up_over_a_good_copy(store: Store, path: Path) -> None:
    target = path.parent / "backups" / "memory-1.db"
    with store.write() as db:
        db.executemany("INSERT INTO meta VALUES(?, ?)", [(str(number), "x" * 500) for number in range(2000)])
    store.close()
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 2 // 4096 * 4096, len(content) - 8192, 4096):  # pages of the table, none of the schema
        content[at : at + 2048] = b"\xff" * 2048
    path.write_bytes(content)
    damaged = open_store(path)
    with pytest.raises((StoreError, sqlite3.DatabaseError)):
        damaged.backup(target)
    damaged.close()
    assert list(target.parent.iterdir()) == []


def test_a_backup_that_fails_leaves_nothing_readable(store: Store, path: Path) -> None:
    store.set_meta("key", "private")
    target = path.parent / "backups" / "memory-1.db"
    target.mkdir(parents=True)  # a folder in its place: the copy is made, and can't be put there
    (target.parent / "memory-0.partial").write_bytes(b"an earlier try that was killed")
    for _ in range(3):
        with pytest.raises(OSError):
            store.backup(target)
    assert list(target.parent.iterdir()) == [target]


def test_the_log_is_emptied_unless_a_reader_holds_it(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()
        store.set_meta("key", "kept")
        assert not store.checkpoint()
        reader.execute("COMMIT")
        assert store.checkpoint()
    assert path.with_name(f"{path.name}-wal").stat().st_size == 0


def test_a_memory_is_one_home_for_good(store: Store, path: Path, tmp_path: Path) -> None:
    """Made once, kept by a restart and by a backup; another memory has another."""
    first = store.home_id
    assert first == str(uuid.UUID(first))
    store.backup(tmp_path / "copy.db")
    store.close()
    for kept in (path, tmp_path / "copy.db"):
        again = open_store(kept)
        assert again.home_id == first
        again.close()
    other = open_store(tmp_path / "other.db")
    assert other.home_id != first
    other.close()


def test_a_file_deleted_or_replaced_under_the_store_is_noticed_and_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.set_meta("said", "before")
    assert store.in_place()
    store.make_durable()
    path.rename(tmp_path / "aside.db")
    assert not store.in_place()
    for use in (store.make_durable, store.checkpoint):
        with pytest.raises(StoreError, match="deleted or replaced"):
            use()
    with ThreadPoolExecutor(1) as another, pytest.raises(StoreError, match="deleted or replaced"):
        another.submit(store.meta, "said").result()
    assert not path.exists()
    store.close()


def test_what_took_the_files_place_does_not_get_its_log(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.set_meta("said", "in the copy")
    store.backup(tmp_path / "copy.db")
    store.set_meta("said", "later")
    (tmp_path / "copy.db").replace(path)
    store.close()
    again = open_store(path)
    assert again.meta("said") == "in the copy"
    assert again.check() == []
    again.close()


def test_a_log_deleted_under_the_store_is_noticed_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.set_meta("said", "before")
    (tmp_path / "memory.db-wal").unlink()
    assert not store.in_place()
    store.close()
    again = open_store(path)
    assert again.meta("said") == "before"
    again.close()
