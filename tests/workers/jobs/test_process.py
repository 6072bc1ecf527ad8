"""A worker process from within: when it ends, and what it leaves in the queue."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import load_settings
from memory_os.errors import WorkerUnfit
from memory_os_workers.jobs.connection import WorkClient
from memory_os_workers.jobs.queue import Queue
from memory_os_workers.jobs.worker import Process, Worker
from support.redis_server import RedisServer

from workers.jobs.test_queue import HOME, _address


class Answers(WorkClient):
    """A service of another pipeline, with one text to embed."""

    letters: list[dict[str, Any]]

    def request(self, path: str, body: dict[str, Any], timeout: float = 0.0) -> dict[str, Any]:
        if path == "/v1/workers/dead_letter":
            self.letters.append(body)
        return {"home_id": HOME, "fingerprint": "another pipeline", "texts": {"h": "a text"}, "due": []}


def process(home: Path, server: RedisServer, kind: type[Process] = Process) -> tuple[Process, Answers]:
    settings = load_settings(
        {"HERMES_HOME": str(home), "MEMORY_OS_REDIS_URL": server.url, "MEMORY_OS_REDIS_PASSWORD": server.password}
    )
    service = Answers(settings)
    service.letters = []
    return kind(settings, service, concurrency=2, burst=False, until_eof=False), service


def test_a_worker_of_another_pipeline_puts_its_jobs_back_and_ends(tmp_path: Path, redis: RedisServer) -> None:
    async def run() -> None:
        queue = Queue(_address(redis), HOME)
        try:
            jobs = await queue.enqueue_all([("embed", [["a"]]), ("embed", [["b"]])])
            worker, service = process(tmp_path, redis)
            with pytest.raises(WorkerUnfit, match="another pipeline"):
                await asyncio.wait_for(worker.run(), 90)
            assert await queue.waiting(jobs) == set(jobs)
            standing = await queue.look()
            assert (standing.in_progress, standing.workers, service.letters) == (0, {}, [])
        finally:
            await queue.close()

    asyncio.run(run())


def test_a_signal_that_comes_while_it_connects_is_not_forgotten(tmp_path: Path, redis: RedisServer) -> None:
    class Signalled(Process):
        async def _connected(self) -> Worker:
            self._finish(signal.SIGTERM)
            return await super()._connected()

    async def run() -> None:
        worker, _ = process(tmp_path, redis, Signalled)
        await asyncio.wait_for(worker.run(), 90)

    asyncio.run(run())
