"""A worker's connections on a real Redis that is stopped and goes on."""

from __future__ import annotations

import asyncio
import signal

import pytest
from arq.connections import RedisSettings
from memory_os_workers.jobs.address import is_queue_fault
from memory_os_workers.jobs.pool import bounded_pool
from redis.exceptions import TimeoutError as NoAnswer
from support.redis_server import RedisServer


def test_a_call_without_an_answer_ends_and_the_next_one_has_its_own(redis: RedisServer) -> None:
    settings = RedisSettings(port=redis.port, password=redis.password, conn_retries=0, conn_timeout=5)
    server = redis.process
    assert server is not None

    async def run() -> None:
        pool = await bounded_pool(settings, "queue", 1.0)
        try:
            await pool.set("a", "1")
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
            while True:
                try:
                    # The answer to this question, and to none before it.
                    assert await pool.get("b") is None and await pool.get("a") == b"1"
                    break
                except NoAnswer:
                    continue  # it is just waking up
        finally:
            server.send_signal(signal.SIGCONT)
            await pool.aclose(close_connection_pool=True)

    asyncio.run(run())
