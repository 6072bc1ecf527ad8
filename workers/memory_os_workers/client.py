"""A synchronous client of the service, for the command line: http.client over the unix socket.

    client = ensure_service(settings)            # starts the service when it doesn't run
    client.post("/v1/tools/fact_store", {...})   # -> dict; raises the typed error that the service answered
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from memory_os import constants, errors
from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceError, ServiceUnavailable

from memory_os_workers import run_files
from memory_os_workers.starting import STALLED_S, WAIT_MAX_S, Patience, Tell, say_nothing

# Tools answer in milliseconds; a forget over a large archive may take a while.
TIMEOUT_S = 60.0
HEALTH_TIMEOUT_S = 2.0
# A service gives what it is at, its worker, its queue and its threads their time one after the other: up to some twenty
# seconds, and on a machine with other work it takes longer.
STOP_WAIT_S = 60.0
_POLL_S = 0.05
_EXIT_RUNNING = 3
# service.out holds what is said before the log is open, and crashes of native code.
_OUT_MAX_BYTES = 1024 * 1024
_START_MARK = "start"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect; a full backlog (EAGAIN, which a unix socket gives at once) is waited out within the time-out."""
        deadline = time.monotonic() + (self.timeout or TIMEOUT_S)
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(self.timeout)
            try:
                sock.connect(str(self._path))
            except BlockingIOError:
                sock.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            except OSError:
                sock.close()
                raise
            else:
                self.sock = sock
                return


