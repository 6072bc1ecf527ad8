"""Which status and which words a failed request gets."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
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
