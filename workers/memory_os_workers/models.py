"""The embedding model of a running service: loaded beside the start, and again and again while it can't be."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from memory_os.config import Settings
from memory_os.errors import MemoryOSError

from memory_os_workers.background import is_disk_full, retry_delay
from memory_os_workers.executors import Executors

if TYPE_CHECKING:
    from memory_os.embedding import Embedder
    from memory_os.engine import Engine

_log = logging.getLogger(__name__)

# A full disk is looked at this often; what else may pass by itself (an endpoint that is not up yet) at first after a second,
# then twice as long each time, up to a minute.
AGAIN_S = 5.0


class Models:
    """`error`: why there is none, "" once there is. `attempts` that failed so far, and when (epoch seconds) the next one comes;
    0: none does. Until it is loaded recall works by words alone.
    """

    def __init__(self, settings: Settings, executors: Executors, note_error: Callable[[BaseException], None]) -> None:
        self.error = ""
        self.attempts = 0
        self.again_at = 0.0
        self._settings = settings
        self._thread = executors.long
        self._note_error = note_error
        self._again_s = AGAIN_S
        self._embedder: Future[Embedder] | None = None

    def begin(self) -> Future[Embedder]:
        """Read the model's files on a thread; `load` waits for them."""
        self._embedder = self._thread.submit(_load_embedder, self._settings)
        return self._embedder

    async def load(self, engine: Engine) -> bool:
        """Give the engine its model. Returns whether it could not be loaded for a reason that may pass by itself."""
        try:
            embedder = await asyncio.wrap_future(self._embedder or self.begin())
            await asyncio.get_running_loop().run_in_executor(self._thread, engine.load_models, embedder)
        except Exception as error:  # noqa: BLE001 - recall goes on by words alone, and `status` says why
            return await self._failed(engine, error)
        self.error, self.again_at = "", 0.0
        return False

    async def load_later(self, engine: Engine) -> None:
        """Again and again until it can be loaded, or can't for good."""
        passing = True
        while passing:
            await asyncio.sleep(self._again_s)
            self.begin()
            passing = await self.load(engine)

    async def _failed(self, engine: Engine, error: Exception) -> bool:
        """Told when it begins, shown for as long as it lasts."""
        from memory_os.embedding import may_pass

        if str(error) != self.error:
            self._note_error(error)
            _log.error("the models could not be loaded; recall works by words only", exc_info=error)
            await asyncio.get_running_loop().run_in_executor(self._thread, _count, engine, error)
        self.error = str(error)
        self.attempts += 1
        if not is_disk_full(error) and not may_pass(error):
            return False
        self._again_s = AGAIN_S if is_disk_full(error) else retry_delay(self.attempts)
        self.again_at = time.time() + self._again_s
        return True


def _load_embedder(settings: Settings) -> Embedder:
    from memory_os.embedding import load_embedder

    return load_embedder(settings)


def _count(engine: Engine, error: Exception) -> None:
    with suppress(sqlite3.Error, OSError, MemoryOSError):
        engine.store.count("models_not_loaded", reason=str(error))
