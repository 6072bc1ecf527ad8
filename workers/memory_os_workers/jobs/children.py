"""The service's children: the bundled Valkey and the embedded worker. One that dies comes back, later and later.

They end with the service, whatever ended that: the worker and Valkey's keeper when their standard input ends. What survives
all the same is ended by the next start.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from memory_os.config import Settings
from memory_os.errors import MemoryOSError, QueueError

from memory_os_workers.background import retry_delay
from memory_os_workers.jobs import valkey
from memory_os_workers.processes import resident_bytes

_log = logging.getLogger(__name__)

# One that lived so long was sound; its next death counts as a first one.
STEADY_S = 60.0
# So many deaths in a row are no accident.
_AGAIN_AND_AGAIN = 3
_WORKER_END_S = 3.0

Spawn = Callable[[], Awaitable[asyncio.subprocess.Process]]
Died = Callable[[str, int, int], Awaitable[None]]


class Child:
    """One supervised process. `died(name, pid, code)` is told of every unwanted end.

    `pid`: of what it keeps, where that is another process.
    """

    def __init__(self, name: str, spawn: Spawn, died: Died, pid: Callable[[], int | None] | None = None) -> None:
        self.name = name
        self.process: asyncio.subprocess.Process | None = None
        self.restarts = 0
        self.failures = 0
        self.started_at = time.monotonic()
        self.last_error = ""
        self.running = asyncio.Event()
        self._spawn = spawn
        self._died = died
        self._pid = pid

    async def supervise(self) -> None:
        """Keep it running until cancelled."""
        while True:
            self.started_at = time.monotonic()
            try:
                self.process = await self._spawn()
            except (MemoryOSError, OSError) as error:
                self.last_error = str(error)
                _log.error("%s can't be started: %s", self.name, error)
            else:
                self.started_at = time.monotonic()  # not from when it waited for another
                self.running.set()
                code = await self.process.wait()
                self.running.clear()
                self.last_error = f"ended with code {code}"
                _log.error("%s (pid %d) ended with code %d", self.name, self.process.pid, code)
                await self._died(self.name, self.process.pid, code)
            self.failures = 0 if self._is_steady() else self.failures + 1
            self.restarts += 1
            await asyncio.sleep(retry_delay(self.failures))

    @property
    def finding(self) -> str:
        """One that ends again and again, and where to look; empty while it is well, and once it is."""
        if self.failures < _AGAIN_AND_AGAIN or (self.running.is_set() and self._is_steady()):
            return ""
        log = {"worker": "worker.log", "valkey": "queue.log"}[self.name]
        return f"{self.name} can't stay up ({self.last_error}, {self.failures} times in a row): logs/{log} says why"

    def _is_steady(self) -> bool:
        return time.monotonic() - self.started_at > STEADY_S

    def figures(self) -> dict[str, Any]:
        process = self.process if self.running.is_set() else None
        pid = None if process is None else process.pid if self._pid is None else self._pid()
        return {
            "pid": pid,
            "restarts": self.restarts,
            "last_error": self.last_error,
            "finding": self.finding,
            "memory_bytes": 0 if pid is None else resident_bytes(pid),
        }


class Children:
    """`valkey` and `worker` are None where the configuration wants none."""

    def __init__(self, settings: Settings, died: Died) -> None:
        self._settings = settings
        self._tasks: list[asyncio.Task[None]] = []
        bundled = not settings.values.servers.redis_url
        self.valkey = None
        if bundled:
            self.valkey = Child("valkey", lambda: valkey.start(settings), died, lambda: valkey.server_pid(settings))
        self.worker = Child("worker", self._spawn_worker, died) if settings.values.workers.embedded else None

    def start(self) -> None:
        for child in (self.valkey, self.worker):
            if child is not None:
                self._tasks.append(asyncio.create_task(child.supervise()))

    async def stop(self) -> None:
        """End both, the worker first: it puts its jobs back while there is a queue."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.worker is not None and self.worker.process is not None:
            await _end(self.worker.process)
        if self.valkey is not None and self.valkey.process is not None:
            with suppress(QueueError):
                await valkey.stop(self._settings, self.valkey.process)

    def figures(self) -> dict[str, Any]:
        return {child.name: child.figures() for child in (self.valkey, self.worker) if child is not None}

    async def _spawn_worker(self) -> asyncio.subprocess.Process:
        if self.valkey is not None:
            await self.valkey.running.wait()
        settings = self._settings
        environment = {
            **os.environ,
            "HERMES_HOME": str(settings.hermes_home),
            "MEMORY_OS_HOME": str(settings.home),
            "PYDANTIC_DISABLE_PLUGINS": "__all__",
            "MALLOC_ARENA_MAX": "2",
        }
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "memory_os_workers.cli", "worker", "--until-eof"),
            cwd=settings.home,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Its standard input ends, and with it the worker; then harder."""
    if process.stdin is not None:
        process.stdin.close()
    for harder in (process.terminate, process.kill):
        try:
            await asyncio.wait_for(process.wait(), _WORKER_END_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                harder()
        else:
            return
    await process.wait()
