"""The service's end of the pipeline, over a real memory and a real queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import load_settings
from memory_os.documents import Seen
from memory_os.engine import Engine
from memory_os.errors import QueueAway
from memory_os_workers.jobs import names
from memory_os_workers.jobs.handing_out import OWN_MAX
from memory_os_workers.jobs.pipeline import Pipeline
from memory_os_workers.jobs.queue import Job, Queue
from memory_os_workers.jobs.retries import CRASHES
from support.redis_server import RedisServer

from workers.jobs.test_queue import HOME, _address, alive


def over(home: Path, server: RedisServer, work: Callable[[Pipeline, Queue], Awaitable[Any]]) -> None:
    """Run something with a pipeline whose queue has a living worker."""

    async def run() -> None:
        settings = load_settings({"HERMES_HOME": str(home)})
        settings.home.mkdir(parents=True, exist_ok=True)
        with closing(Engine.open(settings)) as engine, ThreadPoolExecutor(1) as thread:
            pipeline = Pipeline(engine, settings, executor=thread, nudge=lambda: None)
            pipeline.queue = queue = Queue(_address(server), HOME)
            try:
                alive(server, "w:1")
                await queue.look()
                await work(pipeline, queue)
            finally:
                await queue.close()

    asyncio.run(run())


def test_a_letter_that_cannot_be_put_in_again_is_kept(tmp_path: Path, redis: RedisServer) -> None:
    async def requeue(pipeline: Pipeline, queue: Queue) -> None:
        number = pipeline.engine.dead_letters.add("j", "maintain", ["trust", "1"], "E", "why", 6)
        redis.kill()
        with pytest.raises(QueueAway):
            await pipeline.requeue(number)
        (letter,) = pipeline.engine.dead_letters.all()
        assert (letter.payload, letter.error, letter.attempts) == (["trust", "1"], "E", 6)

    over(tmp_path, redis, requeue)


class Busy(Queue):
    """Something happens in the moment in which the queue answers."""

    meanwhile: Callable[[], object]

    async def enqueue(self, function: str, arguments: list[Any]) -> str:
        one = await super().enqueue(function, arguments)
        self.meanwhile()
        return one

    async def waiting(self, job_ids: Iterable[str]) -> set[str]:
        found = await super().waiting(job_ids)
        self.meanwhile()
        return found


def test_a_job_that_fails_at_once_after_it_was_put_in_again_leaves_a_letter(tmp_path: Path, redis: RedisServer) -> None:
    async def requeue(pipeline: Pipeline, queue: Queue) -> None:
        letters = pipeline.engine.dead_letters
        pipeline.queue = busy = Busy(queue.address, HOME)
        busy.meanwhile = lambda: letters.add("j", "maintain", ["trust", "1"], "Again", "why", 1)
        await busy.look()
        try:
            await pipeline.requeue(letters.add("j", "maintain", ["trust", "1"], "E", "why", 6))
        finally:
            await busy.close()
        (letter,) = letters.all()
        assert (letter.error, letter.attempts) == ("Again", 1)

    over(tmp_path, redis, requeue)


def test_what_is_handed_out_while_the_queue_answers_is_not_forgotten(tmp_path: Path, redis: RedisServer) -> None:
    async def forget(pipeline: Pipeline, queue: Queue) -> None:
        pipeline.handing_out.preparing = {"done", await queue.enqueue("noop", [1])}
        busy = Busy(queue.address, HOME)

        def hand_out() -> None:
            pipeline.handing_out.preparing.add("new")
            pipeline.handing_out.embedding["newer"] = frozenset({"h"})

        busy.meanwhile = hand_out
        try:
            await pipeline.handing_out.forget_finished(busy)
        finally:
            await busy.close()
        assert pipeline.handing_out.preparing == {"new", names.job_id(HOME, "noop", [1])}
        assert pipeline.handing_out.embedding == {"newer": frozenset({"h"})}

    over(tmp_path, redis, forget)


def test_while_files_come_the_encoder_is_fed_ahead_of_them(tmp_path: Path, redis: RedisServer) -> None:
    async def feed(pipeline: Pipeline, queue: Queue) -> None:
        raw = pipeline.settings.vault / "wiki" / "raw"
        raw.mkdir(parents=True)
        for number in range(OWN_MAX - 2):
            (raw / f"{number}.md").write_text(f"# Box {number}\n\nIt stands on shelf {number}.\n", "utf-8")
        await asyncio.to_thread(pipeline.engine.documents.ingest, raw)
        assert await pipeline.backlog() == 0, "a few passages the service embeds itself"
        waiting = await queue.enqueue_all([("embed", [["an earlier hash", str(number)]]) for number in range(40)])
        await pipeline.handing_out.prepare(queue, [Seen(f"wiki/raw/later-{number}.md", 1, 1) for number in range(40)])
        files = pipeline.handing_out.preparing
        assert await pipeline.backlog() > 0, "of many files even the first few are the workers'"
        (first, *rest) = [one.decode() for one in redis.client().zrange(names.queue_name(HOME), 0, -1)]  # type: ignore[union-attr]
        assert first in pipeline.handing_out.embedding
        assert set(rest[:40]) == files and rest[40:] == waiting, "a file is read before what waits is embedded"

    over(tmp_path, redis, feed)


def test_curation_leaves_a_place_of_each_worker_to_what_else_comes(tmp_path: Path, redis: RedisServer) -> None:
    async def curate(pipeline: Pipeline, queue: Queue) -> None:
        places = pipeline.settings.values.workers.concurrency - 1
        files = [(f"{number}.md", "1-1") for number in range(places + 3)]
        await pipeline.curate(files)
        await pipeline.curate(files)
        assert pipeline.handing_out.more_to_curate and len(pipeline.handing_out.curating) == places
        client = redis.client()
        assert client.zcard(names.queue_name(HOME)) == places
        client.zrem(names.queue_name(HOME), min(pipeline.handing_out.curating))  # one is done
        await pipeline.handing_out.forget_finished(queue)
        await pipeline.curate(files[-3:])
        assert len(pipeline.handing_out.curating) == places and client.zcard(names.queue_name(HOME)) == places
        client.close()

    over(tmp_path, redis, curate)


def test_a_job_that_killed_its_workers_says_how_many(tmp_path: Path, redis: RedisServer) -> None:
    async def bury(pipeline: Pipeline, queue: Queue) -> None:
        pipeline._bury(Job("j", "ingest", ["bomb.pdf", "1"]))
        (letter,) = pipeline.engine.dead_letters.all()
        assert letter.attempts == CRASHES

    over(tmp_path, redis, bury)


def test_what_a_model_is_asked_is_handed_out_bit_by_bit_and_behind_no_backlog(tmp_path: Path, redis: RedisServer) -> None:
    async def ask(pipeline: Pipeline, queue: Queue) -> None:
        places = pipeline.settings.values.workers.concurrency - 1
        await queue.enqueue_all([("embed", [[str(number)]]) for number in range(5)])
        jobs: list[tuple[str, list[Any]]] = [("understand", [f"s{number}", "scope", number]) for number in range(places + 3)]
        await pipeline.ask_models(jobs)
        await pipeline.ask_models(jobs)
        client = redis.client()
        first = [one.decode() for one in client.zrange(names.queue_name(HOME), 0, places - 1)]  # type: ignore[union-attr]
        assert set(first) == pipeline.handing_out.asking and client.zcard(names.queue_name(HOME)) == places + 5
        looks: list[int] = []
        pipeline.look_at_turns = lambda: looks.append(1)
        await pipeline._look()
        assert not looks, "all places are taken"
        client.zrem(names.queue_name(HOME), first[0])  # one is done
        await pipeline._look()
        assert looks == [1]
        await pipeline.ask_models(jobs[1:])
        assert len(pipeline.handing_out.asking) == places and client.zcard(names.queue_name(HOME)) == places + 5

    over(tmp_path, redis, ask)


def test_a_fault_nobody_foresaw_does_not_end_the_looks_at_the_queue(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os_workers.jobs.pipeline.LOOK_EVERY_S", 0.01)

    async def watch(pipeline: Pipeline, queue: Queue) -> None:
        looked, third = [], asyncio.Event()

        def look() -> None:
            pipeline.handing_out.more_to_ask = True
            looked.append(1)
            if len(looked) == 3:
                third.set()
            raise KeyError("nobody foresaw it")

        pipeline.look_at_turns = look
        pipeline.handing_out.more_to_ask = True
        task = asyncio.create_task(pipeline._watch())
        try:
            await asyncio.wait_for(third.wait(), 60)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        row = pipeline.engine.store.row("SELECT value, last_reason FROM counters WHERE name = 'pipeline_failed'")
        assert row is not None and row["value"] >= 2 and "nobody foresaw it" in row["last_reason"]

    over(tmp_path, redis, watch)
