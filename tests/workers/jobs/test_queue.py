"""The service's side of the queue, on a real server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from memory_os.errors import QueueAuth, QueueAway, QueueError, QueueFull
from memory_os_workers.jobs import names
from memory_os_workers.jobs.address import Address
from memory_os_workers.jobs.queue import Queue
from memory_os_workers.jobs.retries import CRASHES
from support.redis_server import RedisServer

_T = TypeVar("_T")
HOME = "home-1"


def _address(server: RedisServer, password: str | None = None) -> Address:
    secret = server.password if password is None else password
    return Address(shown=server.url, bundled=False, local=True, url=server.url, password=secret)


def on(server: RedisServer, work: Callable[[Queue], Awaitable[_T]], password: str | None = None) -> _T:
    """Run something with a queue of its own."""

    async def run() -> _T:
        queue = Queue(_address(server, password), HOME)
        try:
            return await work(queue)
        finally:
            await queue.close()

    return asyncio.run(run())


def alive(server: RedisServer, worker: str) -> None:
    """What a worker leaves while it lives."""
    client = server.client()
    client.sadd(names.workers_key(HOME), worker)
    client.set(names.health_key(HOME, worker), "j_complete=0", ex=60)
    client.close()


def held(server: RedisServer, job: str, worker: str = "") -> None:
    """What is in Redis while a worker runs a job; without a worker, before it could say so."""
    client = server.client()
    client.set(f"arq:in-progress:{job}", "1", ex=600)
    if worker:
        client.hset(names.held_key(HOME), job, worker)
    client.close()


def is_marked(server: RedisServer, job: str) -> bool:
    client = server.client()
    try:
        return bool(client.exists(f"arq:in-progress:{job}"))
    finally:
        client.close()


def test_the_same_work_is_in_the_queue_once(redis: RedisServer) -> None:
    async def twice(queue: Queue) -> tuple[list[str], int]:
        ids = [await queue.enqueue("embed", [["a", "b"]]) for _ in range(3)]
        ids.append(await queue.enqueue("embed", [["a"]]))
        return ids, (await queue.look()).depth

    ids, depth = on(redis, twice)
    assert len(set(ids)) == depth == 2


def test_many_at_once_keep_their_order_and_leave_what_waits_as_it_is(redis: RedisServer) -> None:
    async def put(queue: Queue) -> list[str]:
        first = await queue.enqueue("noop", [7])
        return [first, *await queue.enqueue_all([("noop", [number]) for number in [*range(50), 3]])]

    first, *ids = on(redis, put)
    client = redis.client()
    queued = [one.decode() for one in client.zrange(names.queue_name(HOME), 0, -1)]  # type: ignore[union-attr]
    client.close()
    assert ids[7] == first and ids[-1] == ids[3]
    assert queued == [first, *(one for one in ids[:50] if one != first)]


def test_what_is_put_ahead_comes_before_what_waits(redis: RedisServer) -> None:
    async def put(queue: Queue) -> list[str]:
        waiting = await queue.enqueue_all([("noop", [number]) for number in range(3)])
        return [*await queue.enqueue_all([("noop", [number]) for number in (7, 8)], ahead_s=3600), *waiting]

    ids = on(redis, put)
    client = redis.client()
    queued = [one.decode() for one in client.zrange(names.queue_name(HOME), 0, -1)]  # type: ignore[union-attr]
    client.close()
    assert queued == ids


def test_jobs_lie_in_redis_as_json(redis: RedisServer) -> None:
    job = on(redis, lambda queue: queue.enqueue("ingest", ["wiki/raw/日本.md", "5-1"]))
    client = redis.client()
    stored = names.decode(client.get(f"arq:job:{job}"))  # type: ignore[arg-type]
    client.close()
    assert (stored["f"], stored["a"]) == ("ingest", ["wiki/raw/日本.md", "5-1"])


def test_what_waits_and_who_lives_is_told(redis: RedisServer) -> None:
    async def look(queue: Queue) -> Any:
        assert not queue.usable
        first, _ = await queue.enqueue_all([("noop", [1]), ("noop", [2])])
        held(redis, first, "w:1")
        alive(redis, "w:1")
        standing = await queue.look()
        told = (standing.depth, standing.in_progress, list(standing.workers))
        assert queue.usable
        assert await queue.waiting([first, "never"]) == {first}
        await queue.worker_died("w:1")
        assert not queue.usable
        return told

    assert on(redis, look) == (1, 1, ["w:1"])


def test_a_dead_workers_jobs_are_free_again_and_a_live_ones_stay(redis: RedisServer) -> None:
    async def lose(queue: Queue) -> tuple[str, str]:
        dead, live = await queue.enqueue_all([("noop", [1]), ("noop", [2])])
        held(redis, dead, "dead:1")
        held(redis, live, "live:1")
        alive(redis, "live:1")
        assert await queue.put_back_lost() == []
        assert queue.put_back == 1
        return dead, live

    dead, live = on(redis, lose)
    assert not is_marked(redis, dead) and is_marked(redis, live)


def test_a_job_whose_worker_died_before_it_could_sign_is_freed_at_the_second_look(redis: RedisServer) -> None:
    async def lose(queue: Queue) -> tuple[bool, bool]:
        job = await queue.enqueue("noop", [1])
        held(redis, job)
        await queue.put_back_lost()
        first = is_marked(redis, job)
        await queue.put_back_lost()
        return first, is_marked(redis, job)

    assert on(redis, lose) == (True, False)


def test_a_job_that_kills_every_worker_leaves_the_queue_with_its_payload(redis: RedisServer) -> None:
    async def kill(queue: Queue) -> list[Any]:
        job = await queue.enqueue("ingest", ["bomb.pdf", "1"])
        found: list[Any] = []
        for _ in range(CRASHES):
            assert found == []
            held(redis, job, "dead:1")
            found = await queue.put_back_lost()
        assert await queue.waiting([job]) == set()
        return found

    (job,) = on(redis, kill)
    assert (job.function, job.arguments) == ("ingest", ["bomb.pdf", "1"])


def test_a_missing_and_a_wrong_password_are_told_apart(redis: RedisServer) -> None:
    for password, word in (("", "asks for a password"), ("wrong", "refuses the password")):
        with pytest.raises(QueueAuth, match=word) as error:
            on(redis, lambda queue: queue.look(), password)
        assert "MEMORY_OS_REDIS_PASSWORD" in error.value.cure
        assert redis.password not in str(error.value)


def test_a_full_server_says_so_and_works_again_when_there_is_room(redis: RedisServer) -> None:
    async def fill(queue: Queue) -> None:
        client = redis.client()
        client.config_set("maxmemory", "100kb")
        with pytest.raises(QueueFull, match="full"):
            await queue.look()
        assert not queue.usable and isinstance(queue.fault, QueueFull)
        client.config_set("maxmemory", "0")
        client.close()
        await queue.look()
        assert queue.fault is None

    on(redis, fill)


def test_a_server_that_goes_and_comes_back_is_noticed_both_times(redis: RedisServer) -> None:
    async def away(queue: Queue) -> None:
        job = await queue.enqueue("noop", [1])
        redis.kill()
        with pytest.raises(QueueAway, match="can't be reached"):
            await queue.look()
        since = queue.fault_since
        with pytest.raises(QueueError):
            await queue.enqueue("noop", [2])
        assert queue.fault is not None and queue.fault_since == since
        redis.start()
        await queue.look()
        assert queue.fault is None
        assert await queue.waiting([job]) == {job}  # append-only: it was on disk

    on(redis, away)


def test_a_server_that_takes_calls_and_does_not_answer_is_away(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def frozen(queue: Queue) -> None:
        await queue.look()
        assert redis.process is not None
        monkeypatch.setattr("memory_os_workers.jobs.queue.CALL_S", 0.3)
        redis.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(QueueAway, match="did not answer"):
                await queue.enqueue("noop", [1])
            assert isinstance(queue.fault, QueueAway) and not queue.usable
            with pytest.raises(QueueAway):
                await queue.shut_down_server()
        finally:
            redis.process.send_signal(signal.SIGCONT)
            monkeypatch.undo()
        await queue.look()
        assert queue.fault is None

    async def bounded(queue: Queue) -> None:
        await asyncio.wait_for(frozen(queue), 60)

    on(redis, bounded)
