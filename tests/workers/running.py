"""A home in a short folder (a socket's path may not be long) and the real service process in it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.config import Settings, load_settings
from memory_os_workers.client import ServiceClient

REPOSITORY = Path(__file__).resolve().parents[2]
# Nothing waits so long unless it hangs: a machine that is busy may give a process no time for half a minute.
PATIENCE_S = 120.0


def environment(hermes_home: Path) -> dict[str, str]:
    """Of a process that works on this home with the sources under test."""
    sources = os.pathsep.join(str(REPOSITORY / one) for one in ("layers", "workers"))
    return {
        **os.environ,
        "HERMES_HOME": str(hermes_home),
        "PYTHONPATH": os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH", "")))),
    }


@dataclass
class Home:
    """One Hermes home. `serve` starts processes; `close` ends those that still run."""

    hermes_home: Path

    def __post_init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    @property
    def settings(self) -> Settings:
        return load_settings(environment(self.hermes_home), hermes_home=self.hermes_home)

    @property
    def client(self) -> ServiceClient:
        return ServiceClient(self.settings)

    def configure(self, text: str) -> None:
        folder = self.hermes_home / "memory-os"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(text, "utf-8")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`memory-os <arguments>`, to its end."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "memory_os_workers.cli", *arguments],
            env=environment(self.hermes_home), cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip

    def serve(self, *, ready: bool = False) -> subprocess.Popen[str]:
        """Start the service and wait until memory.db is open (or the models are loaded)."""
        process = self.spawn()
        wait_until(lambda: self._health().get("ready" if ready else "open") is True or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    def spawn(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "memory_os_workers.cli", "serve"],
            env=environment(self.hermes_home), cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def health(self) -> dict[str, Any]:
        """What a service that runs says of itself, however long it takes."""
        return self.client.get("/v1/health", timeout=PATIENCE_S)

    def _health(self) -> dict[str, Any]:
        return self.client.health() or {}

    def close(self) -> None:
        pid = self._health().get("pid")
        if pid is not None and pid not in [process.pid for process in self.processes]:
            os.kill(pid, signal.SIGTERM)  # started by a command under test
            wait_until(lambda: not self.settings.socket.exists())
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and stderr of a process that is about to end."""
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Poll until the condition holds; fails the test when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def raw(
    target: Path | int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """One HTTP exchange with a socket's path or a TCP port: (status, parsed JSON)."""
    connection = http.client.HTTPConnection("127.0.0.1", target if isinstance(target, int) else 80, timeout=PATIENCE_S)
    if isinstance(target, Path):
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(target))  # without a time-out: a full backlog is waited out, and not told at once
        connection.sock.settimeout(PATIENCE_S)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
