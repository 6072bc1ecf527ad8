"""A real Redis (or the bundled Valkey) for a test: its own folder, port and password; it can be stopped and started again.

`MEMORY_OS_TEST_REDIS` names the binary; `scripts/test` sets it. Without it: `redis-server` on the PATH, else the Valkey that
comes with memory-os.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from support.ports import free_port


def binary() -> str:
    named = os.environ.get("MEMORY_OS_TEST_REDIS") or shutil.which("redis-server")
    if named:
        return named
    from memory_os_workers.jobs.valkey import binary as bundled

    found = bundled()
    assert found is not None, "no redis-server: install one, or set MEMORY_OS_TEST_REDIS"
    return str(found)


@dataclass
class RedisServer:
    """Not started yet. What it stores outlives `kill` and `start`."""

    folder: Path
    password: str = "secret of the test"
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Redis:
        return Redis(port=self.port, password=self.password or None)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / "redis.conf"
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"dir {self.folder}",
            "appendonly yes",
            'save ""',
            "maxmemory-policy noeviction",
            *([f'requirepass "{self.password}"'] if self.password else []),
        ]
        configuration.write_text("\n".join(lines) + "\n", "utf-8")
        self.process = subprocess.Popen(
            [binary(), str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < deadline, "the Redis of the test does not start"
            time.sleep(0.02)

    def _answers(self) -> bool:
        client = self.client()
        try:
            return bool(client.ping())
        except RedisError:
            return False
        finally:
            client.close()

    def kill(self) -> None:
        """kill -9; everything acknowledged was written to the append-only file."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
