"""Two scratch Hermes homes, one with memory-os and one without, and questions put to the real Hermes in both.

The model is the one of the user's own home: its `model` section is copied, its `.env` linked. Nothing of the user's is
changed, and both homes are gone afterwards.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.config import load_settings
from memory_os.errors import HostError
from ruamel.yaml import YAML

from memory_os_workers.ab.figures import Run
from memory_os_workers.ab.questions import Question, QuestionSet, is_right
from memory_os_workers.client import ServiceClient
from memory_os_workers.setup.host import Host

# Sections without which a model can't be reached. Everything else of the user's stays out of a measurement.
_SECTIONS = ("model", "providers", "custom_providers", "auxiliary", "fallback_providers")
_LINKED = (".env", "auth.json")
# A slow local model on a busy machine.
ANSWER_TIMEOUT_S = 600.0
_READY_S = 60.0
_SETTLED_S = 60.0
_POLL_S = 0.1
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True)
class Home:
    """A scratch home; `memory` says whether memory-os is in it."""

    path: Path
    memory: bool

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_OS_", "FABRIC_DIR", "VAULT_PATH"))}
        return {**kept, "HERMES_HOME": str(self.path), "HERMES_DISABLE_LAZY_INSTALLS": "1", "NO_COLOR": "1"}


@contextlib.contextmanager
def homes(hermes_home: Path) -> Iterator[tuple[Home, Home]]:
    """(with memory, without), removed at the end with the service of the first. Raises HostError."""
    with tempfile.TemporaryDirectory(prefix="memory-os-ab-") as folder:
        on, off = Home(Path(folder) / "on", memory=True), Home(Path(folder) / "off", memory=False)
        for home in (on, off):
            _make(home, hermes_home)
        try:
            _command(on, "setup", "--hermes-home", str(on.path), "--no-start", "--yes")
            # Memory's own questions to the model would stand between Hermes and its answers, and need not be there.
            _command(on, "config", "set", "models.provider", "none")
            yield on, off
        finally:
            _command(on, "stop", check=False)


def teach(home: Home, questions: QuestionSet) -> None:
    """Store the set's memories as facts and wait until they can be recalled. Raises HostError, ServiceError."""
    _command(home, "serve", "--detach")
    client = _client(home)
    _until(lambda: bool((client.health() or {}).get("ready")), _READY_S, "the service did not become ready")
    caller = {"user": "local", "profile": "default", "platform": "cli", "author": "user"}
    for memory in questions.memories:
        arguments = {"action": "add", "content": memory, "category": "project"}
        client.post("/v1/tools/fact_store", {"arguments": arguments, "caller": caller})
    _until(lambda: client.get("/v1/status").get("pending_embeddings") == 0, _SETTLED_S, "the memories were not embedded")


def ask(home: Home, question: Question, host: Host, options: Sequence[str]) -> Run:
    """Put one question to a new session of the real Hermes."""
    started = time.monotonic()
    error, answer = "", ""
    command = [*_hermes(host), "-z", question.ask, *options]
    try:
        done = subprocess.run(
            command, env=home.environment, cwd=home.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=ANSWER_TIMEOUT_S, check=False,
        )  # fmt: skip
        answer = _ANSI.sub("", done.stdout).strip()
        error = "" if answer else f"no answer, exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    except subprocess.TimeoutExpired:
        error = f"no answer within {ANSWER_TIMEOUT_S:.0f} s"
    seconds = time.monotonic() - started
    tools, tokens = _spent(home)
    return Run(
        question.ask, question.free, home.memory, answer, is_right(question, answer), _used_memory(home), tools, tokens,
        round(seconds, 2), error,
    )  # fmt: skip


def _hermes(host: Host) -> list[str]:
    beside = host.executable or host.python.parent / "hermes"
    return [str(beside)] if beside.exists() else [str(host.python), "-m", "hermes_cli.main"]


def _make(home: Home, hermes_home: Path) -> None:
    home.path.mkdir(parents=True, mode=0o700)
    config = hermes_home / "config.yaml"
    data = YAML(typ="safe").load(config.read_text("utf-8")) if config.exists() else {}
    kept = {name: data[name] for name in _SECTIONS if isinstance(data, dict) and name in data}
    if "model" not in kept:
        raise HostError(f"{config} names no model.", cure="Configure one (`hermes model`), then run it again.")
    with (home.path / "config.yaml").open("w", encoding="utf-8") as stream:
        YAML().dump({**kept, "memory": {"nudge_interval": 0}, "security": {"allow_lazy_installs": False}}, stream)
    for name in _LINKED:
        if (hermes_home / name).exists():
            (home.path / name).symlink_to(hermes_home / name)


def _command(home: Home, *arguments: str, check: bool = True) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memory_os_workers.cli", *arguments], env=home.environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if check and done.returncode not in (0, 1):
        raise HostError(f"`memory-os {arguments[0]}` failed in the scratch home: {(done.stderr or done.stdout).strip()[-300:]}")


def _client(home: Home) -> ServiceClient:
    return ServiceClient(load_settings({}, hermes_home=home.path))


def _spent(home: Home) -> tuple[int, int]:
    """(tool calls, tokens in and out) of the newest session, as the host counted them."""
    row = _row(home.path / "state.db", "SELECT tool_call_count, input_tokens, output_tokens FROM sessions ORDER BY started_at DESC LIMIT 1")
    return (int(row[0] or 0), int(row[1] or 0) + int(row[2] or 0)) if row else (0, 0)


def _used_memory(home: Home) -> bool:
    """Whether the answer used a line that was injected into its turn; looked at once the turn is archived."""
    if not home.memory:
        return False
    database = home.path / "memory-os" / "memory.db"
    latest = "SELECT turn_id FROM recalls ORDER BY rowid DESC LIMIT 1"
    with contextlib.suppress(HostError):
        _until(
            lambda: _row(database, f"SELECT 1 FROM recalls WHERE turn_id = ({latest}) AND tokens = 0") is not None
            or _row(database, f"SELECT 1 FROM line_uses WHERE turn_id = ({latest})") is not None,
            10.0,
            "",
        )
    return _row(database, f"SELECT 1 FROM line_uses WHERE turn_id = ({latest}) AND outcome = 'used'") is not None


def _row(path: Path, sql: str) -> Any:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchone()
    except sqlite3.Error:
        return None


def _until(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise HostError(f"{otherwise} within {seconds:.0f} s.")
        time.sleep(_POLL_S)
