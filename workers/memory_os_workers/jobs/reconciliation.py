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
# What a look may meet without any fault of ours.
_KNOWN = (sqlite3.Error, MemoryOSError, OSError)


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
        self._faults: dict[str, str] = {}
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
            "last_error": self.last_error or next(iter(self._faults.values()), ""),
            "events": self.watcher.figures(),
        }

    def _roots(self) -> list[Path]:
        """On a thread of the watcher's: every followed folder, and the fabric's."""
        try:
            documents = [root.path for root in self._engine.documents.roots()]
        except Exception as error:  # noqa: BLE001 - the watcher goes on with what it can know
            _log.info("what is followed can't be read now: %s: %s", type(error).__name__, error)
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
            except _KNOWN as error:
                _log.info("raw files of the wiki stay waiting: %s", error)
            except Exception as error:  # noqa: BLE001 - recorded, counted and tried again; the loop must outlive any fault
                await self._failed("raw files of the wiki stay waiting", error)
            else:
                self._faults.pop("raw files of the wiki stay waiting", None)

    async def _look(self) -> float:
        """Compare, do what needs no reading, hand the rest to workers or do it. Returns seconds until the next look."""
        loop = asyncio.get_running_loop()
        try:
            report: IngestReport = await loop.run_in_executor(self._house, self._engine.documents.refresh)
        except Exception as error:  # noqa: BLE001 - recorded, counted and tried again; the loop must outlive any fault
            known = isinstance(error, _KNOWN)
            said = str(error) if known else f"{type(error).__name__}: {error}"
            if said != self.last_error:
                _log.error("the documents could not be looked at: %s", said, exc_info=None if known else error)
            self.last_error = said
            await loop.run_in_executor(self._house, self._count, "documents_failed", said)
            return _AFTER_FAULT_S
        self.looks, self.last_at, self.last_error = self.looks + 1, time.time(), ""
        if any(one.status in ("ok", "removed", "renamed", "skipped") for one in report.files):
            self._pipeline.nudge()
        return min(EVERY_S, report.look_again_s or EVERY_S)

    async def _fabric_loop(self) -> None:
        while True:
            await self._fabric.wait()
            self._fabric.clear()
            try:
                await self._look_at_fabric()
            except _KNOWN:
                continue  # the duty `fabric` meets it next, and counts it
            except Exception as error:  # noqa: BLE001 - recorded, counted and tried again; the loop must outlive any fault
                await self._failed("the fabric could not be looked at", error)
            else:
                self._faults.pop("the fabric could not be looked at", None)

    async def _look_at_fabric(self) -> None:
        with suppress(QueueError):
            if await self._pipeline.index_fabric():
                return
        await asyncio.get_running_loop().run_in_executor(self._house, self._engine.fabric.refresh)
        self._pipeline.nudge()

    async def _failed(self, what: str, error: Exception) -> None:
        """A fault nobody foresaw: logged once an episode with its traceback, counted, shown in `status`."""
        said = f"{what}: {type(error).__name__}: {error}"[:300]
        if self._faults.get(what) != said:
            _log.error("%s", said, exc_info=error)
        self._faults[what] = said
        await asyncio.get_running_loop().run_in_executor(self._house, self._count, "reconciliation_failed", said)

    def _count(self, name: str, reason: str) -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            self._engine.store.count(name, reason=reason)


async def _either(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most so long. Returns whether it came."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    came = event.is_set()
    event.clear()
    return came
