"""Which status and which words a failed request gets."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from memory_os import errors
from memory_os.config import load_settings
from memory_os.errors import BadRequest, MemoryOSError, ServiceUnavailable, StoreError
from memory_os_workers.answers import body, failure
from memory_os_workers.client import error_of
from memory_os_workers.jobs import retries
from memory_os_workers.service import Service


@pytest.mark.parametrize(
    ("error", "status", "code", "counted"),
    [
        (BadRequest("no", cure="yes"), 400, "bad_request", 0),
        (StoreError("no"), 400, "store", 0),
        (ServiceUnavailable("later"), 503, "service_unavailable", 0),
        (sqlite3.OperationalError("database or disk is full"), 507, "store", 1),
        (OSError(errno.ENOSPC, "No space left on device"), 507, "store", 1),
        (ZeroDivisionError("secret insides"), 500, "internal", 1),
    ],
)
def test_each_kind_of_error_has_its_answer(
    tmp_path: Path, error: Exception, status: int, code: str, counted: int
) -> None:
    async def ask() -> None:
        service = Service(load_settings({"HERMES_HOME": str(tmp_path)}))
        found, answer = failure(service, error, "POST /v1/x")
        assert (found, answer["code"]) == (status, code)
        assert "secret" not in str(answer)
        assert service.errors == counted

    asyncio.run(ask())


def test_a_database_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    """A worker's job meets it as a transient fault, not as one of ours."""
    path = tmp_path / "busy.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        closing(sqlite3.connect(path, timeout=0)) as other,
    ):
        holder.execute("CREATE TABLE t(a)")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as busy:
            other.execute("INSERT INTO t VALUES(1)")
        holder.execute("ROLLBACK")
        with pytest.raises(sqlite3.OperationalError) as wrong:
            other.execute("INSERT INTO no_such_table VALUES(1)")

    async def ask() -> None:
        service = Service(load_settings({"HERMES_HOME": str(tmp_path)}))
        status, answer = failure(service, busy.value, "POST /v1/workers/x")
        assert status == 503
        assert retries.is_transient(error_of(answer, status))
        status, answer = failure(service, wrong.value, "POST /v1/workers/x")
        assert (status, answer["code"], service.errors) == (500, "internal", 2)

    asyncio.run(ask())


@pytest.mark.parametrize("kind", [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, MemoryOSError)])
def test_every_typed_error_arrives_as_what_it_is(kind: type[MemoryOSError]) -> None:
    found = error_of(body(kind.code, "why", "cure"), 400)
    assert type(found) is kind and (found.message, found.cure) == ("why", "cure")


def test_damage_in_memory_db_is_named_with_its_cure(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(b"no database " * 1000)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.DatabaseError) as met:
        connection.execute("SELECT * FROM sqlite_master")

    async def ask() -> None:
        service = Service(load_settings({"HERMES_HOME": str(tmp_path)}))
        status, answer = failure(service, met.value, "POST /v1/x")
        assert (status, answer["code"], service.errors) == (503, "store_corrupt", 1)
        assert "doctor" in answer["cure"]

    asyncio.run(ask())
