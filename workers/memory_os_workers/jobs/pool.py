"""ARQ's connections to Redis, each call with an end: a server that takes a call and never answers is away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from memory_os_workers.jobs import names

if TYPE_CHECKING:
    from arq.connections import ArqRedis, RedisSettings


async def bounded_pool(settings: RedisSettings, queue: str, answer_s: float) -> ArqRedis:
    """A pool that is connected. Raises what redis raises, TimeoutError after `answer_s` seconds without an answer.

    ARQ polls: none of its calls blocks, so the longest answer is a slow one.
    """
    from arq import create_pool

    async with asyncio.timeout(answer_s):
        pool = await create_pool(
            settings, job_serializer=names.encode, job_deserializer=names.decode, default_queue_name=queue
        )
    # ARQ's settings have no such option; what is connected has none, and is made anew.
    connections = pool.connection_pool
    connections.connection_kwargs["socket_timeout"] = answer_s
    await connections.disconnect()
    connections.reset()  # type: ignore[no-untyped-call]
    return pool
