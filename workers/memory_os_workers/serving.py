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
import sys
from typing import Any

from memory_os import __version__
from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceError

from memory_os_workers import run_files
from memory_os_workers.logs import configure_logs
from memory_os_workers.opening import bring_up
from memory_os_workers.processes import share_arenas
from memory_os_workers.service import STOP_GRACE_S, Service

_log = logging.getLogger(__name__)

_HOME_WATCH_S = 5.0
SWITCH_S = 0.0005


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
    share_arenas()
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
    # At once: reading the model's files goes on while the rest is still being imported.
    service.models.begin()
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
        service.keep("the start", bring_up(service))
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
    """Stop when the home, the socket or memory.db is gone or another (by hand): nobody can reach us any more, or find what
    we keep, and the next call starts a service that is right, once our lock is free.
    """
    settings = service.settings
    while settings.run_dir.is_dir() and run_files.socket_identity(settings.socket) == bound and service.holds_database():
        await asyncio.sleep(_HOME_WATCH_S)
    gone = settings.home
    if settings.run_dir.is_dir():
        gone = settings.socket if service.holds_database() else settings.database
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
