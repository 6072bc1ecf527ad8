"""The service's end of the pipeline: the queue, the children, and whether a backlog goes there or stays with the service.

While the queue answers and a worker is alive it goes there (`HandingOut` says how much of what); else the service does the work
itself, as it would without a queue.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_os.config import Settings
from memory_os.errors import MemoryOSError, QueueError

from memory_os_workers.jobs import names, valkey
from memory_os_workers.jobs.address import queue_address
from memory_os_workers.jobs.children import Children
from memory_os_workers.jobs.figures import figures_of
from memory_os_workers.jobs.handing_out import HandingOut
from memory_os_workers.jobs.queue import CALL_S, Job, Queue
from memory_os_workers.jobs.retries import CRASHES

if TYPE_CHECKING:
    from memory_os.dead_letters import DeadLetter
    from memory_os.documents.scan import Seen
    from memory_os.engine import Engine

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
# Handing files over is a call of the queue and one of memory.db; who waits is the thread that keeps house.
_HAND_OVER_S = 3 * CALL_S
# A queue that has just been started is not yet away.
_STARTING_S = 15.0
_FABRIC_SLOT_S = 5


class Pipeline:
    """One service's. `queue` is None where none is wanted: no server is configured, and no worker of our own."""

    def __init__(
        self, engine: Engine, settings: Settings, *, executor: Executor, nudge: Callable[[], None]
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.queue: Queue | None = None
        self.children: Children | None = None
        self.unavailable = ""
        # Never the threads that read folders: those wait for these.
        self._executor = executor
        # Something was written that wants its vector.
        self.nudge = nudge
        # More files wait to be handed over than fit at a time.
        self.look_at_documents: Callable[[], None] = lambda: None
        # The same of what a model is to be asked.
        self.look_at_turns: Callable[[], None] = lambda: None
        self._started_at = time.time()
        self._tasks: list[asyncio.Task[None]] = []
        self._life = asyncio.Lock()
        self._stopped = False
        self._last_fault = ""
        self._loop = asyncio.get_running_loop()
        self.handing_out = HandingOut(engine, settings, self._in_thread)

    @property
    def usable(self) -> bool:
        return self.queue is not None and self.queue.usable

    # -- its life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the children and the look at the queue. Raises ConfigError for an address that is none."""
        async with self._life:
            if not self._stopped:
                await self._start()

    async def _start(self) -> None:
        self._started_at = time.time()
        values = self.settings.values
        if not values.servers.redis_url:
            if not values.workers.embedded:
                return
            if (reason := valkey.unavailable(self.settings)) is not None:
                self.unavailable = str(reason)
                await self._in_thread(self._count_unavailable, reason.message)
                return
        # Imported on a thread: it takes a quarter of a second, and requests go on meanwhile.
        await self._in_thread(_import_clients)
        home_id = await self._in_thread(lambda: self.engine.store.home_id)
        self.queue = Queue(queue_address(self.settings), home_id)
        self.children = Children(self.settings, self._child_died)
        self.children.start()
        self.engine.documents.hand_over = self._hand_over
        self._tasks.append(asyncio.create_task(self._watch()))

    async def stop(self) -> None:
        """For good. One that is being started is first started."""
        async with self._life:
            self._stopped = True
            await self._stop()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.children is not None:
            await self.children.stop()
        if self.queue is not None:
            await self.queue.close()

    async def _watch(self) -> None:
        """Look at the queue every few seconds. Never ends by a fault of it."""
        while True:
            try:
                await self._look()
            except QueueError:
                pass  # the queue remembers it, and `status` tells
            except (MemoryOSError, sqlite3.Error, OSError) as error:
                _log.error("looking after the queue failed: %s", error)
            except Exception as error:  # noqa: BLE001 - counted and tried again: without a look nobody sees that the workers are gone
                await self._failed(error)
            else:
                self._last_fault = ""
            await asyncio.sleep(LOOK_EVERY_S)

    async def _failed(self, error: Exception) -> None:
        """A fault nobody foresaw: logged once an episode with its traceback, counted."""
        said = f"{type(error).__name__}: {error}"[:300]
        if said != self._last_fault:
            _log.error("looking after the queue failed: %s", said, exc_info=error)
        self._last_fault = said
        await self._in_thread(self._count_fault, said)

    async def _look(self) -> None:
        queue = self.queue
        if queue is None:
            return
        was_usable = queue.usable
        if queue.address.bundled and queue.fault is not None:
            # The server may have been started anew, with a new password.
            await queue.move_to(queue_address(self.settings))
        await queue.look()
        for job in await queue.put_back_lost():
            await self._in_thread(self._bury, job)
        await self.handing_out.forget_finished(queue)
        if queue.usable != was_usable:
            _log.info("the backlog is now worked on by %s", "workers" if queue.usable else "the service itself")
            self.nudge()
        await self._look_for_more(queue)

    async def _look_for_more(self, queue: Queue) -> None:
        """What did not fit when it was handed out, where there is room by now."""
        out = self.handing_out
        if out.more_documents and out.room_for_documents():
            out.more_documents = False
            self.look_at_documents()
        if out.more_to_curate and out.room_for_models(queue, out.curating):
            await self.curate_waiting()
        if out.more_to_ask and out.room_for_models(queue, out.asking):
            out.more_to_ask = False
            self.look_at_turns()

    async def _child_died(self, name: str, pid: int, code: int) -> None:
        await self._in_thread(self._count_restart, name, f"pid {pid} ended with code {code}")
        if name == "worker" and self.queue is not None:
            import socket

            with suppress(QueueError):
                await self.queue.worker_died(names.worker_id(socket.gethostname(), pid))

    # -- what becomes a job --------------------------------------------------------------------------------------------

    async def backlog(self) -> int:
        """The pk up to which passages are embedded by workers; 0 while the service does it all. Hands out what is new.

        Raises what memory.db raises.
        """
        queue = self.queue
        try:
            if queue is not None and queue.usable:
                await self.handing_out.embed(queue)
                return self.handing_out.backlog
        except QueueError:
            pass  # the queue remembers it
        self.handing_out.take_back()
        return 0

    def _hand_over(self, wanted: Sequence[Seen]) -> bool:
        """For Documents, on its own thread: whether workers read and cut these files."""
        queue = self.queue
        if queue is None or not queue.usable or not wanted:
            return False
        work = asyncio.run_coroutine_threadsafe(self.handing_out.prepare(queue, wanted), self._loop)
        try:
            work.result(_HAND_OVER_S)
        except (QueueError, TimeoutError):
            work.cancel()
            return False
        return True

    async def curate_waiting(self) -> bool:
        """Queue raw files that wait. False: there is no queue now, no model to ask, or none waits. Raises QueueError."""
        if not self.usable:
            return False
        files = await self._in_thread(self.handing_out.files_to_curate)
        await self.curate(files)
        return bool(files)

    async def curate(self, files: Sequence[tuple[str, str]]) -> None:
        """Queue these raw files (name, state), those for which there is no room when others are done. Raises QueueError."""
        if self.queue is not None:
            await self.handing_out.curate(self.queue, files)

    async def ask_models(self, jobs: Sequence[tuple[str, list[Any]]]) -> None:
        """Queue what a model is to be asked about turns and people, likewise. Raises QueueError."""
        if self.queue is not None:
            await self.handing_out.ask(self.queue, jobs)

    async def index_fabric(self) -> bool:
        """Queue a look at the fabric folder. False: there is no queue now."""
        queue = self.queue
        if queue is None or not queue.usable:
            return False
        # Events of the same moment are one job.
        await queue.enqueue("index_fabric", [str(int(time.time()) // _FABRIC_SLOT_S)])
        return True

    # -- dead letters --------------------------------------------------------------------------------------------------

    async def requeue(self, number: int) -> dict[str, Any]:
        """Try a dead letter again: in the queue, or by deriving its work anew. Raises BadRequest, QueueError."""
        letters, queue = self.engine.dead_letters, self.queue
        letter = await self._in_thread(letters.one, number)
        if queue is not None and queue.usable:
            # Out before the job is in: one that fails again at once is a new letter, and not the one to be removed.
            await self._in_thread(letters.remove, number)
            try:
                await queue.enqueue(letter.function, letter.payload)
            except Exception:
                await self._in_thread(self._keep, letter)
                raise
        elif letter.function in ("embed", "ingest"):
            await self._in_thread(letters.remove, number)
        else:
            raise self._why_not()
        self.nudge()
        return dict(letter.as_dict())

    def _keep(self, one: DeadLetter) -> None:
        self.engine.dead_letters.add(one.job, one.function, one.payload, one.error, one.message, one.attempts)

    def _why_not(self) -> QueueError:
        fault = None if self.queue is None else self.queue.fault
        return fault or QueueError("No worker is alive.", cure="Start one with `memory-os worker`.")

    def _bury(self, job: Job) -> None:
        message = "Every worker that began it died; look at logs/worker.log and at the memory of the machine."
        self.engine.dead_letters.add(job.id, job.function, job.arguments, "WorkerDied", message, CRASHES)

    # -- for status ----------------------------------------------------------------------------------------------------

    async def figures(self) -> dict[str, Any]:
        """How the queue stands: who works, what waits, since when it is away and what mends that."""
        letters = await self._in_thread(self.engine.dead_letters.count)
        starting = time.time() - self._started_at < _STARTING_S
        children = {} if self.children is None else self.children.figures()
        return figures_of(self.queue, children, letters, unavailable=self.unavailable, starting=starting)

    # -- threads -------------------------------------------------------------------------------------------------------

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await self._loop.run_in_executor(self._executor, work, *arguments)

    def _count_unavailable(self, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count("queue_unavailable", reason=reason)

    def _count_restart(self, name: str, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count(f"{name}_restarted", reason=reason)

    def _count_fault(self, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count("pipeline_failed", reason=reason)


def _import_clients() -> None:
    import arq
    import redis.asyncio

    del arq, redis
