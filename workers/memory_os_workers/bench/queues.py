"""The queue itself: jobs that do nothing, and jobs that only wait, with one worker and with two."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from memory_os.config import Settings
from memory_os.errors import ServiceUnavailable

from memory_os_workers.bench.scratch import Figure
from memory_os_workers.client import ServiceClient
from memory_os_workers.jobs.address import queue_address
from memory_os_workers.jobs.queue import Queue

_WAIT_S = 0.2
# Of a worker's slots, so that filling and draining them does not count for much.
_ROUNDS = 15
_POLL_S = 0.02
_TIMEOUT_S = 120.0


def measure_queue(settings: Settings, count: int, say: Callable[[str], None]) -> list[Figure]:
    """Over the service that runs in this home, its queue and its worker."""
    return asyncio.run(_measure(settings, count, say))


async def _measure(settings: Settings, count: int, say: Callable[[str], None]) -> list[Figure]:
    client = ServiceClient(settings)
    await _workers(client, 1)
    queue = Queue(queue_address(settings), str(client.post("/v1/workers/hello", {"worker": "bench"})["home_id"]))
    try:
        say(f"{count:,} jobs that do nothing")
        per_second = count / await _seconds(queue, [("noop", [number]) for number in range(count)])
        say("jobs that only wait, with one worker and with two")
        waits = settings.values.workers.concurrency * _ROUNDS
        one = await _seconds(queue, [("wait", [number, _WAIT_S]) for number in range(waits)])
        async with _second_worker(settings):
            await _workers(client, 2)
            two = await _seconds(queue, [("wait", [number, _WAIT_S]) for number in range(waits)])
        await _workers(client, 1)
    finally:
        await queue.close()
    return [
        Figure("jobs that do nothing", per_second, "jobs/s", at_least=500),
        Figure("two workers on jobs that wait, beside one", one / two, "times", at_least=1.8),
    ]


async def _seconds(queue: Queue, jobs: list[tuple[str, list[Any]]]) -> float:
    """From the first job put in until the last is done."""
    started = time.perf_counter()
    ids = await queue.enqueue_all(jobs)
    left: set[str] = set(ids)
    while left:
        if time.perf_counter() - started > _TIMEOUT_S:
            raise ServiceUnavailable(f"{len(left)} jobs were not done within two minutes.", cure="See logs/worker.log.")
        await asyncio.sleep(_POLL_S)
        # They are done about in the order they were put in: the last few tell when to ask for all.
        left = await queue.waiting(ids[-20:]) or await queue.waiting(ids)
    return time.perf_counter() - started


async def _workers(client: ServiceClient, count: int) -> None:
    """Wait until the service sees so many."""
    deadline = time.monotonic() + _TIMEOUT_S
    while len((client.get("/v1/status").get("pipeline") or {}).get("workers", {})) != count:
        if time.monotonic() > deadline:
            raise ServiceUnavailable(
                f"There were not {count} workers within two minutes.", cure="See logs/service.log."
            )
        await asyncio.sleep(10 * _POLL_S)


@asynccontextmanager
async def _second_worker(settings: Settings) -> AsyncIterator[None]:
    """`memory-os worker` beside the service's own."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "memory_os_workers.cli", "worker"],
        cwd=settings.home, env={**os.environ, "HERMES_HOME": str(settings.hermes_home)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, _TIMEOUT_S)
