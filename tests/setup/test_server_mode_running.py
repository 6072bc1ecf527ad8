"""The stack of docker-compose.yml without an engine: its own commands, variables and health checks, all at once.

Redis is the real `redis-server`; Qdrant is the stand-in of these tests, for no server of it can be installed here.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from support.ports import free_port
from support.qdrant_server import QdrantServer
from workers.running import PATIENCE_S, REPOSITORY, Home, environment, wait_until

SERVICES: dict[str, Any] = YAML(typ="safe").load((REPOSITORY / "docker-compose.yml").read_text("utf-8"))["services"]
WORKERS = 3
DOCUMENTS = 30
# What `.env` would hold.
ENV = {"QDRANT_API_KEY": "key of the test", "MEMORY_OS_REDIS_PASSWORD": "s3cret"}


def filled_in(text: str, values: dict[str, str]) -> str:
    """A value of the file as Compose passes it on."""
    text = re.sub(r"(?<!\$)\$\{(\w+)(?::[-?]([^}]*))?\}", lambda found: values.get(found[1], found[2] or ""), text)
    return text.replace("$$", "$")


@dataclass
class Stack:
    """Every container as a process of this machine."""

    home: Home
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """The command of one of our containers."""
        command = [filled_in(part, ENV) for part in SERVICES[name]["command"]]
        extra = {"MEMORY_OS_EMBEDDED_WORKER": SERVICES["service"]["environment"]["MEMORY_OS_EMBEDDED_WORKER"]}
        process = subprocess.Popen(
            ["memory-os", *command], env={**self.environment, **(extra if name == "service" else {})},
            cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def healthy(self, name: str) -> bool:
        """What the health check of a container says."""
        test = [filled_in(part, ENV) for part in SERVICES[name]["healthcheck"]["test"][1:]]
        done = subprocess.run(test, env=self.environment, cwd="/", capture_output=True, timeout=PATIENCE_S, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode == 0

    def status(self) -> dict[str, Any]:
        return self.home.client.get("/v1/status")

    def end(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def stack(model_folder: Path) -> Iterator[Stack]:
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server on this machine")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="mos-")))
        qdrant = QdrantServer(folder / "qdrant", key=ENV["QDRANT_API_KEY"]).start()
        opened.callback(qdrant.close)
        one = Stack(Home(folder / "hermes"), _environment(folder, qdrant.url, free_port()))
        opened.callback(one.end)
        one.home.settings.home.mkdir(parents=True)
        (folder / "hermes/memory-os/models").symlink_to(model_folder)
        one.processes.append(_redis(folder / "redis", one.environment))
        yield one


def _environment(folder: Path, qdrant_url: str, port: int) -> dict[str, str]:
    """The containers' variables, with the folders and ports of this test for the mounts and host names."""
    command = folder / "bin" / "memory-os"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m memory_os_workers.cli "$@"\n', "utf-8")
    command.chmod(0o755)
    named = {name: filled_in(value, ENV) for name, value in SERVICES["worker"]["environment"].items()}
    placed = {
        "HERMES_HOME": str(folder / "hermes"),
        "VAULT_PATH": str(folder / "vault"),
        "FABRIC_DIR": str(folder / "fabric"),
        "MEMORY_OS_QDRANT_URL": qdrant_url,
        "MEMORY_OS_REDIS_URL": f"redis://127.0.0.1:{port}/0",
    }
    assert placed.keys() <= named.keys()
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    return {**environment(folder / "hermes"), **named, **placed, "PATH": path}


def _redis(data: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    data.mkdir()
    port = env["MEMORY_OS_REDIS_URL"].rsplit(":", 1)[1].split("/")[0]
    script = filled_in(SERVICES["redis"]["command"][2], ENV)
    script = script.replace("dir /data", f"dir {data}\nport {port}\nbind 127.0.0.1\nlogfile {data}/log")
    variables = {name: filled_in(value, ENV) for name, value in SERVICES["redis"]["environment"].items()}
    return subprocess.Popen(["sh", "-c", script], env={"PATH": "/usr/bin:/bin:/usr/local/bin", **variables})


@pytest.mark.timeout(900)
def test_three_workers_share_the_work_of_the_whole_stack_and_its_health_checks_tell(stack: Stack) -> None:
    assert not stack.healthy("service") and not stack.healthy("worker")
    service = stack.start("service")
    wait_until(lambda: (stack.home.client.health() or {}).get("ready") is True or service.poll() is not None)
    workers = [stack.start("worker") for _ in range(WORKERS)]
    wait_until(lambda: len((stack.status().get("pipeline") or {}).get("workers", {})) == WORKERS)
    assert stack.healthy("service") and stack.healthy("worker")
    told = stack.status()["pipeline"]
    assert (told["mode"], told["worked_by"], told["findings"]) == ("server", "workers", [])

    raw = Path(stack.environment["VAULT_PATH"]) / "wiki" / "raw"
    raw.mkdir(parents=True)
    for number in range(DOCUMENTS):
        text = f"# Box {number}\n\nThe box with the number {number} stands on shelf {number % 7}.\n"
        (raw / f"box-{number}.md").write_text(text, "utf-8")
    wait_until(lambda: _taken(stack) == DOCUMENTS)
    layers = stack.status()["layers"]
    assert layers["5 vectors"]["state"] == "ok" and layers["5 vectors"]["figures"]["points"] >= DOCUMENTS

    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    assert [worker.wait(PATIENCE_S) for worker in workers] == [0] * WORKERS
    assert not stack.healthy("worker") and stack.healthy("service")


def _taken(stack: Stack) -> int:
    status = stack.status()
    taken = int(status["layers"]["5 documents"]["figures"].get("ok", 0))
    return taken if status["pending_embeddings"] == 0 else 0
