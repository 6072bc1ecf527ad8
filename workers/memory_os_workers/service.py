"""The service's life: one instance per home, its socket, its signals, a clean end.

Start: lock, socket (clients may queue from here on), HTTP, then memory.db and the models on a thread. End: requests in
flight finish, loops stop, everything is closed, the socket goes. After `kill -9` the next start finds a lock that
nobody holds and a stale socket, and removes the latter.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_os import __version__
from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceError, ServiceUnavailable

from memory_os_workers import run_files
from memory_os_workers.background import is_disk_full, retry_delay
from memory_os_workers.executors import Executors
from memory_os_workers.logs import configure_logs
from memory_os_workers.processes import resident_bytes

if TYPE_CHECKING:
    from memory_os.embedding import Embedder
    from memory_os.engine import Engine

    from memory_os_workers.background import Background
    from memory_os_workers.jobs.pipeline import Pipeline
    from memory_os_workers.jobs.reconciliation import Reconciliation
    from memory_os_workers.preparing import Preparing

_log = logging.getLogger(__name__)

# A stop waits this long for requests in flight, and as long again for work on threads.
STOP_GRACE_S = 5.0
_HOME_WATCH_S = 5.0
# A request that comes while memory.db is still being opened waits this long for it.
OPENING_MAX_S = 10.0
# The models have the processor to themselves for so long: the first turn waits for them, housekeeping for nobody.
MODELS_FIRST_S = 2.0
SWITCH_S = 0.0005
# A full disk is looked at this often; what else may pass by itself (an endpoint that is not up yet) at first after a second,
# then twice as long each time, up to a minute.
MODELS_AGAIN_S = 5.0


class Service:
    """What the API's handlers share: the engine once it is open, the threads, the figures, the wish to stop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started_at = time.time()
        self.executors = Executors()
        self.stopping = asyncio.Event()
        self.failure: MemoryOSError | None = None
        self.model_error = ""
        # Attempts at loading the models that failed, and when (epoch seconds) the next one comes; 0: none does.
        self.model_attempts = 0
        self.model_again_at = 0.0
        self.background: Background | None = None
        self.pipeline: Pipeline | None = None
        self.preparing: Preparing | None = None
        self.reconciliation: Reconciliation | None = None
        self.recalls_in_flight = 0
        self.requests = 0
        self.errors = 0
        self.last_error = ""
        self.last_error_at = 0.0
        self._models_again_s = MODELS_AGAIN_S
        self._engine: Engine | None = None
        self._opened = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        # Begun at once, so that reading the model's files goes on while the rest is still being imported.
        self._embedder: Future[Embedder] = self.executors.long.submit(_load_embedder, settings)

    @property
    def ready(self) -> bool:
        return self._engine is not None and self._engine.ready

    @property
    def open_engine(self) -> Engine | None:
        """The engine if it is open by now."""
        return self._engine

    def start(self) -> None:
        """Open the engine, load the models, then work in the background, all beside the requests."""
        self._keep("the start", self._bring_up())

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
            "model_error": self.model_error,
            "model_attempts": self.model_attempts,
            "model_again_at": self.model_again_at or None,
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

    def _keep(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run it until the end. What it raises would otherwise be told to nobody."""

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self.note_error(error)
                _log.error("%s ended by a fault", name, exc_info=error)

        task = asyncio.create_task(work)
        task.add_done_callback(ended)
        self._tasks.append(task)

    async def _bring_up(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._engine = await loop.run_in_executor(self.executors.house, _open_engine, self.settings)
        except MemoryOSError as error:
            self.failure = error
        except Exception as error:  # noqa: BLE001 - typed here, recorded and shown by whoever started us
            _log.exception("the engine could not be opened")
            self.failure = ServiceError(f"The service could not start: {type(error).__name__}: {error}.")
        self._opened.set()
        if self._engine is None:
            self.stopping.set()
            return
        run_files.clear_failure(self.settings)
        engine = self._engine
        models = asyncio.ensure_future(self._load_models(engine))
        await asyncio.wait({models}, timeout=MODELS_FIRST_S)
        self._start_background(engine)
        passing = await models
        _collect_garbage_again()
        if passing:
            self._keep("the models", self._load_models_later(engine))
        await self._start_pipeline(engine, queue=not passing)

    async def _load_models(self, engine: Engine) -> bool:
        """Returns whether they could not be loaded for a reason that may pass by itself."""
        loop = asyncio.get_running_loop()
        try:
            embedder = await asyncio.wrap_future(self._embedder)
            await loop.run_in_executor(self.executors.long, engine.load_models, embedder)
        except Exception as error:  # noqa: BLE001 - recall goes on by words alone, and `status` says why
            return await self._no_models(engine, error)
        self.model_error, self.model_again_at = "", 0.0
        _log.info("ready %.2f s after the start", time.time() - self.started_at)
        return False

    async def _no_models(self, engine: Engine, error: Exception) -> bool:
        """Told when it begins, shown for as long as it lasts. Returns whether it may pass by itself."""
        from memory_os.embedding import may_pass

        if str(error) != self.model_error:
            self.note_error(error)
            _log.error("the models could not be loaded; recall works by words only", exc_info=error)
            await asyncio.get_running_loop().run_in_executor(self.executors.long, _count_models, engine, error)
        self.model_error = str(error)
        self.model_attempts += 1
        if not is_disk_full(error) and not may_pass(error):
            return False
        self._models_again_s = MODELS_AGAIN_S if is_disk_full(error) else retry_delay(self.model_attempts)
        self.model_again_at = time.time() + self._models_again_s
        return True

    async def _load_models_later(self, engine: Engine) -> None:
        """Again and again until they can be loaded; then what waited for them."""
        passing = True
        while passing:
            await asyncio.sleep(self._models_again_s)
            self._embedder = self.executors.long.submit(_load_embedder, self.settings)
            passing = await self._load_models(engine)
        self.embed_soon()
        if self.pipeline is not None:
            await self._start_queue(self.pipeline)

    async def _start_pipeline(self, engine: Engine, *, queue: bool) -> None:
        """The queue and its worker, when everything that a turn waits for is there. Without `queue`: they come later."""
        from memory_os_workers.jobs.pipeline import Pipeline
        from memory_os_workers.jobs.reconciliation import Reconciliation
        from memory_os_workers.preparing import Preparing
        from memory_os_workers.understanding import Understander

        pipeline = Pipeline(
            engine,
            self.settings,
            executor=self.executors.pipeline,
            nudge=self.embed_soon,
        )
        self.pipeline = pipeline
        if self.background is not None:
            self.background.backlog = pipeline.backlog
        if queue:
            await self._start_queue(pipeline)
        else:
            pipeline.unavailable = "the worker needs the embedding model, too"
        self.reconciliation = Reconciliation(engine, pipeline, house=self.executors.house)
        pipeline.look_at_documents = self.reconciliation.look_now
        self._keep("reconciliation", self.reconciliation.run())
        reader = Understander(engine, pipeline, executor=self.executors.pipeline, nudge=self.embed_soon)
        self.preparing = Preparing(self.settings.values.understanding.person_wait_seconds)
        self.preparing.hurry = reader.hurry
        engine.understanding.person.arrived = self.preparing.arrived
        self._keep("understanding", reader.run())

    async def _start_queue(self, pipeline: Pipeline) -> None:
        pipeline.unavailable = ""
        try:
            await pipeline.start()
        except MemoryOSError as error:
            pipeline.unavailable = str(error)
            _log.error("no queue: %s", error)
        except Exception as error:  # noqa: BLE001 - the service does the work itself, and `status` says why
            pipeline.unavailable = f"{type(error).__name__}: {error}"
            self.note_error(error)
            _log.exception("no queue")

    def _start_background(self, engine: Engine) -> None:
        from memory_os_workers.background import Background

        self.background = Background(
            engine,
            self.settings,
            capture=self.executors.capture,
            embed=self.executors.embed,
            house=self.executors.house,
            busy=lambda: self.recalls_in_flight > 0,
        )
        self._keep("the background", self.background.run())


def serve(settings: Settings) -> None:
    """Run the service until it is told to stop. Raises ServiceRunning, SocketPathTooLong, ServiceError, StoreError.

    Every failure but ServiceRunning is left in `run/last-error.json` for `status` and the plugin.
    """
    # The vector engine makes its files with the mode the process allows: memory is its owner's alone.
    os.umask(0o077)
    # Nothing that is imported goes again; looking for what could be freed would take a tenth of the start.
    gc.disable()
    # A thread that has an answer ready waits this long for one that computes: the default of 5 ms is a fifth of a recall.
    sys.setswitchinterval(SWITCH_S)
    # A pool of threads for matrices of this size only spins.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    lock = run_files.InstanceLock(settings)
    try:
        run_files.checked_socket_path(settings)
        run_files.prepare_home(settings)
        lock.acquire()
        configure_logs(settings)
        listener = run_files.bind_socket(settings)
        bound = run_files.socket_identity(settings.socket)
    except MemoryOSError as error:
        lock.release()
        if error.code != "service_running":
            run_files.record_failure(settings, error)
        raise
    clean = False
    try:
        clean = asyncio.run(_run(settings, listener, bound))
    except MemoryOSError as error:
        _log.error("stopped: %s", error)
        run_files.record_failure(settings, error)
        raise
    finally:
        run_files.withdraw(settings, bound)
        lock.release()
    if not clean:
        # A thread hangs in foreign code; memory.db is safe (WAL), and Python would wait for the thread forever.
        _log.warning("a thread did not end in time; the process ends without it")
        logging.shutdown()
        os._exit(0)


async def _run(settings: Settings, listener: socket.socket, bound: tuple[int, int] | None) -> bool:
    service = Service(settings)
    from aiohttp import web

    from memory_os_workers.api import build_app

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, service.stopping.set)
    runner = web.AppRunner(build_app(service), access_log=None, shutdown_timeout=STOP_GRACE_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, backlog=run_files.BACKLOG).start()
        if settings.values.service.port:
            await _listen_on_loopback(settings, runner)
        service.start()
        run_files.announce(settings, service.started_at)
        _log.info("memory-os %s serves %s (pid %d)", __version__, settings.socket, os.getpid())
        watching = asyncio.create_task(_watch_home(service, bound))
        await service.stopping.wait()
        watching.cancel()
    finally:
        _log.info("stopping")
        run_files.remove_socket(settings, bound)
        # Together: a worker's request in flight ends with the worker.
        await asyncio.gather(runner.cleanup(), service.end_children())
        clean = await service.shut_down()
    if service.failure is not None:
        raise service.failure
    _log.info("stopped")
    return clean


async def _watch_home(service: Service, bound: tuple[int, int] | None) -> None:
    """Stop when the home or the socket is gone (deleted by hand): nobody can reach us any more, and the next call starts
    a service that can be reached, once our lock is free.
    """
    settings = service.settings
    while settings.run_dir.is_dir() and run_files.socket_identity(settings.socket) == bound:
        await asyncio.sleep(_HOME_WATCH_S)
    gone = settings.socket if settings.run_dir.is_dir() else settings.home
    _log.warning("%s is gone or was replaced; the service ends", gone)
    service.stopping.set()


async def _listen_on_loopback(settings: Settings, runner: Any) -> None:
    from aiohttp import web

    host, port = settings.values.service.host or "127.0.0.1", settings.values.service.port
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise ServiceError(
            f"{host}:{port} can't be used: {os.strerror(error.errno) if error.errno else error}.",
            cure="Set another `service.port`, or 0 for the socket alone.",
        ) from error


def _open_engine(settings: Settings) -> Engine:
    # numpy, sqlite-utils and the vector engine are imported here, on the thread, while health already answers.
    from memory_os.engine import Engine

    return Engine.open(settings)


def _load_embedder(settings: Settings) -> Embedder:
    from memory_os.embedding import load_embedder

    return load_embedder(settings)


def _count_models(engine: Engine, error: Exception) -> None:
    with suppress(sqlite3.Error, OSError, MemoryOSError):
        engine.store.count("models_not_loaded", reason=str(error))


def _collect_garbage_again() -> None:
    """What was made at the start stays for good, and is not looked at again: full collections take a tenth of their time."""
    gc.freeze()
    gc.enable()
