"""The spool: each record once, none lost, none that blocks those behind it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os.capture import Capture
from memory_os.config import load_settings
from memory_os.errors import BadRequest, StoreCorrupt, StoreError
from memory_os.facts import Facts
from memory_os.facts.schema import facts as facts_migrations
from memory_os.index import Index
from memory_os.intake import Intake
from memory_os.sessions import Sessions
from memory_os.sessions.schema import sessions as sessions_migrations
from memory_os.store import Store, open_store


class Spool:
    """A spool folder and what was taken from it."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "spool"
        self.folder.mkdir()
        self.store = open_store(home / "memory.db")
        self.taken: list[Any] = []
        self.intake = Intake(self.folder, self.store, self.taken.append)

    def put(self, number: int, record: Any = None, raw: bytes | None = None) -> Path:
        path = self.folder / f"{number:020}-abcdef01.json"
        path.write_bytes(json.dumps({"n": number} if record is None else record).encode() if raw is None else raw)
        return path

    def rejected(self) -> list[str]:
        aside = self.folder / "rejected"
        return sorted(path.name for path in aside.iterdir()) if aside.exists() else []

    def counted(self) -> tuple[int, str]:
        row = self.store.row("SELECT value, last_reason FROM counters WHERE name = 'spool_rejected'")
        return (0, "") if row is None else (row["value"], row["last_reason"])


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path)
    yield made
    made.store.close()


def test_records_are_taken_oldest_first_and_leave(spool: Spool) -> None:
    for number in (3, 1, 2):
        spool.put(number)
    assert spool.intake.drain() == 3
    assert [record["n"] for record in spool.taken] == [1, 2, 3]
    assert spool.intake.waiting() == []


def test_what_is_being_written_is_left_alone(spool: Spool) -> None:
    (spool.folder / ".00000000000000000001-abcdef01.json").write_text("{")
    (spool.folder / "note.txt").write_text("{")
    assert spool.intake.drain() == 0
    assert spool.rejected() == []


def test_a_spool_that_was_never_made_is_empty(tmp_path: Path) -> None:
    store = open_store(tmp_path / "memory.db")
    intake = Intake(tmp_path / "none", store, print)
    assert (intake.drain(), intake.waiting(), intake.rejected()) == (0, [], 0)
    store.close()


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1]", b'"text"', b"null", b"\xff\xfe", b"NaN", b"[" * 100_000, b"1" + b"0" * 5000]
)
def test_a_malformed_record_goes_aside_and_is_counted(spool: Spool, raw: bytes) -> None:
    path = spool.put(1, raw=raw)
    spool.put(2)
    assert spool.intake.drain() == 1
    assert [record["n"] for record in spool.taken] == [2]
    assert spool.rejected() == [path.name]
    assert spool.intake.rejected() == 1
    assert spool.counted()[0] == 1
    assert spool.counted()[1].startswith(path.name)
    assert spool.intake.drain() == 0


def test_a_record_of_an_absurd_size_goes_aside_unread(spool: Spool) -> None:
    path = spool.put(1, raw=b"")
    with path.open("wb") as stream:
        stream.truncate(64 * 1024 * 1024)
    assert spool.intake.drain() == 0
    assert spool.rejected() == [path.name]


