"""A model that hangs takes no worker whole: one place is left for what needs none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from arq.worker import func
from memory_os_workers.jobs import names
from memory_os_workers.jobs.pool import bounded_pool
from memory_os_workers.jobs.worker import Worker
from support.redis_server import RedisServer

from workers.jobs.test_queue import HOME, _address


class Site:
    """A worker in this process, a model that takes every question and answers none, and what was done."""

    def __init__(self, worker: Worker, model: asyncio.Server) -> None:
        self.worker = worker
        self.model = model
        self.asked = 0
        self.embedded = asyncio.Queue[int]()

    async def ask(self, ctx: dict[Any, Any], number: int) -> None:
        self.asked += 1
        reader, writer = await asyncio.open_connection(*self.model.sockets[0].getsockname())
        try:
            await reader.read()
        finally:
            writer.close()

    async def embed(self, ctx: dict[Any, Any], number: int) -> None:
        self.embedded.put_nowait(number)


async def _hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def _site(server: RedisServer, concurrency: int) -> Site:
    model = await asyncio.start_server(_hang, "127.0.0.1", 0)
    queue = names.queue_name(HOME)
    pool = await bounded_pool(_address(server).redis_settings(), queue, names.ANSWER_S)
    options: dict[str, Any] = {"job_serializer": names.encode, "job_deserializer": names.decode}
    site: Site

    def function(name: str) -> Any:
        work = Site.ask if name in names.ASK_MODELS else Site.embed

        async def run(ctx: dict[Any, Any], number: int) -> None:
            await work(site, ctx, number)

        return func(run, name=name)

    worker = Worker(
        HOME, "w:1", names.here_key("here", "/home"), concurrency=concurrency, functions=[*map(function, (*names.ASK_MODELS, "embed"))],
        redis_pool=pool, queue_name=queue, handle_signals=False, poll_delay=0.01, **options,
    )  # fmt: skip
    site = Site(worker, model)
    return site


@pytest.mark.parametrize(("concurrency", "most"), [(4, 3), (2, 1), (1, 1)])
def test_while_models_hang_texts_are_embedded(redis: RedisServer, concurrency: int, most: int) -> None:
    async def run() -> None:
        site = await _site(redis, concurrency)
        pool = site.worker.pool
        for number, name in enumerate(sorted(names.ASK_MODELS) * 3):
            await pool.enqueue_job(name, number, _job_id=names.job_id(HOME, name, [number]))
        working = asyncio.create_task(site.worker.async_run())
        for number in range(3):
            await pool.enqueue_job("embed", number, _job_id=names.job_id(HOME, "embed", [number]))
        assert [await asyncio.wait_for(site.embedded.get(), 90) for _ in range(3)] == [0, 1, 2]
        assert site.asked == most, "the models have the places that are theirs, and no more"
        running = [working, *site.worker.tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await pool.aclose(close_connection_pool=True)
        site.model.close()

    asyncio.run(run())


def test_an_id_tells_its_function() -> None:
    assert {names.function_of("h", names.job_id("h", one, [1])) for one in ("think", "embed")} == {"think", "embed"}
    assert names.function_of("h", f"{names.prefix('h')}due:1700000000000") == "due"
