"""docker-compose.yml, .env.example and the Dockerfile: as far as they can be proved where no Docker engine runs."""

from __future__ import annotations

import http.server
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from memory_os.config import ENVIRONMENT
from memory_os_workers.cli import COMMANDS
from ruamel.yaml import YAML
from support.ports import free_port

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
TEXT = COMPOSE.read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
SECRETS = ("QDRANT_API_KEY", "MEMORY_OS_REDIS_PASSWORD")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(TEXT)["services"]
    return loaded


def variables(text: str) -> set[str]:
    """What Compose fills in: `${NAME}`, with or without a default; `$$` is the container's own."""
    return set(re.findall(r"(?<!\$)\$\{(\w+)", text))


def test_the_file_fits_the_schema_of_compose() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_variable_of_the_example_is_read_and_every_one_read_is_in_it() -> None:
    example = re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE)
    assert sorted(example) == sorted(variables(TEXT))


def test_secrets_have_no_default() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    for name in SECRETS:
        assert re.search(rf"^{name}=$", example, re.MULTILINE)
        assert all(rest.startswith(":?") for rest in re.findall(rf"\$\{{{name}(.*?)\}}", TEXT))


def test_settings_given_to_our_containers_are_settings(services: dict[str, Any]) -> None:
    known = {*ENVIRONMENT, "HERMES_HOME"}
    for name in ("worker", "service"):
        assert set(services[name]["environment"]) <= known
        assert services[name]["command"][0] in COMMANDS


def test_ports_are_bound_to_loopback(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)


def test_nothing_runs_as_root_and_everything_has_a_health_check(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service.get("user") or service["image"].endswith("-unprivileged"), name
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert ":latest" not in service["image"]
    assert "\nUSER memory\n" in DOCKERFILE


def test_no_password_stands_among_arguments(services: dict[str, Any]) -> None:
    for service in services.values():
        told = " ".join([*service.get("command", []), *service["healthcheck"]["test"]])
        assert not variables(told) & set(SECRETS)


# -- what the commands do when they run --------------------------------------------------------------------------------


@pytest.fixture
def running_redis(services: dict[str, Any], tmp_path: Path) -> Iterator[int]:
    """The compose file's own command over a real redis-server, its folder and port being ours."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server on this machine")
    port = free_port()
    script = services["redis"]["command"][2].replace("$$", "$").replace("${REDIS_MAXMEMORY:-512mb}", "64mb")
    script = script.replace("dir /data", f"dir {tmp_path}\nport {port}\nbind 127.0.0.1")
    process = subprocess.Popen(["sh", "-c", script], env={"REDISCLI_AUTH": "s3cret", "PATH": "/usr/bin:/bin"})
    try:
        yield port
    finally:
        process.terminate()
        assert process.wait(120) == 0, "told to stop it ends in order"


def test_redis_asks_for_its_password_and_forgets_nothing(running_redis: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            redis.Redis(port=running_redis).ping()
        except redis.AuthenticationError:
            break
        except redis.ConnectionError:
            assert time.monotonic() < deadline, "redis-server does not come up"
            time.sleep(0.05)
        else:
            pytest.fail("redis answers without a password")
    with redis.Redis(port=running_redis, password="s3cret", decode_responses=True) as client:
        assert client.ping()
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory") == {"maxmemory": str(64 * 1024 * 1024)}
    arguments = Path(f"/proc/{_pid_listening(running_redis)}/cmdline")
    if arguments.exists():
        assert b"s3cret" not in arguments.read_bytes()


def _pid_listening(port: int) -> str:
    with redis.Redis(port=port, password="s3cret", decode_responses=True) as client:
        return str(client.info("server")["process_id"])


class _Ready(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_health_check_of_qdrant_tells_ready_from_not(services: dict[str, Any], status: int, healthy: bool) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this machine")
    handler = type("Handler", (_Ready,), {"status": status})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        *command, script = services["qdrant"]["healthcheck"]["test"][1:]
        script = script.replace("$$", "$").replace("/6333", f"/{server.server_port}")
        done = subprocess.run([*command, script], capture_output=True, timeout=120, check=False)
        server.shutdown()
    assert (done.returncode == 0) is healthy, done.stderr


def test_what_the_dockerfile_copies_builds_a_wheel_with_the_command(tmp_path: Path) -> None:
    source, wheels = tmp_path / "src", tmp_path / "wheels"
    source.mkdir()
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        for name in line.split()[:-1]:
            found = ROOT / name
            if found.is_dir():
                shutil.copytree(found, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(found, source / name)
    allowed = set(re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    assert {path.name for path in source.iterdir()} <= allowed
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(source)]
    subprocess.run(build, check=True, capture_output=True, timeout=240)
    (wheel,) = wheels.glob("memory_os-*.whl")
    # Out of the wheel alone: neither this checkout nor what is installed here may help.
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    run = "import sys; sys.path.insert(0, sys.argv[1]); from memory_os_workers.cli import main; sys.exit(main(['worker', '--help']))"
    done = subprocess.run(
        [sys.executable, "-c", run, str(tmp_path / "installed")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "--concurrency" in done.stdout, done.stderr
    assert (tmp_path / "installed" / "memory_os" / "plugin" / "plugin.yaml").exists()
