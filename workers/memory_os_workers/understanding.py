"""When sessions are read: due ones become jobs `understand` where a worker is alive; else the service asks the model itself,
one session after the other, beside all requests."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from memory_os.errors import MemoryOSError

if TYPE_CHECKING:
    from memory_os.engine import Engine
    from memory_os.llm import ModelClient
    from memory_os.understanding.reader import Waiting

    from memory_os_workers.jobs.pipeline import Pipeline

_log = logging.getLogger(__name__)

# A look is one indexed query while nothing waits.
EVERY_S = 15.0
_FUNCTION = "understand"


class Understander:
    """One service's loop. `executor`: the thread that reads and writes memory for it."""

    def __init__(self, engine: Engine, pipeline: Pipeline, *, executor: Executor, nudge: Callable[[], None]) -> None:
        self._engine = engine
        self._pipeline = pipeline
        self._executor = executor
        self._nudge = nudge
        self._model: ModelClient | None = None
        self._last_error = ""

    async def run(self) -> None:
        """Until cancelled, which cancels a question that is being asked too; never ends by a fault."""
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                await self._attempt()
        finally:
            if self._model is not None:
                await self._model.close()

    async def _attempt(self) -> None:
        try:
            await self.look()
            self._last_error = ""
        except (sqlite3.Error, MemoryOSError, OSError) as error:
            if str(error) != self._last_error:
                _log.warning("turns stay unread: %s", error)
            self._last_error = str(error)

    async def look(self) -> int:
        """Hand out what is due, or read it here. Returns how many sessions that were. Raises what memory.db raises."""
        due = await self._in_thread(self._engine.understanding.due, time.time())
        if not due:
            return 0
        queue = self._pipeline.queue
        if queue is not None and queue.usable:
            jobs = await self._in_thread(self._jobs, due)
            await queue.enqueue_all(jobs)
            return len(jobs)
        for one in due:
            await self._read(one)
        return len(due)

    def _jobs(self, due: list[Waiting]) -> list[tuple[str, list[Any]]]:
        """What failed for good stays with the dead letters until somebody requeues it, or until the session goes on."""
        letters = self._engine.dead_letters.all()
        dead = [one.payload for one in letters if one.function == _FUNCTION]
        payloads = [[one.session_id, one.scope, one.watermark] for one in due]
        return [(_FUNCTION, one) for one in payloads if one not in dead]

    async def _read(self, one: Waiting) -> None:
        from memory_os.understanding.asking import delivery_of

        layer = self._engine.understanding
        reading = await self._in_thread(layer.reading, one.scope, one.session_id, one.watermark, time.time())
        if reading is not None:
            delivered = await delivery_of(await self._client(), reading)
            await self._in_thread(layer.deliver, delivered, time.time())
            self._nudge()

    async def _client(self) -> ModelClient:
        from memory_os.llm import ModelClient, StoreUsage

        if self._model is None:
            usage = await self._in_thread(StoreUsage, self._engine.store)
            self._model = ModelClient.open(self._engine.settings, usage)
        return self._model

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
