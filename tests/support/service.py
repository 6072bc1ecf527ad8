"""The real memory-os of one home: its command line, its service, and the end of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.hermes_home import clean_environment

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass
class MemoryOS:
    """memory-os for one Hermes home, run by the interpreter that carries its dependencies."""

    hermes_home: Path
    python: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.hermes_home / "memory-os"

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Rows of memory.db, read only."""
        uri = f"file:{self.home / 'memory.db'}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            return database.execute(sql, parameters).fetchall()

    def _environment(self) -> dict[str, str]:
        return {**clean_environment(self.hermes_home), **self.environment}

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-m", "memory_os_workers.cli", *arguments]

    def run(self, *arguments: str, expect: int | None = 0, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """`memory-os <arguments>`. Fails the test on another exit code than expected (None: any)."""
        done = subprocess.run(
            self.command(*arguments),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        told = f"memory-os {' '.join(arguments)} -> {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert expect is None or done.returncode == expect, told
        return done

    def json(self, *arguments: str, expect: int | None = 0) -> Any:
        """What `memory-os <arguments> --json` prints."""
        return json.loads(self.run(*arguments, "--json", expect=expect).stdout)

    def status(self) -> dict[str, Any]:
        return dict(self.json("status", expect=None))

    def start(self) -> None:
        """Start the service, as the plugin would, and wait until it answers with its models loaded."""
        self.run("serve", "--detach")
        wait_until(self.ready, "the service is ready", 180)

    @property
    def pid(self) -> int | None:
        """The service's process id, while it lives. The lock's file has it from before the first import ends."""
        for name in ("service.pid", "service.lock"):
            with contextlib.suppress(ValueError, IndexError, OSError):
                pid = int((self.home / "run" / name).read_text("utf-8").split()[0])
                if alive(pid):
                    return pid
        return None

    @property
    def running(self) -> bool:
        return self.pid is not None

    def ready(self) -> bool:
        with contextlib.suppress(OSError, ValueError):
            return bool(self.get("/v1/health").get("ready"))
        return False

    def get(self, path: str) -> dict[str, Any]:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: Any = None, timeout: float = 120) -> dict[str, Any]:
        """One call of the service's API on its unix socket."""
        return dict(_call(self.home / "run" / "service.sock", method, path, body, timeout))

    def settle(self, timeout: float = 120) -> None:
        """Wait until everything spooled is taken and embedded."""
        wait_until(lambda: not self.spooled(), "the spool is empty", timeout)
        wait_until(lambda: self._pending() == 0, "everything is embedded", timeout)

    def spooled(self) -> list[Path]:
        return [path for path in (self.home / "spool").glob("*.json") if not path.name.startswith(".")]

    def _pending(self) -> int:
        return int(self.rows("SELECT count(*) FROM passages WHERE indexed = 0")[0][0])

    def stop(self) -> None:
        """End the service by its pid, whatever state it is in."""
        pid = self.pid
        if pid is None:
            return
        for number, patience in ((signal.SIGTERM, 60.0), (signal.SIGKILL, 60.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not alive(pid), "the service has ended", patience)
                return

    def kill(self) -> None:
        """kill -9."""
        pid = self.pid
        assert pid is not None, "no service to kill"
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the service is dead")


@contextlib.contextmanager
def stopped_at_the_end(memory_os: MemoryOS) -> Iterator[MemoryOS]:
    """The service a home's plugin may start must not outlive the test."""
    try:
        yield memory_os
    finally:
        memory_os.stop()


def alive(pid: int) -> bool:
    """Whether this process lives; a zombie does not."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        with contextlib.suppress(OSError):
            return stat.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc/self/stat").exists()


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 90, pause: float = 0.05) -> None:
    """Poll until the condition holds. Fails the test with `what` after `timeout` seconds."""
    give_up = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < give_up, f"not within {timeout:.0f} s: {what}"
        time.sleep(pause)


def _call(socket_path: Path, method: str, path: str, body: Any, timeout: float) -> Any:
    connection = http.client.HTTPConnection("localhost", timeout=timeout)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(timeout)
    try:
        connection.sock.connect(str(socket_path))
        payload = None if body is None else json.dumps(body)
        connection.request(method, path, payload, {"Content-Type": "application/json", "Host": "localhost"})
        response = connection.getresponse()
        return json.loads(response.read() or b"{}")
    finally:
        connection.close()
