"""What is on disk and what memory has of it, brought together: when file events say so, and again and again without them.

An event only says "look there now". What is to be done is found by comparing, so that nothing depends on events or on the
queue: the maintenance duties `documents` and `fabric` look all the same, every few minutes.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_os.errors import MemoryOSError, QueueError

from memory_os_workers.jobs.pipeline import Pipeline
from memory_os_workers.watching import Watcher

if TYPE_CHECKING:
    from memory_os.documents.report import IngestReport
    from memory_os.engine import Engine

_log = logging.getLogger(__name__)

# Without any event, followed folders and the wiki's raw files are looked at this often.
EVERY_S = 60.0
AT_REST_S = 5.0
# After a fault (a share that is away, a locked database).
_AFTER_FAULT_S = 15.0


class Reconciliation:
    """One service's. `house`: the thread on which folders are read."""

    def __init__(self, engine: Engine, pipeline: Pipeline, *, house: Executor) -> None:
        self._engine = engine
        self._pipeline = pipeline
        self._house = house
        self._fabric_root = engine.settings.fabric_dir
        self._documents = asyncio.Event()
        self._fabric = asyncio.Event()
        self._documents.set()
        self.looks = 0
        self.last_at = 0.0
        self.last_error = ""
        mode = engine.settings.values.documents.events
        self.watcher = Watcher(self._roots, self._nudged, mode=mode)

    async def run(self) -> None:
        """Until cancelled; never ends by a fault."""
        await asyncio.gather(self.watcher.run(), self._documents_loop(), self._fabric_loop())

    def stop(self) -> None:
        self.watcher.stop()

    def look_now(self) -> None:
        """Look at the documents without waiting for an event."""
        self._documents.set()

    def figures(self) -> dict[str, Any]:
        return {
            "looks": self.looks,
            "last_at": self.last_at or None,
            "last_error": self.last_error,
            "events": self.watcher.figures(),
        }

    def _roots(self) -> list[Path]:
        """On a thread of the watcher's: every followed folder, and the fabric's."""
        try:
            documents = [root.path for root in self._engine.documents.roots()]
        except (sqlite3.Error, MemoryOSError, OSError) as error:
            _log.info("what is followed can't be read now: %s", error)
            documents = []
        return [*documents, self._fabric_root]

    def _nudged(self, root: Path) -> None:
        (self._fabric if root == self._fabric_root else self._documents).set()

    async def _documents_loop(self) -> None:
        again_s = EVERY_S
        while True:
            changed = await _either(self._documents, again_s)
            again_s = await self._look()
            if changed:
                # What was just written comes to rest meanwhile; curation waits for that, and no event tells.
                again_s = min(again_s, AT_REST_S)
            try:
                await self._pipeline.curate_waiting()
            except (sqlite3.Error, MemoryOSError, OSError) as error:
                _log.info("raw files of the wiki stay waiting: %s", error)

    async def _look(self) -> float:
        """Compare, do what needs no reading, hand the rest to workers or do it. Returns seconds until the next look."""
        loop = asyncio.get_running_loop()
        try:
            report: IngestReport = await loop.run_in_executor(self._house, self._engine.documents.refresh)
        except (sqlite3.Error, MemoryOSError, OSError) as error:
            if str(error) != self.last_error:
                _log.error("the documents could not be looked at: %s", error)
            self.last_error = str(error)
            await loop.run_in_executor(self._house, self._count, str(error))
            return _AFTER_FAULT_S
        self.looks, self.last_at, self.last_error = self.looks + 1, time.time(), ""
        if any(one.status in ("ok", "removed", "renamed", "skipped") for one in report.files):
            self._pipeline.nudge()
        return min(EVERY_S, report.look_again_s or EVERY_S)

    async def _fabric_loop(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._fabric.wait()
            self._fabric.clear()
            with suppress(QueueError):
                if await self._pipeline.index_fabric():
                    continue
            with suppress(sqlite3.Error, MemoryOSError, OSError):  # the duty `fabric` meets it next, and counts it
                await loop.run_in_executor(self._house, self._engine.fabric.refresh)
                self._pipeline.nudge()

    def _count(self, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self._engine.store.count("documents_failed", reason=reason)


async def _either(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most so long. Returns whether it came."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    came = event.is_set()
    event.clear()
    return came
