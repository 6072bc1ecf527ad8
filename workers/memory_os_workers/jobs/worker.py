"""The worker process: ARQ over the queue of one home, until it is told to end.

It outlives Redis and the service: whichever is away, it waits for it and goes on. It holds no state; `kill -9` costs
nothing but the time of the job it was at.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from arq.connections import ArqRedis
from arq.worker import Worker as ArqWorker
from memory_os.config import Settings
from memory_os.errors import ConfigError, MemoryOSError, QueueError, WorkerUnfit

from memory_os_workers.jobs import names
from memory_os_workers.jobs.address import is_queue_fault, queue_address, typed
from memory_os_workers.jobs.connection import WorkClient
from memory_os_workers.jobs.functions import arq_functions
from memory_os_workers.jobs.pool import bounded_pool
from memory_os_workers.jobs.priority import step_back
from memory_os_workers.jobs.queue import CALL_S, IN_PROGRESS, Queue
from memory_os_workers.jobs.schedule import cron_jobs
from memory_os_workers.jobs.tools import Tools, greet
from memory_os_workers.processes import share_arenas

_log = logging.getLogger(__name__)

_RECONNECT_MAX_S = 5.0
# A worker was seen that went on for minutes after it was told to end.
_CANCEL_AGAIN_S = 1.0


class Worker(ArqWorker):
    """ARQ's worker with a sign of life that bears a busy machine, longer pauses when there is nothing to do, and a place
    that no job which waits for a model gets."""

    def __init__(self, home_id: str, worker: str, here: str, *, concurrency: int, **options: Any) -> None:
        super().__init__(max_jobs=names.places(concurrency), **options)
        # How many jobs may be in hand: of those that ask a model, and of the others, which want a processor.
        self._most = {True: names.places(concurrency) - 1, False: concurrency}
        self._home_id = home_id
        self._worker = worker
        self._here = here
        self._active_at = time.monotonic()
        # Jobs that ended and are still noted as held by us: let go together, which saves a round trip each.
        self.ended: list[str] = []

    async def let_go(self) -> None:
        """Take what ended off the hash of held jobs."""
        ended, self.ended = self.ended, []
        if ended:
            async with self.pool.pipeline(transaction=False) as pipe:
                pipe.hdel(names.held_key(self._home_id), *ended)
                pipe.hdel(names.crashes_key(self._home_id), *ended)
                await pipe.execute()

    async def record_health(self) -> None:
        before = self._last_health_check
        await super().record_health()
        if self._last_health_check != before:
            async with self.pool.pipeline(transaction=False) as pipe:
                # ARQ lets it expire a second after the next beat is due.
                pipe.expire(self.health_check_key, int(names.ALIVE_S))
                pipe.sadd(names.workers_key(self._home_id), self._worker)
                pipe.sadd(self._here, self.health_check_key)
                pipe.expire(self._here, int(names.ALIVE_S))
                await pipe.execute()

    async def start_jobs(self, job_ids: list[bytes]) -> None:
        for job in job_ids:
            if self.job_counter >= self.max_jobs:
                return
            # What is left in the queue is another worker's, or waits for one of these to end.
            if self._has_place(asks=self._asks(job.decode())):
                await super().start_jobs([job])

    def _has_place(self, *, asks: bool) -> bool:
        in_hand = [job for job, task in self.tasks.items() if not task.done()]
        return sum(self._asks(job) is asks for job in in_hand) < self._most[asks]

    def _asks(self, job: str) -> bool:
        return names.function_of(self._home_id, job) in names.ASK_MODELS

    async def _poll_iteration(self) -> None:
        await super()._poll_iteration()
        await self.let_go()
        now = time.monotonic()
        if self.tasks:
            self._active_at = now
        elif not self.burst and self.allow_pick_jobs and now - self._active_at > names.IDLE_AFTER_S:
            await asyncio.sleep(names.IDLE_POLL_S)


class Process:
    """One `memory-os worker`. `until_eof`: it belongs to a service, and ends when its standard input does."""

    def __init__(self, settings: Settings, service: WorkClient, *, concurrency: int, burst: bool, until_eof: bool) -> None:
        self.settings = settings
        self.address = queue_address(settings)
        self.id = names.worker_id(socket.gethostname(), os.getpid())
        self._here = names.here_key(socket.gethostname(), str(settings.home))
        self._tools = Tools(settings, service)
        self._concurrency = concurrency
        self._burst = burst
        self._until_eof = until_eof
        self._ended = asyncio.Event()
        self._arq: Worker | None = None
        self._home_id = ""
        self._server = ""
        self._unfit: WorkerUnfit | None = None
        self._tools.unfit = self._is_unfit
        self.done = {"complete": 0, "retried": 0, "failed": 0}

    async def run(self) -> None:
        """Work until a signal, the end of standard input, or (burst) an empty queue.

        Raises ConfigError, what the service refuses it with, and WorkerUnfit.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._finish, number)
        if self._until_eof:
            await self._watch_standard_input()
        try:
            self._home_id = await greet(self._tools, self.id, self._ended)
            while not self._ended.is_set():
                await self._work()
            if self._unfit is not None:
                raise self._unfit
        finally:
            await self._tools.close()
            if self._until_eof and self.address.bundled and self._home_id:
                await self._end_queue_server()

    async def _work(self) -> None:
        """One ARQ worker for as long as Redis is there."""
        wait_s = random.uniform(0.1, 1.0)  # noqa: S311 - spreads reconnections, no secret
        try:
            self._arq = await self._connected()
            if self._ended.is_set():  # meanwhile, when there was nobody to tell
                return
            _log.info("worker %s works on %s", self.id, self.address.shown)
            run = asyncio.ensure_future(self._arq.async_run())
            while not (await asyncio.wait({run}, timeout=_CANCEL_AGAIN_S))[0]:
                self._cancel_again(self._arq)
            if not run.cancelled():
                run.exception()  # its main task's, which is looked at next: nobody else is to report it
            main = self._arq.main_task
            if main is not None and not main.cancelled():
                main.result()
            # Cancelled by a signal, or burst and done.
            self._ended.set()
        except Exception as error:
            if not is_queue_fault(error):
                raise
            fault = typed(error, self.address.shown, bundled=self.address.bundled)
            _log.warning("%s Trying again.", fault)
            if self._burst:
                raise fault from error
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), min(_RECONNECT_MAX_S, wait_s))
        finally:
            await self._leave()

    async def _connected(self) -> Worker:
        options: dict[str, Any] = {"job_serializer": names.encode, "job_deserializer": names.decode}
        queue = names.queue_name(self._home_id)
        # The address anew: the bundled server may have a new password since.
        pool = await bounded_pool(queue_address(self.settings).redis_settings(), queue, names.ANSWER_S)
        self._server = str((await pool.info("server")).get("run_id", ""))
        await self._give_up_own(pool)
        return Worker(
            self._home_id,
            self.id,
            self._here,
            functions=arq_functions(self._tools),
            cron_jobs=cron_jobs(self._tools, self._home_id),
            redis_pool=pool,
            queue_name=queue,
            burst=self._burst,
            on_job_start=self._hold,
            after_job_end=self._let_go,
            handle_signals=False,
            job_completion_wait=names.COMPLETION_WAIT_S,
            concurrency=self._concurrency,
            poll_delay=names.POLL_DELAY_S,
            health_check_interval=names.HEALTH_EVERY_S,
            health_check_key=names.health_key(self._home_id, self.id),
            keep_result=names.KEEP_RESULT_S,
            log_results=False,
            **options,
        )

    async def _give_up_own(self, pool: ArqRedis) -> None:
        """What we had in hand when the server went, and could tell nobody the end of: we are at nothing, and alive, so that
        nobody else takes it for lost."""
        held = await pool.hgetall(names.held_key(self._home_id))  # type: ignore[misc]
        own = [job.decode() for job, worker in held.items() if worker.decode() == self.id]
        if own:
            async with pool.pipeline(transaction=True) as pipe:
                pipe.hdel(names.held_key(self._home_id), *own)
                pipe.delete(*(IN_PROGRESS + job for job in own))
                await pipe.execute()

    async def _leave(self) -> None:
        """Put back what was being done, take the sign of life away, close the connection."""
        arq, self._arq = self._arq, None
        if arq is None:
            return
        for name in self.done:
            self.done[name] += getattr(arq, f"jobs_{name}")
        running = list(arq.tasks.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        with suppress(Exception):  # Redis may be what went; then all of it expires by itself
            async with asyncio.timeout(CALL_S):
                await arq.let_go()
                await arq.pool.delete(arq.health_check_key)
                await arq.pool.srem(names.workers_key(self._home_id), self.id)  # type: ignore[misc]
                await arq.pool.srem(self._here, arq.health_check_key)  # type: ignore[misc]
        with suppress(Exception):
            async with asyncio.timeout(CALL_S):
                await arq.pool.aclose(close_connection_pool=True)

    async def _hold(self, ctx: dict[Any, Any]) -> None:
        await ctx["redis"].hset(names.held_key(self._home_id), ctx["job_id"], self.id)

    async def _let_go(self, ctx: dict[Any, Any]) -> None:
        if self._arq is not None:
            self._arq.ended.append(ctx["job_id"])

    # -- the end -------------------------------------------------------------------------------------------------------

    def _finish(self, number: int) -> None:
        """Finish what is being done, take nothing new; a second signal cancels it."""
        again = self._ended.is_set()
        self._ended.set()
        if self._arq is not None:
            number = signal.Signals(number)
            (self._arq.handle_sig if again else self._arq.handle_sig_wait_for_completion)(number)

    def _cancel_again(self, arq: Worker) -> None:
        """A cancellation may be swallowed by what was just being awaited, or come before there was anything to cancel."""
        if self._ended.is_set() and arq.main_task is not None and all(task.done() for task in arq.tasks.values()):
            arq.main_task.cancel()

    def _is_unfit(self, error: WorkerUnfit) -> None:
        """Leave the jobs to those who can: told by a job, which is put back then."""
        if self._unfit is None:
            self._unfit = error
            _log.error("this worker ends: %s", error)
            if not self._ended.is_set():
                self._finish(signal.SIGTERM)

    def _cancel(self) -> None:
        """The service is gone: nobody would take what is being done."""
        self._ended.set()
        if self._arq is not None:
            self._arq.handle_sig(signal.SIGTERM)

    async def _watch_standard_input(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: _Ended(self._cancel), sys.stdin)

    async def _end_queue_server(self) -> None:
        """The bundled server has nobody left but us, unless the service has ended it, or the next one runs its own."""
        queue = Queue(queue_address(self.settings), self._home_id)
        with suppress(QueueError):
            if await queue.server() == self._server:
                await queue.shut_down_server()
        await queue.close()


class _Ended(asyncio.Protocol):
    def __init__(self, cancel: Any) -> None:
        self._cancel = cancel

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()


def run(process_of: Callable[[], Process]) -> dict[str, int]:
    """Run a worker to its end, at the lowest priority. `process_of()` makes it, inside the loop. Returns jobs by outcome."""
    step_back()
    # The service's own worker is started with as much in its environment; one started by hand or in a container is not.
    share_arenas()
    # Every job would be logged twice with its arguments, and file names are somebody's words.
    logging.getLogger("arq").setLevel(logging.WARNING)

    async def main() -> dict[str, int]:
        process = process_of()
        await process.run()
        return process.done

    try:
        return asyncio.run(main())
    except MemoryOSError:
        raise
    except Exception:
        # Nobody reads the standard error of the service's own worker.
        _log.exception("the worker ends by a fault of its own")
        raise


def signs_of_life(settings: Settings) -> tuple[list[str], str]:
    """What ARQ says of each living worker of this machine and home; and, if there is none, why not."""
    return asyncio.run(_signs_of_life(settings))


async def _signs_of_life(settings: Settings) -> tuple[list[str], str]:
    try:
        queue = Queue(queue_address(settings), "")
    except ConfigError as error:
        return [], str(error)
    try:
        signs = await queue.signs_of(names.here_key(socket.gethostname(), str(settings.home)))
    except QueueError as error:
        return [], str(error)
    finally:
        await queue.close()
    silent = f"No worker of this machine gave {queue.address.shown} a sign of life in the last {names.ALIVE_S:g} s."
    return signs, "" if signs else f"{silent} It is not running, or waits for the service, or hangs."


def leave() -> NoReturn:
    """End this process: a thread that waits for a service which hangs would keep Python from ending."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)
