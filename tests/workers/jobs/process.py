"""Worker processes of a test, over a home whose queue is a Redis of the test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_os_workers.jobs import names
from support.redis_server import RedisServer

from workers.running import PATIENCE_S, Home, environment, wait_until


@dataclass
class Site:
    """A home with its service, a Redis, and the workers that were started."""

    home: Home
    redis: RedisServer
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def raw(self) -> Path:
        folder = self.home.settings.vault / "wiki" / "raw"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def configure(self, more: str = "") -> None:
        self.home.configure(
            f"servers: {{redis_url: '{self.redis.url}', redis_password: '{self.redis.password}'}}\n"
            f"workers: {{embedded: false}}\ndocuments: {{settle_s: 0}}\n{more}"
        )

    def worker(self, *options: str) -> subprocess.Popen[str]:
        """`memory-os worker`, not waited for."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "memory_os_workers.cli", "worker", *options],
            env=environment(self.home.hermes_home), cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def burst(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """What a `--burst --json` worker says at its end."""
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        return dict(json.loads(output))

    def pipeline(self) -> dict[str, Any]:
        return dict(self.home.client.get("/v1/status").get("pipeline") or {})

    def counters(self) -> dict[str, Any]:
        return dict(self.home.client.get("/v1/status")["counters"])

    def wait_for_workers(self, count: int) -> None:
        wait_until(lambda: len(self.pipeline().get("workers", {})) == count)

    @property
    def home_id(self) -> str:
        return str(self.home.client.post("/v1/workers/hello", {"worker": "test"})["home_id"])

    def held(self) -> dict[str, str]:
        """The jobs that are being run, and who runs each."""
        client = self.redis.client()
        try:
            held = client.hgetall(names.held_key(self.home_id))
            return {job.decode(): worker.decode() for job, worker in held.items()}  # type: ignore[union-attr]
        finally:
            client.close()

    def works(self, process: subprocess.Popen[str]) -> bool:
        """Whether this worker is one of those that live, as the service sees it."""
        return any(one.endswith(f":{process.pid}") for one in self.pipeline().get("workers", {}))

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.processes.clear()


@contextmanager
def site(home: Home, redis: RedisServer) -> Iterator[Site]:
    """The service is started and ready; no worker yet."""
    one = Site(home, redis)
    one.configure()
    home.serve(ready=True)
    try:
        yield one
    finally:
        one.end()
