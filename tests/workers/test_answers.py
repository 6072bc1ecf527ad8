"""Which status and which words a failed request gets."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.errors import BadRequest, ServiceUnavailable, StoreError
from memory_os_workers.answers import failure
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
