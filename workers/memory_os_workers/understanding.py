"""When sessions are read and people thought about: what is due becomes jobs where a worker is alive; else the service asks the
model itself, one after the other, beside all requests. What somebody took back goes whatever a model is at."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_os.errors import MemoryOSError

if TYPE_CHECKING:
    from memory_os.engine import Engine
    from memory_os.llm import ModelClient

    from memory_os_workers.jobs.pipeline import Pipeline

_log = logging.getLogger(__name__)

# A look is one indexed query while nothing waits.
EVERY_S = 15.0
# A scope's reflection is one job in so long a time: what is left of its memories comes with the next.
_REFLECTION_SLOT_S = 300
READ, THINK, REFLECT = "understand", "think", "reflect"


class Understander:
    """One service's loop. `executor`: the thread that reads and writes memory for it."""

    def __init__(self, engine: Engine, pipeline: Pipeline, *, executor: Executor, nudge: Callable[[], None]) -> None:
        self._engine = engine
        self._pipeline = pipeline
        self._executor = executor
        self._nudge = nudge
        self._model: ModelClient | None = None
        self._last_errors: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._forgetting = asyncio.Lock()
        pipeline.look_at_turns = self.hurry

    async def run(self) -> None:
        """Until cancelled, which cancels a question that is being asked too; never ends by a fault."""
        try:
            await asyncio.gather(self._look_again_and_again(), self._forget_again_and_again())
        finally:
            if self._model is not None:
                await self._model.close()

    def hurry(self) -> None:
        """Somebody waits: look now. On the loop's thread."""
        self._wake.set()

    async def _look_again_and_again(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), EVERY_S)
            self._wake.clear()
            await self._attempt("turns stay unread", self.look)

    async def _forget_again_and_again(self) -> None:
        """Beside a look, which waits for a model for minutes where the service asks it itself."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self._attempt("what was taken back stays", self._forget_what_was_taken_back)

    async def _attempt(self, failed: str, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            await work()
            self._last_errors.pop(failed, None)
        except (sqlite3.Error, MemoryOSError, OSError) as error:
            if str(error) != self._last_errors.get(failed):
                _log.warning("%s: %s", failed, error)
            self._last_errors[failed] = str(error)
        except Exception as error:  # noqa: BLE001 - told once an episode and tried again; the loop must outlive any fault
            said = f"{type(error).__name__}: {error}"
            if said != self._last_errors.get(failed):
                _log.exception("%s", failed)
            self._last_errors[failed] = said

    async def look(self) -> int:
        """Forget what was taken back; then hand out what is due, or read it here. Returns how many jobs that were.

        Raises what memory.db raises.
        """
        await self._forget_what_was_taken_back()
        jobs = await self._in_thread(self._due)
        if not jobs:
            return 0
        queue = self._pipeline.queue
        if queue is not None and queue.usable:
            await self._pipeline.ask_models(jobs)
            return len(jobs)
        for function, arguments in jobs:
            await self._do(function, arguments)
        return len(jobs)

    async def _do(self, function: str, arguments: list[Any]) -> None:
        if function == READ:
            await self._read(*arguments)
        elif function == THINK:
            await self._think(*arguments)
        else:
            await self._reflect(*arguments)

    async def _forget_what_was_taken_back(self) -> None:
        """A person's "forget that", before anything is read: no model is shown it any more."""
        async with self._forgetting:
            await self._in_thread(self._engine.taking_back.carry_out, time.time())

    def _due(self) -> list[tuple[str, list[Any]]]:
        """What failed for good stays with the dead letters until somebody requeues it, or until there is more to it."""
        layer, now = self._engine.understanding, time.time()
        read = [(READ, [one.session_id, one.scope, one.watermark]) for one in layer.due(now)]
        think = [(THINK, [scope, question]) for scope, question in layer.person.due(now)]
        layer.reflection.retire(now)
        reflect = [(REFLECT, [scope, str(int(now // _REFLECTION_SLOT_S))]) for scope in layer.reflection.due(now)]
        # A question first: somebody may wait for its answer.
        asked = [one for one in think if one[1][1]]
        jobs: list[tuple[str, list[Any]]] = [*asked, *read, *(one for one in think if not one[1][1]), *reflect]
        if not jobs:
            return []
        dead = [(one.function, one.payload) for one in self._engine.dead_letters.all()]
        return [one for one in jobs if one not in dead]

    async def _read(self, session_id: str, scope: str, watermark: int) -> None:
        from memory_os.understanding.asking import delivery_of

        layer = self._engine.understanding
        reading = await self._in_thread(layer.reading, scope, session_id, watermark, time.time())
        if reading is not None:
            delivered = await delivery_of(await self._client(), reading)
            await self._in_thread(layer.deliver, delivered, time.time())
            self._nudge()

    async def _think(self, scope: str, question: str) -> None:
        from memory_os.understanding.asking import thought_of

        person = self._engine.understanding.person
        thinking = await self._in_thread(person.thinking, scope, question, time.time())
        if thinking is not None:
            thought = await thought_of(await self._client(), thinking)
            await self._in_thread(person.keep, thought, time.time())

    async def _reflect(self, scope: str, slot: str) -> None:
        from memory_os.understanding.asking import reflection_of

        reflection = self._engine.understanding.reflection
        memories = await self._in_thread(reflection.memories, scope, time.time())
        if memories is not None:
            seen = await reflection_of(await self._client(), memories)
            await self._in_thread(reflection.keep, seen, time.time())
            self._nudge()

    async def _client(self) -> ModelClient:
        from memory_os.llm import ModelClient, StoreUsage

        if self._model is None:
            usage = await self._in_thread(StoreUsage, self._engine.store)
            self._model = ModelClient.open(self._engine.settings, usage)
        return self._model

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
