"""A real Redis for the tests of the queue."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.redis_server import RedisServer


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the test is not away because it waits for a processor."""
    monkeypatch.setattr("memory_os_workers.jobs.queue.CALL_S", 60.0)


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """Started, empty, with a password."""
    folder = Path(tempfile.mkdtemp(prefix="mos-redis-"))
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)  # a saving child may still take a file away
