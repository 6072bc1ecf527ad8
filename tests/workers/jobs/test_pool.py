"""A worker's connections on a real Redis that is stopped and goes on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from arq.connections import RedisSettings
from memory_os_workers.jobs.address import is_queue_fault
from memory_os_workers.jobs.pool import bounded_pool
from redis.exceptions import TimeoutError as NoAnswer
from support.redis_server import RedisServer

_T = TypeVar("_T")


async def patiently(call: Callable[[], Awaitable[_T]]) -> _T:
    """What a server that is not stopped answers: it may be waking up, or wait for a processor."""
    while True:
        try:
            return await call()
        except (NoAnswer, TimeoutError):
            continue


def test_a_call_without_an_answer_ends_and_the_next_one_has_its_own(redis: RedisServer) -> None:
    settings = RedisSettings(port=redis.port, password=redis.password, conn_retries=0, conn_timeout=5)
    server = redis.process
    assert server is not None

    async def run() -> None:
        pool = await patiently(lambda: bounded_pool(settings, "queue", 1.0))
        try:
            await patiently(lambda: pool.set("a", "1"))
            server.send_signal(signal.SIGSTOP)
            for _ in range(2):
                # Without an end of its own it would wait for the test's.
                async with asyncio.timeout(60):
                    with pytest.raises(NoAnswer) as raised:
                        await pool.get("a")
                assert is_queue_fault(raised.value)
            async with asyncio.timeout(60):
                with pytest.raises(TimeoutError):
                    await bounded_pool(settings, "queue", 1.0)
            server.send_signal(signal.SIGCONT)
            # The answer to this question, and to none before it.
            assert await patiently(lambda: pool.get("b")) is None and await patiently(lambda: pool.get("a")) == b"1"
        finally:
            server.send_signal(signal.SIGCONT)
            await pool.aclose(close_connection_pool=True)

    asyncio.run(run())
