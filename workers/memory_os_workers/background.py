"""What the service does between requests: take the spool in, embed what is new, keep house.

Three loops, each on a thread of its own, so that neither an import of old sessions nor a long reindex holds up what was
said a second ago. None ever ends by an error: a failure is counted, logged once, shown in `status`, and tried again later. What
waits in the spool is on disk and stays there until it was stored.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memory_os.config import Settings
from memory_os.errors import MemoryOSError

from memory_os_workers.processes import give_back
from memory_os_workers.run_files import spool_files

if TYPE_CHECKING:
    from memory_os.engine import Engine

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

# Without a nudge the spool and the index are looked at this often: a scandir and two indexed queries, microseconds.
INTERVAL_S = 1.0
HOUSEKEEPING_INTERVAL_S = 60.0
# A batch is sized to last about this long, so that a recall which comes meanwhile keeps its deadline of 300 ms. Short
# turns go 16 at a time; a document's chunks of 500 tokens go singly on a slow machine.
BATCH_GOAL_S = 0.1
BATCH_MAX = 16
# While a turn waits for its recall the encoder stays idle, but no longer than this in one go: a service that is
# asked without pause must still learn.
RECALL_GRACE_S = 0.05
RECALL_GRACE_MAX_S = 2.0
RETRY_MAX_S = 60.0


def retry_delay(failures: int) -> float:
    """Seconds before the next attempt after so many failures in a row: 0, 1, 2, 4 … 60."""
    return 0.0 if failures <= 0 else min(2.0 ** min(failures - 1, 10), RETRY_MAX_S)


def next_batch(size: int, seconds: float) -> int:
    """How many passages to embed next, after `size` of them took so many seconds."""
    if seconds > 1.5 * BATCH_GOAL_S:
        return max(1, size // 2)
    return min(BATCH_MAX, size * 2) if seconds < 0.5 * BATCH_GOAL_S else size


def is_disk_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that the disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, sqlite3.Error) and "disk is full" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@dataclass
class Duty:
    """One repeated piece of work and how it fares."""

    name: str
    runs: int = 0
    failures_in_a_row: int = 0
    failures: int = 0
    last_error: str = ""
    last_error_at: float = 0.0
    disk_full: bool = False

    def succeeded(self) -> None:
        self.runs += 1
        if self.failures_in_a_row:
            _log.info("%s works again after %d failures", self.name, self.failures_in_a_row)
        self.failures_in_a_row = 0
        self.disk_full = False

    def failed(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"[:300]
        if text != self.last_error or not self.failures_in_a_row:
            _log.error("%s failed, will be tried again", self.name, exc_info=error)
        self.failures_in_a_row += 1
        self.failures += 1
        self.last_error, self.last_error_at = text, time.time()
        self.disk_full = is_disk_full(error)

    def figures(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "failures": self.failures,
            "failing": self.failures_in_a_row > 0,
            "last_error": self.last_error,
            "last_error_at": self.last_error_at or None,
            "disk_full": self.disk_full,
        }


class Background:
    """The three loops of one service, each with a single-thread executor. `busy()`: whether a recall is in flight."""

    def __init__(
        self, engine: Engine, settings: Settings, *, capture: Executor, embed: Executor, house: Executor,
        busy: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.engine = engine
        self.settings = settings
        self.stopping = False
        # The pk up to which workers embed; without a queue there is no such passage.
        self.backlog: Callable[[], Awaitable[int]] = _no_backlog
        self._capture = capture
        self._embed = embed
        self._house = house
        self._busy = busy
        self._nudged = asyncio.Event()
        self._written = asyncio.Event()
        self.spool = Duty("taking the spool in")
        self.embedding = Duty("embedding")
        self.housekeeping = Duty("housekeeping")

    def nudge(self) -> None:
        """Look at the spool now."""
        self._nudged.set()

    def embed_soon(self) -> None:
        """Something was written that wants its vector."""
        self._written.set()

    async def run(self) -> None:
        await asyncio.gather(self._capture_loop(), self._embedding_loop(), self._housekeeping_loop())

    async def drain(self) -> int:
        """Take the spool in now; serialised with the loop's own draining. Returns how many records were taken."""
        taken = await self._attempt(self.spool, self._capture, self.engine.drain_spool)
        self.embed_soon()
        return taken or 0

    def figures(self) -> dict[str, Any]:
        waiting = len(spool_files(self.settings))
        duties = {"spool": self.spool, "embedding": self.embedding, "housekeeping": self.housekeeping}
        note = ""
        if any(duty.disk_full for duty in duties.values()):
            note = f"the disk is full; {waiting} captured records wait in the spool and are tried again"
        return {"spool_depth": waiting, "note": note, **{name: duty.figures() for name, duty in duties.items()}}

    async def _capture_loop(self) -> None:
        while not self.stopping:
            await _pause(self._nudged, max(INTERVAL_S, retry_delay(self.spool.failures_in_a_row)))
            if not self._busy():
                collect_young()
            # A folder may be large or on a slow disk, and this thread answers requests.
            if await asyncio.to_thread(spool_files, self.settings) and not self.stopping:
                await self.drain()

    async def _embedding_loop(self) -> None:
        size = BATCH_MAX // 4
        while not self.stopping:
            await _pause(self._written, max(INTERVAL_S, retry_delay(self.embedding.failures_in_a_row)))
            while self.engine.ready and not self.stopping:
                await self._give_way()
                started = time.monotonic()
                if not await self._embed_batch(size):
                    break
                size = next_batch(size, time.monotonic() - started)

    async def _embed_batch(self, size: int) -> int:
        try:
            backlog = await self.backlog()
        except Exception as error:  # noqa: BLE001 - recorded and tried again; the loop must outlive any fault
            self.embedding.failed(error)
            return 0
        return await self._attempt(self.embedding, self._embed, self.engine.index_pending, size, backlog) or 0

    async def _give_way(self) -> None:
        """Let recalls in flight have the processor, for a while."""
        waited = 0.0
        while self._busy() and waited < RECALL_GRACE_MAX_S:
            await asyncio.sleep(RECALL_GRACE_S)
            waited += RECALL_GRACE_S

    async def _housekeeping_loop(self) -> None:
        while not self.stopping:
            await self._attempt(self.housekeeping, self._house, self.engine.housekeeping, time.time())
            await asyncio.get_running_loop().run_in_executor(self._house, give_back)
            await asyncio.sleep(max(HOUSEKEEPING_INTERVAL_S, retry_delay(self.housekeeping.failures_in_a_row)))

    async def _attempt(self, duty: Duty, executor: Executor, work: Callable[..., _T], *arguments: Any) -> _T | None:
        """Run one piece of work on its thread; None when it failed."""
        try:
            result = await asyncio.get_running_loop().run_in_executor(executor, work, *arguments)
        except Exception as error:  # noqa: BLE001 - recorded, counted and retried; the loop must outlive any fault
            duty.failed(error)
            # On a thread: what made the work fail (a locked database) would hold up the event loop too.
            await asyncio.get_running_loop().run_in_executor(executor, self._count, duty)
            return None
        duty.succeeded()
        return result

    def _count(self, duty: Duty) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self.engine.store.count("background_failed", reason=f"{duty.name}: {duty.last_error}")


def collect_young() -> None:
    """Look for garbage among what was made lately, while nobody waits: some 2 ms, which Python by itself would take in the
    midst of every second recall. Not during the start, which switches it off."""
    if gc.isenabled():
        gc.collect(1)


async def _no_backlog() -> int:
    return 0


async def _pause(event: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until the event comes."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    event.clear()
