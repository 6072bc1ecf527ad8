"""The service's end of the pipeline: the queue, the children, and what becomes a job.

While the queue answers and a worker is alive, a backlog goes there; else the service does the work itself, as before. What
is to be done is asked of memory and the disk each time, so a job that is lost is handed out again.
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
from memory_os_workers.jobs.queue import CALL_S, Job, Queue
from memory_os_workers.jobs.retries import CRASHES

if TYPE_CHECKING:
    from memory_os.dead_letters import DeadLetter
    from memory_os.documents.scan import Seen
    from memory_os.engine import Engine

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
# So few texts are a live turn: the service embeds them at once, for a worker would only come later.
OWN_MAX = 16
# Handing files over is a call of the queue and one of memory.db; who waits is the thread that keeps house.
_HAND_OVER_S = 3 * CALL_S
# Jobs that may wait at a time: enough for dozens of workers, little enough that what comes next is not behind a week's work.
EMBED_JOBS_MAX = 128
DOCUMENT_JOBS_MAX = 1000
# A file that comes is read (and curated) before texts of earlier ones are embedded: its words find it within a minute, whatever waits.
# While many come, the little that the encoder is given overtakes them in turn.
_FILES_AHEAD_S, _ENCODER_AHEAD_S = 1800, 3600
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
        self._loop = asyncio.get_running_loop()
        # Up to this pk passages are a backlog that workers embed; what is newer was just said.
        self._backlog = 0
        self._embedding: dict[str, frozenset[str]] = {}
        self._preparing: set[str] = set()
        self._more_documents = False
        self._curating: set[str] = set()
        self._more_to_curate = False
        self._asking: set[str] = set()
        self._more_to_ask = False
        # Of a worker's places, one is left to whatever else comes.
        self._places = max(1, settings.values.workers.concurrency - 1)

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
            await asyncio.sleep(LOOK_EVERY_S)

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
        await self._forget_finished(queue)
        if queue.usable != was_usable:
            _log.info("the backlog is now worked on by %s", "workers" if queue.usable else "the service itself")
            self.nudge()
        if self._more_documents and len(self._preparing) < DOCUMENT_JOBS_MAX // 2:
            self._more_documents = False
            self.look_at_documents()
        if self._more_to_curate and len(self._curating) < self._most_places(queue):
            await self.curate_waiting()
        if self._more_to_ask and len(self._asking) < self._most_places(queue):
            self._more_to_ask = False
            self.look_at_turns()

    async def _forget_finished(self, queue: Queue) -> None:
        asked = {*self._embedding, *self._preparing, *self._curating, *self._asking}
        # What is handed out while the queue answers is not among those.
        gone = asked - await queue.waiting(asked)
        self._embedding = {job: hashes for job, hashes in self._embedding.items() if job not in gone}
        self._preparing -= gone
        self._curating -= gone
        self._asking -= gone

    def _most_places(self, queue: Queue) -> int:
        """How many jobs of a kind may be handed out so that every worker has a place left."""
        return self._places * max(1, len(queue.figures.workers))

    async def _child_died(self, name: str, pid: int, code: int) -> None:
        await self._in_thread(self._count_restart, name, f"pid {pid} ended with code {code}")
        if name == "worker" and self.queue is not None:
            import socket

            with suppress(QueueError):
                await self.queue.worker_died(names.worker_id(socket.gethostname(), pid))

    # -- embedding -----------------------------------------------------------------------------------------------------

    async def backlog(self) -> int:
        """The pk up to which passages are embedded by workers; 0 while the service does it all. Hands out what is new.

        Raises what memory.db raises.
        """
        queue = self.queue
        if queue is None or not queue.usable:
            self._backlog = 0
            self._embedding.clear()
            return 0
        try:
            await self._hand_out(queue)
        except QueueError:
            self._backlog = 0
            self._embedding.clear()
        return self._backlog

    async def _hand_out(self, queue: Queue) -> None:
        own = await self._in_thread(lambda: self.engine.index.embeddings.unembedded(OWN_MAX + 1, after=self._backlog))
        # More files on their way than a few are a backlog from their first passage on: what they give comes in drops.
        many_files = len(self._preparing) > OWN_MAX
        if own and (many_files or len(own) > OWN_MAX):
            self._backlog = max(own.values())
        # Behind the files that still come, an encoder would idle until the last of them is cut: it gets all but one of a
        # worker's places, and the files the rest.
        most = self._most_places(queue) if many_files else EMBED_JOBS_MAX
        if not self._backlog or len(self._embedding) > (most - 1 if many_files else most // 2):
            return
        room = most - len(self._embedding)
        hashes = await self._in_thread(self._to_hand_out, room * names.EMBED_JOB_MAX)
        batches = [hashes[at : at + names.EMBED_JOB_MAX] for at in range(0, len(hashes), names.EMBED_JOB_MAX)]
        ids = await queue.enqueue_all([("embed", [batch]) for batch in batches], ahead_s=_ENCODER_AHEAD_S * many_files)
        self._embedding.update(zip(ids, map(frozenset, batches), strict=True))

    def _to_hand_out(self, limit: int) -> list[str]:
        elsewhere = self.engine.dead_letters.hashes().union(*self._embedding.values())
        found = self.engine.index.embeddings.unembedded(limit, elsewhere=elsewhere)
        return [one for one, newest in found.items() if newest <= self._backlog]

    # -- documents -----------------------------------------------------------------------------------------------------

    def _hand_over(self, wanted: Sequence[Seen]) -> bool:
        """For Documents, on its own thread: whether workers read and cut these files."""
        if not self.usable or not wanted:
            return False
        work = asyncio.run_coroutine_threadsafe(self._enqueue_documents(wanted), self._loop)
        try:
            work.result(_HAND_OVER_S)
        except (QueueError, TimeoutError):
            work.cancel()
            return False
        return True

    async def _enqueue_documents(self, wanted: Sequence[Seen]) -> None:
        queue = self.queue
        assert queue is not None
        jobs: list[tuple[str, list[Any]]] = [("ingest", [one.name, one.stamp]) for one in wanted]
        ids = [names.job_id(queue.home_id, function, arguments) for function, arguments in jobs]
        dead = await self._in_thread(lambda: {one.job for one in self.engine.dead_letters.all()})
        fresh = [job for job, one in zip(jobs, ids, strict=True) if one not in self._preparing and one not in dead]
        room = max(0, DOCUMENT_JOBS_MAX - len(self._preparing))
        self._more_documents = len(fresh) > room
        self._preparing.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    # -- the wiki and the fabric ---------------------------------------------------------------------------------------

    async def curate_waiting(self) -> bool:
        """Queue raw files that wait. False: there is no queue now, no model to ask, or none waits."""
        if not self.usable:
            return False
        files = await self._in_thread(self._to_curate)
        await self.curate(files)
        return bool(files)

    async def curate(self, files: Sequence[tuple[str, str]]) -> None:
        """Queue these raw files (name, state): as many as leave a place of each worker free, for a model may take minutes
        over one; the others when those are done. Raises QueueError."""
        queue = self.queue
        if queue is None:
            return
        jobs: list[tuple[str, list[Any]]] = [("curate", [name, stamp]) for name, stamp in files]
        fresh = [one for one in jobs if names.job_id(queue.home_id, *one) not in self._curating]
        room = max(0, self._most_places(queue) - len(self._curating))
        self._more_to_curate = len(fresh) > room
        self._curating.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    async def ask_models(self, jobs: Sequence[tuple[str, list[Any]]]) -> None:
        """Queue what a model is to be asked about turns and people, and as with files no more than leave a place free; the
        others when those are done. Raises QueueError."""
        queue = self.queue
        if queue is None:
            return
        fresh = [one for one in jobs if names.job_id(queue.home_id, *one) not in self._asking]
        room = max(0, self._most_places(queue) - len(self._asking))
        self._more_to_ask = len(fresh) > room
        # As far ahead as files to be curated: whichever came first.
        self._asking.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    def _to_curate(self) -> list[tuple[str, str]]:
        from memory_os.wiki import curates

        if not self.engine.wiki.tree.there or not curates(self.settings):
            return []
        dead = {tuple(one.payload) for one in self.engine.dead_letters.all() if one.function == "curate"}
        states = [(one.name, f"{one.size}-{one.mtime_ns}") for one in self.engine.wiki.waiting()]
        return [one for one in states if one not in dead]

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
        queue = self.queue
        found: dict[str, Any] = {
            "mode": self._mode(),
            "worked_by": "workers" if self.usable else "service",
            "dead_letters": await self._in_thread(self.engine.dead_letters.count),
            "children": {} if self.children is None else self.children.figures(),
        }
        if queue is not None:
            figures = queue.figures
            found |= {
                "address": queue.address.shown,
                "depth": figures.depth,
                "in_progress": figures.in_progress,
                "workers": dict(figures.workers),
                "put_back": queue.put_back,
                "away_since": queue.fault_since if queue.fault is not None else None,
                "fault": "" if queue.fault is None else str(queue.fault),
            }
        found["findings"] = self._findings(found)
        return found

    def _mode(self) -> str:
        if self.queue is None:
            return "off"
        return "embedded" if self.queue.address.bundled else "server"

    def _findings(self, found: dict[str, Any]) -> list[str]:
        lines = [f"no queue: {self.unavailable}"] if self.unavailable else []
        children = [child["finding"] for child in found["children"].values() if child["finding"]]
        starting = time.time() - self._started_at < _STARTING_S
        if children:
            lines += children  # the reason of all that follows from it
        elif not starting and self.queue is not None:
            if found["fault"]:
                since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["away_since"]))
                lines.append(f"the queue is away since {since}: {found['fault']}")
            elif not found["workers"]:
                lines.append("no worker is alive; the service does the work itself. Start one with `memory-os worker`.")
        if found["dead_letters"]:
            lines.append(f"jobs that failed for good: {found['dead_letters']}; `memory-os dlq list` shows why")
        return lines

    # -- threads -------------------------------------------------------------------------------------------------------

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await self._loop.run_in_executor(self._executor, work, *arguments)

    def _count_unavailable(self, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count("queue_unavailable", reason=reason)

    def _count_restart(self, name: str, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count(f"{name}_restarted", reason=reason)


def _import_clients() -> None:
    import arq
    import redis.asyncio

    del arq, redis
