"""What becomes of a job that fails: another attempt, or a dead letter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from arq import Retry
from memory_os.config import load_settings
from memory_os.errors import BadRequest, MemoryOSError, ServiceUnavailable, StoreError, WorkerUnfit
from memory_os_workers.jobs import retries
from memory_os_workers.jobs.connection import WorkClient
from memory_os_workers.jobs.functions import _with_policy
from memory_os_workers.jobs.tools import Tools


class Recorder(WorkClient):
    """A way to a service that keeps what it is sent."""

    letters: list[dict[str, Any]]
    greeting: MemoryOSError | str = "pipeline"

    def request(self, path: str, body: dict[str, Any], timeout: float = 0.0) -> dict[str, Any]:
        if path == "/v1/workers/dead_letter":
            self.letters.append(body)
        if isinstance(self.greeting, MemoryOSError):
            raise self.greeting
        return {"fingerprint": self.greeting}


@dataclass
class Left:
    """What an attempt that failed for good left behind."""

    letters: list[dict[str, Any]] = field(default_factory=list)
    unfit: list[WorkerUnfit] = field(default_factory=list)


def fails(
    home: Path, error: Exception, attempt: int, function: str = "noop", greeting: MemoryOSError | str = "pipeline"
) -> Left:
    """One attempt. `greeting`: the pipeline the service is of by then. Raises Retry where there is to be another."""
    settings = load_settings({"HERMES_HOME": str(home)})
    service, left = Recorder(settings), Left()
    service.letters, service.greeting = left.letters, greeting
    tools = Tools(settings, service)
    tools.fingerprint, tools.unfit = "pipeline", left.unfit.append

    async def work(tools: Tools, *arguments: Any) -> None:
        raise error

    async def run() -> None:
        try:
            await _with_policy(tools, function, work)({"job_id": "j", "job_try": attempt}, 1)
        except Retry:
            if not left.unfit:
                raise
        finally:
            await tools.close()

    asyncio.run(run())
    return left


@pytest.mark.parametrize(
    "error", [TimeoutError(), ServiceUnavailable("away"), StoreError("busy"), ConnectionResetError()]
)
def test_what_passes_is_tried_again_and_not_for_ever(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(Retry):
        fails(tmp_path, error, retries.ATTEMPTS - 1)
    (letter,) = fails(tmp_path, error, retries.ATTEMPTS).letters
    assert (letter["error"], letter["attempts"], letter["payload"]) == (type(error).__name__, retries.ATTEMPTS, [1])


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), MemoryOSError("no")])
def test_what_stays_is_not_tried_again(tmp_path: Path, error: Exception) -> None:
    left = fails(tmp_path, error, 1)
    assert len(left.letters) == 1 and not left.unfit


def test_texts_that_wait_for_a_processor_are_no_failure(tmp_path: Path) -> None:
    with pytest.raises(Retry):
        fails(tmp_path, TimeoutError(), 1_000, "embed")


@pytest.mark.parametrize(
    ("error", "greeting"),
    [
        (WorkerUnfit("no model"), "pipeline"),
        (BadRequest("no such field"), WorkerUnfit("another version")),
        (BadRequest("no such field"), "a newer pipeline"),
    ],
)
def test_what_only_this_worker_cannot_do_is_no_dead_letter(
    tmp_path: Path, error: Exception, greeting: MemoryOSError | str
) -> None:
    left = fails(tmp_path, error, retries.ATTEMPTS, "embed", greeting)
    assert not left.letters and len(left.unfit) == 1