def test_a_folder_of_that_name_does_not_block_the_rest(spool: Spool) -> None:
    (spool.folder / "00000000000000000000-abcdef01.json").mkdir()
    spool.put(2)
    assert spool.intake.drain() == 1


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("no"), UnicodeDecodeError("utf-8", b"", 0, 0, "no"), OverflowError("no"), RecursionError("no"),
        sqlite3.DataError("no"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_record_sets_it_aside(spool: Spool, error: Exception) -> None:
    def refuse(record: Any) -> None:
        raise error

    intake = Intake(spool.folder, spool.store, refuse)
    path = spool.put(1)
    assert intake.drain() == 0
    assert spool.rejected() == [path.name]
    assert f"{type(error).__name__}: " in spool.counted()[1]


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), TypeError("no"), KeyError("no"), AttributeError("no"), IndexError("no"), sqlite3.IntegrityError("no")],
)
def test_a_fault_of_our_own_leaves_the_record_and_blocks_none(
    spool: Spool, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os.intake._RETRY_S", 0.2)
    tries: list[float] = []

    def take(record: Any) -> None:
        if record["n"] == 1:
            tries.append(time.monotonic())
            if len(tries) < 3:
                raise error
        spool.taken.append(record["n"])

    intake = Intake(spool.folder, spool.store, take)
    path = spool.put(1)
    spool.put(2)
    assert intake.drain() == 1
    assert (intake.drain(), intake.waiting(), intake.rejected()) == (0, [path], 0)
    while intake.waiting():
        intake.drain()
        time.sleep(0.01)
    assert spool.taken == [2, 1]
    assert tries[1] - tries[0] >= 0.2
    assert tries[2] - tries[1] >= 0.4
    row = spool.store.row("SELECT value, last_reason FROM counters WHERE name = 'spool_faults'")
    assert row is not None
    assert (row["value"], row["last_reason"]) == (2, f"{path.name}: {type(error).__name__}: {error}")


def test_rejected_records_leave_after_a_month(spool: Spool) -> None:
    for number in (1, 2):
        spool.put(number, raw=b"{")
    spool.intake.drain()
    old, young = sorted((spool.folder / "rejected").iterdir())
    now = time.time()
    os.utime(old, (now - 31 * 86_400,) * 2)
    assert spool.intake.expire(now) == 1
    assert list((spool.folder / "rejected").iterdir()) == [young]


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("database or disk is full"), OSError(28, "no space left"), StoreError("closed")]
)
def test_what_is_wrong_with_the_database_leaves_the_record_in_place(spool: Spool, error: Exception) -> None:
    faults = [error]

    def take(record: Any) -> None:
        if faults:
            raise faults.pop()
        spool.taken.append(record)

    intake = Intake(spool.folder, spool.store, take)
    spool.put(1)
    spool.put(2)
    with pytest.raises(type(error)):
        intake.drain()
    assert len(intake.waiting()) == 2
    assert spool.rejected() == []
    assert intake.drain() == 2, "a lock was given back, and both are taken now"


def test_a_full_disk_loses_nothing(spool: Spool) -> None:
    """The real thing: the database may grow no more."""

    def take(record: Any) -> None:
        spool.store.set_meta(str(record["n"]), "x" * 400_000)

    intake = Intake(spool.folder, spool.store, take)
    for number in range(3):
        spool.put(number)
    spool.store._writer.execute(f"PRAGMA max_page_count={spool.store.value('PRAGMA page_count') + 20}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        intake.drain()
    assert len(intake.waiting()) == 3
    spool.store._writer.execute("PRAGMA max_page_count=1000000")
    assert intake.drain() == 3
    assert [len(spool.store.meta(str(number))) for number in range(3)] == [400_000] * 3


def test_two_threads_take_each_record_once(spool: Spool) -> None:
    for number in range(120):
        spool.put(number)
    with ThreadPoolExecutor(4) as pool:
        taken = sum(pool.map(lambda _: spool.intake.drain(), range(4)))
    assert taken == 120
    assert [record["n"] for record in spool.taken] == list(range(120))


def test_who_will_not_wait_gets_nothing(spool: Spool) -> None:
    entered, release = threading.Event(), threading.Event()

    def slow(record: Any) -> None:
        entered.set()
        release.wait(30)

    intake = Intake(spool.folder, spool.store, slow)
    spool.put(1)
    thread = threading.Thread(target=intake.drain)
    thread.start()
    assert entered.wait(30)
    assert intake.drain(wait_s=0.01) == 0
    release.set()
    thread.join()
    assert intake.waiting() == []


def test_a_turn_takes_only_what_its_time_allows(spool: Spool) -> None:
    intake = Intake(spool.folder, spool.store, lambda record: time.sleep(0.05))
    for number in range(40):
        spool.put(number)
    taken = intake.drain(within_s=0.1)
    assert 1 <= taken < 40
    assert len(intake.waiting()) == 40 - taken


def test_a_turn_waits_for_no_disk_and_what_it_took_leaves_the_spool_with_the_next_drain(spool: Spool) -> None:
    path = spool.put(1)
    assert spool.intake.drain(within_s=5.0) == 1
    assert path.exists() and spool.intake.waiting() == [], "taken, and there for a start after a power cut"
    assert spool.intake.drain(within_s=5.0) == spool.intake.drain() == 0
    assert not path.exists()
    assert len(spool.taken) == 1


def test_a_stopping_service_leaves_the_rest_for_the_next(spool: Spool) -> None:
    spool.put(1)
    spool.intake.halted.set()
    assert spool.intake.drain() == 0
    assert len(spool.intake.waiting()) == 1


# -- with what really takes records --------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=12) | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.fixed_dictionaries(
    {"v": st.just(1), "type": st.sampled_from(["turn", "memory_write", "missed"])},
    optional={
        **dict.fromkeys(
            ("turn_id", "session_id", "parent_session_id", "platform", "user", "profile", "project", "model", "at", "user_message",
             "assistant_response", "content", "old_text", "reason", "milliseconds"), JSON),
        "action": st.sampled_from(["add", "replace", "remove"]) | JSON,
        "target": st.sampled_from(["memory", "user"]) | JSON,
        "what": st.sampled_from(["recall", "tool"]) | JSON,
    },
)  # fmt: skip


