"""What becomes of a job that fails: another attempt, or a dead letter."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from arq import Retry
from memory_os.config import load_settings
from memory_os.errors import MemoryOSError, ServiceUnavailable, StoreError
from memory_os_workers.jobs import retries
from memory_os_workers.jobs.connection import WorkClient
from memory_os_workers.jobs.functions import _with_policy
from memory_os_workers.jobs.tools import Tools


class Recorder(WorkClient):
    """A way to a service that keeps what it is sent."""

    letters: list[dict[str, Any]]

    def request(self, path: str, body: dict[str, Any], timeout: float = 0.0) -> dict[str, Any]:
        if path == "/v1/work/dead_letter":
            self.letters.append(body)
        return {}


def fails(home: Path, error: Exception, attempt: int, function: str = "noop") -> list[dict[str, Any]]:
    """The dead letters that one attempt leaves. Raises Retry where there is to be another."""
    settings = load_settings({"HERMES_HOME": str(home)})
    service = Recorder(settings)
    service.letters = []
    tools = Tools(settings, service)

    async def work(tools: Tools, *arguments: Any) -> None:
        raise error

    async def run() -> None:
        try:
            await _with_policy(tools, function, work)({"job_id": "j", "job_try": attempt}, 1)
        finally:
            await tools.close()

    asyncio.run(run())
    return service.letters


@pytest.mark.parametrize(
    "error", [TimeoutError(), ServiceUnavailable("away"), StoreError("busy"), ConnectionResetError()]
)
def test_what_passes_is_tried_again_and_not_for_ever(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(Retry):
        fails(tmp_path, error, retries.ATTEMPTS - 1)
    (letter,) = fails(tmp_path, error, retries.ATTEMPTS)
    assert (letter["error"], letter["attempts"], letter["payload"]) == (type(error).__name__, retries.ATTEMPTS, [1])


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), MemoryOSError("no")])
def test_what_stays_is_not_tried_again(tmp_path: Path, error: Exception) -> None:
    assert len(fails(tmp_path, error, 1)) == 1


def test_texts_that_wait_for_a_processor_are_no_failure(tmp_path: Path) -> None:
    with pytest.raises(Retry):
        fails(tmp_path, TimeoutError(), 1_000, "embed")
