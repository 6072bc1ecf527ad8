"""A Hermes home of a test's own, and the real `hermes` run in it: one-shot, chat, interactive, gateway, cron."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from support.model_server import CONTEXT_LENGTH, MODEL, Endpoint
from support.ports import free_port

# Nothing of the caller's own Hermes or memory-os may reach a test.
_DROPPED = ("HERMES_", "MEMORY_OS_", "FABRIC_DIR", "VAULT_PATH", "OPENAI_", "OPENROUTER_", "ANTHROPIC_", "API_SERVER_")
# A turn takes 5 s on an idle machine; a loaded one gets thirty times that.
RUN_TIMEOUT_S = 150
# Hermes 0.22 with no plugin at all dies of these at exit, after its answer, in about one run of forty on a busy machine.
_DIES_AT_EXIT = (-signal.SIGSEGV, -signal.SIGBUS)
# A line that the CLI draws in pieces is never seen whole.
_ECHO_S = 10.0
API_KEY = "test-key-of-the-api-server-0123456789"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[@-_]")


def clean_environment(hermes_home: Path) -> dict[str, str]:
    """The environment of every process a test starts for this home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    return {
        **kept,
        "HERMES_HOME": str(hermes_home),
        "HERMES_DISABLE_LAZY_INSTALLS": "1",
        "NO_COLOR": "1",
        "TERM": "xterm",
        "PYTHONUNBUFFERED": "1",
    }