class ServiceClient:
    """Requests to the service of one home. Every call is one connection; safe in any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._path = run_files.checked_socket_path(settings)

    def health(self, timeout: float = HEALTH_TIMEOUT_S) -> dict[str, Any] | None:
        """The service's health, or None when nothing answers. Raises ServiceError if another home's service does."""
        try:
            found = self.get("/v1/health", timeout=timeout)
        except ServiceUnavailable:
            return None
        home = Path(str(found.get("home", "")))
        if home.resolve() != self.settings.home.resolve():
            raise ServiceError(
                f"{self._path} belongs to the service of {home}, not of {self.settings.home}.",
                cure="Give each home its own `service.socket`.",
            )
        return found

    def get(self, path: str, *, timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """GET a JSON object. Raises the error the service answers with, or ServiceUnavailable."""
        return self._request("GET", path, None, timeout)

    def post(self, path: str, body: dict[str, Any] | None = None, *, timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """POST and get a JSON object. Raises the error the service answers with, or ServiceUnavailable."""
        return self._request("POST", path, body or {}, timeout)

    def stream(self, path: str, body: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """POST and yield the JSON lines of long work as they come; an error line is raised. Lines may be far apart."""
        connection = _UnixConnection(self._path, TIMEOUT_S)
        try:
            response = _exchange(connection, "POST", path, body or {})
            if response.status != 200:
                raise error_of(_object(response.read()), response.status)
            if connection.sock is not None:
                connection.sock.settimeout(None)
            for line in response:
                value = _object(line)
                if "error" in value:
                    raise error_of(value, 500)
                yield value
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(self._path, error) from error
        finally:
            connection.close()

    def _request(self, method: str, path: str, body: dict[str, Any] | None, timeout: float) -> dict[str, Any]:
        connection = _UnixConnection(self._path, timeout)
        try:
            response = _exchange(connection, method, path, body)
            answer = _object(response.read())
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(self._path, error) from error
        finally:
            connection.close()
        if response.status != 200:
            raise error_of(answer, response.status)
        return answer


def ensure_service(
    settings: Settings, wait_s: float = WAIT_MAX_S, *, stalled_s: float = STALLED_S, tell: Tell = say_nothing
) -> ServiceClient:
    """A client of the running service, which is started if need be. `tell` gets what is waited for, after some seconds.

    Waits as long as the start makes progress. Raises ServiceUnavailable when it doesn't for `stalled_s` seconds, or is not
    done after `wait_s`; or the reason itself (StoreCorrupt, SocketPathTooLong …) when the service refused to start.
    """
    client = ServiceClient(settings)
    if _is_open(client):
        return client
    run_files.prepare_home(settings)
    patience = Patience(settings.logs_dir / "service.log", wait_s=wait_s, stalled_s=stalled_s, tell=tell)
    child = start_detached(settings)
    while True:
        health = client.health()
        if health is not None and health.get("open"):
            return client
        code = child.poll()
        if code not in (None, _EXIT_RUNNING):
            raise _start_failure(settings, child.pid, code)
        # Another start was quicker, or the old service is still closing: its lock goes any moment.
        holder = child.pid if code is None else run_files.lock_holder(settings)
        starts = holder == child.pid or health is not None
        patience.look(holder, _step(settings, health, holder if not starts else None), starts=starts)
        time.sleep(_POLL_S)
        if holder is None:
            child = start_detached(settings)


def _step(settings: Settings, health: dict[str, Any] | None, other: int | None) -> str:
    """What a start is at. `other`: the service that holds the lock, and is not the one that was started."""
    if other is not None:
        return f"another service (pid {other}) to answer or to end"
    if health is not None:
        return f"the service (pid {health.get('pid')}) to open memory.db"
    return "the service to answer" if settings.socket.exists() else "the service to start"


def _is_open(client: ServiceClient) -> bool:
    """Whether the service answers and has memory.db open. Before that it may still end with an error."""
    health = client.health()
    return health is not None and bool(health.get("open"))


def start_detached(settings: Settings) -> subprocess.Popen[bytes]:
    """Start `memory-os serve` in a session of its own, its output to `logs/service.out`. Raises ServiceError."""
    environment = {
        **os.environ,
        "HERMES_HOME": str(settings.hermes_home),
        "MEMORY_OS_HOME": str(settings.home),
        # We use no pydantic plugin; looking for one reads the metadata of every installed distribution.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        # glibc keeps a heap per thread; a dozen threads that take turns would hold 100 MB for nothing.
        "MALLOC_ARENA_MAX": "2",
    }
    # -P: with -m Python would import from the current folder first, and that may be anybody's checkout.
    command = [sys.executable, "-P", "-m", "memory_os_workers.cli", "serve"]
    with _output_file(settings) as output:
        return _Detached(
            command,
            cwd=settings.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


class _Detached(subprocess.Popen[bytes]):
    """A child that is meant to outlive us: no warning when this object goes while it runs."""

    def __del__(self, *_: object) -> None:
        if self.returncode is None:
            self.returncode = 0


def stop_service(settings: Settings, wait_s: float = STOP_WAIT_S) -> int | None:
    """Stop the running service and wait for its end. Returns its pid, None if none ran. Raises ServiceUnavailable."""
    client = ServiceClient(settings)
    if client.health() is not None:
        pid = int(client.post("/v1/stop")["pid"])
    else:
        # Its socket was deleted, or it hangs: the lock says that it runs, and a signal reaches it all the same.
        holder = run_files.lock_holder(settings)
        if holder is None:
            return None
        pid = holder
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        if not (settings.run_dir / "service.json").exists() and not _alive(pid):
            return pid
        time.sleep(_POLL_S)
    raise ServiceUnavailable(f"The service (pid {pid}) did not end within {wait_s:g} s.", cure=f"`kill {pid}` ends it.")


def error_of(answer: dict[str, Any], status: int) -> MemoryOSError:
    """The typed error behind an error answer: the class whose `code` it carries."""
    message = str(answer.get("error") or f"The service answered with status {status}.")
    code = str(answer.get("code", ""))
    return _class_of(code)(message, cure=str(answer.get("cure", "")))


def _class_of(code: str) -> type[MemoryOSError]:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, MemoryOSError) and value.code == code:
            return value
    return ServiceError


def _exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None
) -> http.client.HTTPResponse:
    data = None if body is None else json.dumps(body).encode()
    connection.request(method, path, body=data, headers={"Content-Type": "application/json"})
    return connection.getresponse()


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise http.client.HTTPException("the answer is not a JSON object")
    return value


def _unreachable(path: Path, error: Exception) -> ServiceUnavailable:
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
        return ServiceUnavailable("The service does not run.", cure="Start it with `memory-os serve --detach`.")
    if isinstance(error, TimeoutError):
        return ServiceUnavailable("The service did not answer in time.", cure="`memory-os status` shows what it does.")
    return ServiceUnavailable(f"The service at {path} can't be reached: {error or type(error).__name__}.")


def _start_failure(settings: Settings, pid: int, code: int) -> MemoryOSError:
    recorded = run_files.last_failure(settings)
    if recorded.get("pid") == pid:
        return error_of(recorded, code)
    tail = _last_line(settings.logs_dir / "service.out")
    return ServiceUnavailable(
        f"The service ended at its start (exit code {code}){': ' + tail if tail else '.'}",
        cure=f"See {settings.logs_dir}.",
    )


def _output_file(settings: Settings) -> IO[bytes]:
    path = settings.logs_dir / "service.out"
    try:
        fresh = not path.exists() or path.stat().st_size > _OUT_MAX_BYTES
        # Appended to always: maintenance cuts the file under a running service.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if fresh else 0)
        descriptor = os.open(path, flags, constants.FILE_MODE)
        # Written by us, so that a full disk is told here and not as a service that ended without a word.
        os.write(descriptor, time.strftime(f"{_START_MARK} at %Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())
        return os.fdopen(descriptor, "ab")
    except OSError as error:
        raise run_files.cannot_write(path, error) from error


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    last = lines[-1].strip() if lines else ""
    return "" if last.startswith(_START_MARK) else last


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # A child of ours that has ended stays a zombie until it is waited for.
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return True
