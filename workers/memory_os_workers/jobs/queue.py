"""The service's side of the queue: put jobs in, see how it stands, put back what a dead worker held.

One client for the life of the service; every call may raise a QueueError, and remembers it for `status`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memory_os.errors import QueueAway, QueueError

from memory_os_workers.jobs import names
from memory_os_workers.jobs.address import Address, is_queue_fault, typed
from memory_os_workers.jobs.retries import CRASHES

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

IN_PROGRESS = "arq:in-progress:"
_JOB = "arq:job:"
# ARQ's own: a job that nobody ran within a day is dropped, and derived anew.
_KEPT_MS = 86_400_000
# A server that takes a call and does not answer (stopped, its disk stuck, its machine gone) is away like any other.
CALL_S = 5.0
# Jobs looked at in one round: no more than these can be running at a time.
_LOOK = 500


@dataclass(slots=True)
class QueueFigures:
    """The queue at `at` (epoch seconds). `workers`: id -> what ARQ says of it."""

    at: float = 0.0
    depth: int = 0
    in_progress: int = 0
    workers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the queue holds it."""

    id: str
    function: str
    arguments: list[Any]


class Queue:
    """`fault`: why it can't be used now, since `fault_since`; None while it works."""

    def __init__(self, address: Address, home_id: str) -> None:
        self.address = address
        self.home_id = home_id
        self.fault: QueueError | None = QueueAway("The queue is not started yet.")
        self.fault_since = time.time()
        self.figures = QueueFigures()
        self.put_back = 0
        # ARQ's client: its types promise less than it does (a call gives a value or an awaitable).
        self._redis: Any = None
        self._unowned: set[str] = set()

    @property
    def usable(self) -> bool:
        """Whether work put into it will be done: it answers, and a worker is alive."""
        return self.fault is None and bool(self.figures.workers)

    async def enqueue(self, function: str, arguments: list[Any]) -> str:
        """Put a job in; one that is in already stays what it is. Returns its id. Raises QueueError."""
        return (await self.enqueue_all([(function, arguments)]))[0]

    async def enqueue_all(self, jobs: Sequence[tuple[str, list[Any]]], *, ahead_s: int = 0) -> list[str]:
        """Their ids, in order. `ahead_s`: before what was put in during the last so many seconds, so that none is overtaken
        for ever. Raises QueueError."""
        return await self._call(self._enqueue(jobs, ahead_s * 1000))

    async def waiting(self, job_ids: Iterable[str]) -> set[str]:
        """Which of these are still in the queue, waiting or running. Raises QueueError."""
        return await self._call(self._waiting(list(job_ids)))

    async def look(self) -> QueueFigures:
        """Ask for its figures, and prove that it takes writes. Raises QueueError."""
        self.figures = await self._call(self._look())
        return self.figures

    async def put_back_lost(self) -> list[Job]:
        """Free the jobs of workers that are dead. Returns those during which too many died; they are out of the queue.

        ARQ itself waits for the longest time-out of all functions. Raises QueueError.
        """
        return await self._call(self._put_back_lost())

    async def worker_died(self, worker: str) -> None:
        """A worker is known to be dead: its sign of life goes now. Raises QueueError."""
        await self._call(self._forget_worker(worker))

    async def signs_of(self, here: str) -> list[str]:
        """What ARQ says of each living worker of one machine, by its `names.here_key`. Raises QueueError."""
        return await self._call(self._signs_of(here))

    async def server(self) -> str:
        """Which server process answers: its run id. Raises QueueError."""

        async def ask() -> str:
            return str((await (await self._connected()).info("server")).get("run_id", ""))

        return await self._call(ask())

    async def shut_down_server(self) -> None:
        """Tell the bundled server to save and end. Raises QueueError when it does not hear it."""
        from redis.exceptions import ConnectionError as Gone

        try:
            async with asyncio.timeout(CALL_S):
                await (await self._connected()).execute_command("SHUTDOWN")
        except Gone:
            return  # that is its answer
        except Exception as error:
            if not is_queue_fault(error):
                raise
            raise typed(error, self.address.shown, bundled=self.address.bundled) from error

    async def move_to(self, address: Address) -> None:
        """Use another address from the next call on."""
        if address != self.address:
            await self.close()
            self.address = address

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose(close_connection_pool=True)
            self._redis = None

    # -- what is asked -------------------------------------------------------------------------------------------------

    async def _enqueue(self, jobs: Sequence[tuple[str, list[Any]]], ahead_ms: int) -> list[str]:
        """As ARQ's `enqueue_job`, many in two round trips: a thousand files at once would be three thousand of them.

        Not atomic against another who puts the same id in meanwhile: that would be the same job.
        """
        from arq.jobs import serialize_job

        redis = await self._connected()
        wanted = {names.job_id(self.home_id, function, arguments): (function, arguments) for function, arguments in jobs}
        there = await self._there(redis, list(wanted))
        now = time.time_ns() // 1_000_000
        async with redis.pipeline(transaction=True) as pipe:
            for place, (one, (function, arguments)) in enumerate(wanted.items()):
                if one not in there:
                    data = serialize_job(function, tuple(arguments), {}, None, now, serializer=names.encode)
                    pipe.psetex(_JOB + one, _KEPT_MS, data)
                    pipe.zadd(names.queue_name(self.home_id), {one: now - ahead_ms + place / 1000})
            await pipe.execute()
        return [names.job_id(self.home_id, function, arguments) for function, arguments in jobs]

    async def _there(self, redis: Any, job_ids: list[str]) -> set[str]:
        """Which of these wait or run."""
        async with redis.pipeline(transaction=False) as pipe:
            for one in job_ids:
                pipe.exists(_JOB + one)
            found = await pipe.execute()
        return {one for one, exists in zip(job_ids, found, strict=True) if exists}

    async def _waiting(self, job_ids: list[str]) -> set[str]:
        if not job_ids:
            return set()
        redis = await self._connected()
        async with redis.pipeline(transaction=False) as pipe:
            for one in job_ids:
                pipe.zscore(names.queue_name(self.home_id), one)
            scores = await pipe.execute()
        return {one for one, score in zip(job_ids, scores, strict=True) if score is not None}

    async def _look(self) -> QueueFigures:
        redis = await self._connected()
        # A server that is full still answers reads.
        await redis.set(names.prefix(self.home_id) + "probe", "1", ex=60)
        queue, workers = names.queue_name(self.home_id), names.workers_key(self.home_id)
        async with redis.pipeline(transaction=False) as pipe:
            pipe.zcard(queue)
            pipe.hlen(names.held_key(self.home_id))
            pipe.smembers(workers)
            depth, held, members = await pipe.execute()
        signs = await self._signs_of_life(redis, sorted(one.decode() for one in members))
        dead = [worker for worker, sign in signs.items() if sign is None]
        if dead:
            await redis.srem(workers, *dead)
        return QueueFigures(
            at=time.time(),
            depth=max(0, int(depth) - int(held)),
            in_progress=int(held),
            workers={worker: sign for worker, sign in signs.items() if sign is not None},
        )

    async def _signs_of_life(self, redis: Any, workers: list[str]) -> dict[str, str | None]:
        if not workers:
            return {}
        found = await redis.mget([names.health_key(self.home_id, worker) for worker in workers])
        return {worker: None if sign is None else sign.decode() for worker, sign in zip(workers, found, strict=True)}

    async def _signs_of(self, here: str) -> list[str]:
        redis = await self._connected()
        keys = sorted(await redis.smembers(here))
        return [sign.decode() for sign in await redis.mget(keys) if sign is not None] if keys else []

    async def _put_back_lost(self) -> list[Job]:
        redis = await self._connected()
        held = {job.decode(): worker.decode() for job, worker in (await redis.hgetall(names.held_key(self.home_id))).items()}
        signs = await self._signs_of_life(redis, sorted(set(held.values())))
        lost = [job for job, worker in held.items() if signs.get(worker) is None]
        lost += await self._without_holder(redis, held)
        return [job for one in lost if (job := await self._free(redis, one)) is not None]

    async def _without_holder(self, redis: Any, held: dict[str, str]) -> list[str]:
        """Jobs that are marked as running and held by nobody in two looks: their worker died before it could say so."""
        oldest = [one.decode() for one in await redis.zrange(names.queue_name(self.home_id), 0, _LOOK - 1)]
        candidates = [one for one in oldest if one not in held]
        if not candidates:
            self._unowned = set()
            return []
        async with redis.pipeline(transaction=False) as pipe:
            for one in candidates:
                pipe.exists(IN_PROGRESS + one)
            marks = await pipe.execute()
        unowned = {one for one, marked in zip(candidates, marks, strict=True) if marked}
        twice, self._unowned = unowned & self._unowned, unowned
        return sorted(twice)

    async def _free(self, redis: Any, job_id: str) -> Job | None:
        """Let another worker have the job. Returns it if it has killed too many, and takes it out."""
        async with redis.pipeline(transaction=True) as pipe:
            pipe.hdel(names.held_key(self.home_id), job_id)
            pipe.delete(IN_PROGRESS + job_id)
            pipe.zscore(names.queue_name(self.home_id), job_id)
            _, _, score = await pipe.execute()
        if score is None:  # it was finished; only its end was not noted
            return None
        self.put_back += 1
        _log.warning("job %s was lost by its worker and is put back", job_id)
        if int(await redis.hincrby(names.crashes_key(self.home_id), job_id, 1)) < CRASHES:
            return None
        data = await redis.get(_JOB + job_id)
        async with redis.pipeline(transaction=True) as pipe:
            pipe.zrem(names.queue_name(self.home_id), job_id)
            pipe.delete(_JOB + job_id, f"arq:retry:{job_id}")
            pipe.hdel(names.crashes_key(self.home_id), job_id)
            await pipe.execute()
        if data is None:
            return None
        content = names.decode(data)
        return Job(job_id, str(content["f"]), list(content["a"]))

    async def _forget_worker(self, worker: str) -> None:
        redis = await self._connected()
        await redis.delete(names.health_key(self.home_id, worker))
        await redis.srem(names.workers_key(self.home_id), worker)
        self.figures.workers.pop(worker, None)

    # -- the connection ------------------------------------------------------------------------------------------------

    async def _connected(self) -> Any:
        if self._redis is None:
            from arq import create_pool

            self._redis = await create_pool(
                self.address.redis_settings(),
                job_serializer=names.encode,
                job_deserializer=names.decode,
                default_queue_name=names.queue_name(self.home_id),
            )
        return self._redis

    async def _call(self, work: Awaitable[_T]) -> _T:
        """The work's result; a fault of the queue is typed and remembered until a call succeeds again."""
        try:
            result = await _in_time(work)
        except Exception as error:
            if not is_queue_fault(error):
                raise
            self._failed(typed(error, self.address.shown, bundled=self.address.bundled))
            raise self.fault or QueueAway("The queue is away.") from error
        if self.fault is not None:
            _log.info("the queue at %s works", self.address.shown)
            self.fault = None
        return result

    def _failed(self, fault: QueueError) -> None:
        if self.fault is None or type(self.fault) is not type(fault):
            self.fault_since = time.time() if self.fault is None else self.fault_since
            _log.warning("%s", fault)
        self.fault = fault
        self.figures.workers = {}


async def _in_time(work: Awaitable[_T]) -> _T:
    try:
        async with asyncio.timeout(CALL_S):
            return await work
    except TimeoutError as error:
        raise TimeoutError(f"it did not answer within {CALL_S:g} s") from error