@dataclass
class HermesHome:
    """One home: `hermes` is the line's executable, `model` its endpoint on the scripted server."""

    path: Path
    hermes: Path
    model: Endpoint
    extra_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**clean_environment(self.path), **self.extra_environment}

    def write_config(self, **sections: Any) -> None:
        """config.yaml with the scripted model; `sections` are merged over it. Comments stand for the user's own."""
        model = {
            "default": MODEL,
            "provider": "custom",
            "base_url": self.model.base_url,
            "api_key": "sk-test",
            "context_length": CONTEXT_LENGTH,
        }
        config: dict[str, Any] = {
            "model": model,
            "security": {"allow_lazy_installs": False},
            "memory": {"nudge_interval": 0},
            "skills": {"creation_nudge_interval": 0},
            # Answered, so that the interactive CLI of 0.22 doesn't open with a question.
            "telemetry": {"shared_metrics": {"enabled": False, "send": False, "offer_version": 2}},
        }
        for name, value in sections.items():
            merged = isinstance(value, dict) and isinstance(config.get(name), dict)
            config[name] = {**config[name], **value} if merged else value
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "config.yaml").open("w", encoding="utf-8") as stream:
            stream.write("# Kept by hand: the model of this machine.\n")
            YAML().dump(config, stream)

    def run(
        self, *arguments: str, expect: int | None = 0, timeout: float = RUN_TIMEOUT_S, within: Sequence[str] = ()
    ) -> str:
        """`hermes <arguments>`; its stdout. Fails the test on another exit code than expected (None: any).

        `within` is a command that runs the one after it (unshare, nice …).
        """
        done = subprocess.run(
            [*within, str(self.hermes), *arguments],
            env=self.environment,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        told = f"hermes {' '.join(arguments)[:200]} -> {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        answered = bool(done.stdout.strip()) and done.returncode in _DIES_AT_EXIT
        assert expect is None or done.returncode == expect or (expect == 0 and answered), told
        return done.stdout

    def oneshot(self, text: str) -> str:
        """`hermes -z`: a session of its own, gone four seconds later."""
        return self.run("-z", text).strip()

    def chat(self, text: str, *options: str, expect: int | None = 0) -> str:
        """`hermes chat -Q -q`; give `--resume ID` or `--continue` for an earlier session."""
        return self.run("chat", "-Q", *options, "-q", text, expect=expect).strip()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`hermes <arguments>` in the background, in a process group of its own."""
        return subprocess.Popen(
            [str(self.hermes), *arguments],
            env=self.environment,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def sessions(self) -> list[str]:
        """Session ids in state.db, newest last."""
        return [str(row[0]) for row in self.state("SELECT id FROM sessions ORDER BY started_at, rowid")]

    def state(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Rows of the host's own database. Opened for writing, so that a write which Hermes left unfinished is undone."""
        uri = f"file:{self.path / 'state.db'}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            return database.execute(sql, parameters).fetchall()

    @contextlib.contextmanager
    def gateway(self) -> Iterator[Gateway]:
        """`hermes gateway run` with its API server, up when this yields and stopped afterwards."""
        port = free_port()
        settings = {
            "API_SERVER_ENABLED": "true",
            "API_SERVER_KEY": API_KEY,
            "API_SERVER_PORT": str(port),
            "API_SERVER_HOST": "127.0.0.1",
        }
        log = (self.path / "gateway-test.log").open("w", encoding="utf-8")
        process = subprocess.Popen(
            [str(self.hermes), "gateway", "run"],
            env={**self.environment, **settings},
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        gateway = Gateway(f"http://127.0.0.1:{port}")
        try:
            gateway.wait(process, Path(log.name))
            yield gateway
        finally:
            stop_process(process)
            log.close()

    @contextlib.contextmanager
    def interactive(self, *arguments: str) -> Iterator[Terminal]:
        """The interactive CLI on a pseudo-terminal, at its prompt."""
        main, other = pty.openpty()
        process = subprocess.Popen(
            [str(self.hermes), "chat", "--cli", *arguments],
            env={**self.environment, "COLUMNS": "160", "LINES": "50"},
            cwd=self.path,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        terminal = Terminal(main, process)
        try:
            terminal.wait_for("❯")
            terminal.wait_until_quiet()
            yield terminal
        finally:
            stop_process(process)
            os.close(main)


class Gateway:
    """The OpenAI-compatible API server of a running gateway."""

    def __init__(self, url: str) -> None:
        self.url = url

    def wait(self, process: subprocess.Popen[Any], log: Path) -> None:
        """Until the server answers. Fails the test when the gateway ends or takes minutes."""
        give_up = time.monotonic() + 150
        while time.monotonic() < give_up:
            assert process.poll() is None, f"the gateway ended: {log.read_text('utf-8')[-3000:]}"
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/health", timeout=2):
                return
            time.sleep(0.2)
        raise AssertionError(f"the gateway's API server did not come up: {log.read_text('utf-8')[-3000:]}")

    def ask(self, content: str | list[Any], *, key: str, session: str = "", timeout: float = RUN_TIMEOUT_S) -> str:
        """One turn of the user with this session key; the answer's text."""
        headers = {
            "Authorization": f"Bearer {API_KEY}",
            "Content-Type": "application/json",
            "X-Hermes-Session-Key": key,
        }
        if session:
            headers["X-Hermes-Session-Id"] = session
        body = {"model": "hermes-agent", "messages": [{"role": "user", "content": content}]}
        request = urllib.request.Request(
            f"{self.url}/v1/chat/completions", data=json.dumps(body).encode(), headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"API server: {error.code} {error.read().decode()[:500]}") from error
        return str(answer["choices"][0]["message"]["content"])


class Terminal:
    """The far end of an interactive CLI: types lines, and waits for text on the screen."""

    def __init__(self, descriptor: int, process: subprocess.Popen[Any]) -> None:
        self._descriptor = descriptor
        self._process = process
        self._shown = ""

    def type(self, line: str) -> None:
        """Type a line and press enter, once it shows: what comes at once the CLI takes for a paste."""
        shown = len(self._shown)
        os.write(self._descriptor, line.encode())
        give_up = time.monotonic() + _ECHO_S
        while line and line not in self._shown[shown:] and time.monotonic() < give_up:
            self._read()
        time.sleep(0.5)
        os.write(self._descriptor, b"\r")

    def wait_for(self, text: str, timeout: float = 150) -> str:
        """Read until the text shows; what was shown up to it is forgotten. Fails the test after `timeout` seconds."""
        give_up = time.monotonic() + timeout
        while text not in self._shown:
            assert time.monotonic() < give_up, f"{text!r} never showed; the screen ends: {self._shown[-1500:]}"
            self._read()
        before, _, self._shown = self._shown.partition(text)
        return before

    def wait_until_quiet(self, seconds: float = 1.5, timeout: float = 60) -> None:
        """Until nothing new has been shown for a while."""
        give_up, last = time.monotonic() + timeout, time.monotonic()
        while time.monotonic() < give_up and time.monotonic() - last < seconds:
            if self._read():
                last = time.monotonic()

    def wait_for_end(self, timeout: float = 120) -> int:
        give_up = time.monotonic() + timeout
        while self._process.poll() is None and time.monotonic() < give_up:
            self._read()
        assert self._process.poll() is not None, f"still running; the screen ends: {self._shown[-1500:]}"
        return int(self._process.returncode)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], 0.1)
        if not ready:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # the other end is closed
            time.sleep(0.1)
            return False
        self._answer_queries(data)
        self._shown += _ANSI.sub("", data.decode("utf-8", "replace"))
        return bool(data)

    def _answer_queries(self, data: bytes) -> None:
        """prompt_toolkit asks where the cursor is and waits for the answer."""
        if b"\x1b[6n" in data:
            os.write(self._descriptor, b"\x1b[1;1R")


def stop_process(process: subprocess.Popen[Any], patience: float = 15) -> None:
    """End one process that a test started, politely first, then its whole group."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def lines_of(blocks: Sequence[str]) -> list[str]:
    """The recalled lines in these blocks."""
    return [line for block in blocks for line in block.splitlines() if line.startswith("- (")]