@pytest.fixture
def real(tmp_path: Path) -> Iterator[tuple[Intake, Store]]:
    settings = load_settings({}, hermes_home=tmp_path)
    store = open_store(settings.database, [sessions_migrations, facts_migrations])
    index = Index(store, "test")
    facts = Facts(store, index, settings)
    settings.spool_dir.mkdir(parents=True)
    yield Intake(settings.spool_dir, store, Capture(store, Sessions(store, index, settings), facts, settings).take), store
    store.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(RECORDS)
def test_no_record_blocks_the_spool(real: tuple[Intake, Store], record: dict[str, Any]) -> None:
    intake, _ = real
    (intake._folder / "00000000000000000001-abcdef01.json").write_text(json.dumps(record), "utf-8")
    intake.drain()
    assert intake.waiting() == []


def test_a_turn_with_half_a_character_is_kept(real: tuple[Intake, Store]) -> None:
    intake, store = real
    record = {
        "v": 1, "type": "turn", "turn_id": "t\udcff", "session_id": "s", "platform": "cli", "user": "local", "profile": "default",
        "at": 1_790_000_000.0, "user_message": "The port is 8443 \ud83d", "assistant_response": "Noted.",
    }  # fmt: skip
    (intake._folder / "00000000000000000001-abcdef01.json").write_text(json.dumps(record), "utf-8")
    assert intake.drain() == 1
    assert "8443" in store.value("SELECT text FROM messages WHERE role = 'user'")


def test_what_is_no_regular_file_is_kept_aside_unread(spool: Spool) -> None:
    """A link to an endless device would be read for ever."""
    (spool.folder / "00000000000000000001-0000000a.json").symlink_to("/dev/zero")
    assert spool.intake.drain() == 0
    assert spool.intake.waiting() == []
    assert len(spool.rejected()) == 1


def test_a_recall_does_not_wait_for_a_large_record(spool: Spool) -> None:
    large = spool.put(1, {"n": 1, "text": "x" * 200_000})
    spool.put(2)
    assert spool.intake.drain(within_s=5.0) == 1
    assert spool.intake.waiting() == [large]
    assert spool.intake.drain() == 1


def test_records_taken_into_a_file_that_is_gone_stay(spool: Spool) -> None:
    spool.put(1)
    (spool.folder.parent / "memory.db").rename(spool.folder.parent / "aside.db")
    with pytest.raises(StoreError, match="deleted or replaced"):
        spool.intake.drain()
    assert len(spool.intake.waiting()) == 1
    (spool.folder.parent / "aside.db").rename(spool.folder.parent / "memory.db")
    assert spool.intake.drain() == 1
    assert not spool.intake.waiting()


def test_a_damaged_database_is_no_records_fault(spool: Spool) -> None:
    def take(record: dict[str, Any]) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    spool.put(1)
    intake = Intake(spool.folder, spool.store, take)
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="is damaged"):
            intake.drain()
    assert len(intake.waiting()) == 1
