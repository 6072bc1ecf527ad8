"""What a running service is to its handlers: the engine once it is open, the threads, the figures, the wish to stop.

`serving` runs it, `opening` brings it up, `api` answers with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from memory_os import __version__
from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceUnavailable

from memory_os_workers.executors import Executors
from memory_os_workers.models import Models
from memory_os_workers.processes import resident_bytes

if TYPE_CHECKING:
    from memory_os.engine import Engine

    from memory_os_workers.background import Background
    from memory_os_workers.jobs.pipeline import Pipeline
    from memory_os_workers.jobs.reconciliation import Reconciliation
    from memory_os_workers.preparing import Preparing

_log = logging.getLogger(__name__)

# A stop waits this long for requests in flight, and as long again for work on threads.
STOP_GRACE_S = 5.0
# A request that comes while memory.db is still being opened waits this long for it.
OPENING_MAX_S = 10.0


class Service:
    """What the API's handlers share: the engine once it is open, the threads, the figures, the wish to stop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started_at = time.time()
        self.executors = Executors()
        self.stopping = asyncio.Event()
        self.failure: MemoryOSError | None = None
        self.models = Models(settings, self.executors, self.note_error)
        self.background: Background | None = None
        self.pipeline: Pipeline | None = None
        self.preparing: Preparing | None = None
        self.reconciliation: Reconciliation | None = None
        self.recalls_in_flight = 0
        self.requests = 0
        self.errors = 0
        self.last_error = ""
        self.last_error_at = 0.0
        self._engine: Engine | None = None
        self._opened = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def ready(self) -> bool:
        return self._engine is not None and self._engine.ready

    @property
    def open_engine(self) -> Engine | None:
        """The engine if it is open by now."""
        return self._engine

    def opened_with(self, engine: Engine | None) -> None:
        """What the start came to: requests that wait go on. Without an engine the service ends."""
        self._engine = engine
        self._opened.set()
        if engine is None:
            self.stopping.set()

    async def engine(self) -> Engine:
        """The engine, as soon as memory.db is open. Raises ServiceUnavailable while it isn't, or won't be."""
        if self._engine is None:
            try:
                await asyncio.wait_for(self._opened.wait(), OPENING_MAX_S)
            except TimeoutError:
                raise ServiceUnavailable("The service is still opening memory.db.", cure="Try again.") from None
        if self._engine is None:
            raise (self.failure or ServiceUnavailable("The service is stopping.")).with_traceback(None)
        return self._engine

    def holds_database(self) -> bool:
        """Whether memory.db is still the file that was opened; True while none is open."""
        return self._engine is None or self._engine.store.in_place()

    def embed_soon(self) -> None:
        """Tell the background that something was written."""
        if self.background is not None:
            self.background.embed_soon()

    def note_error(self, error: BaseException) -> None:
        """Count an unexpected error of a request, for `status`."""
        self.errors += 1
        self.last_error, self.last_error_at = f"{type(error).__name__}: {error}"[:300], time.time()

    def figures(self) -> dict[str, Any]:
        """What `status` says of the process itself. Times in epoch seconds, memory in bytes."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "home": str(self.settings.home),
            "socket": str(self.settings.socket),
            "tcp": f"{self.settings.values.service.host or '127.0.0.1'}:{self.settings.values.service.port}"
            if self.settings.values.service.port
            else "",
            "started_at": self.started_at,
            "uptime_s": round(time.time() - self.started_at, 1),
            "ready": self.ready,
            "model_error": self.models.error,
            "model_attempts": self.models.attempts,
            "model_again_at": self.models.again_at or None,
            "memory_bytes": resident_bytes(os.getpid()),
            "requests": self.requests,
            "errors": self.errors,
            "last_error": self.last_error,
            "last_error_at": self.last_error_at or None,
        }

    async def end_children(self) -> None:
        """No new background work; long work ends at its next step; the worker and the queue's server end."""
        if self.background is not None:
            self.background.stopping = True
        if self._engine is not None:
            self._engine.halt()
        if self.reconciliation is not None:
            self.reconciliation.stop()
        if self.pipeline is not None:
            await self.pipeline.stop()

    async def shut_down(self) -> bool:
        """End the loops and threads, close the engine. Returns whether every thread ended in time."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        ended = await asyncio.to_thread(self.executors.join, STOP_GRACE_S)
        if self._engine is not None and ended:
            await asyncio.to_thread(self._engine.close)
        return ended

    def keep(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run it until the end. What it raises would otherwise be told to nobody."""

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self.note_error(error)
                _log.error("%s ended by a fault", name, exc_info=error)

        task = asyncio.create_task(work)
        task.add_done_callback(ended)
        self._tasks.append(task)
