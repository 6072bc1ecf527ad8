"""Finding Hermes Agent on this machine and asking its own interpreter about itself. Features, never versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.errors import HostError

from memory_os_workers.setup import host_probe

# A first start of Hermes in a new home takes 7 s on two busy cores.
PROBE_TIMEOUT_S = 90.0

HOW_TO_GET_HERMES = "Install Hermes Agent (`pip install hermes-agent`), then run setup again."

# Where Hermes's own installers put the command, for a PATH that lacks it (cron, a service, a fresh shell).
_USUAL_PLACES = (
    "~/.local/bin/hermes",
    "~/.hermes/hermes-agent/venv/bin/hermes",
    "~/.hermes/hermes-agent/.venv/bin/hermes",
)

# pip writes `'''exec' "/path with spaces/python" "$0" "$@"` where a shebang would be too long or has spaces.
_EXEC_LINE = re.compile(rb"^'''exec'\s+(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+))", re.MULTILINE)
_WRAPPED = re.compile(rb"[\"']?(/[^\"'\n]*?/(?:hermes|python3?(?:\.\d+)?))[\"'\s]")


@dataclass(frozen=True, slots=True)
class Host:
    """One Hermes installation: the interpreter it runs in, and what it offers."""

    python: Path
    executable: Path | None
    version: str
    default_soul: str
    prompt_sections: bool

    def scan(self, text: str) -> list[str]:
        """The findings of the host's context-file scanner. Raises HostError."""
        return [str(item) for item in ask(self.python, {"ask": "scan", "text": text})["findings"]]

    def loaded(self, hermes_home: Path, name: str) -> dict[str, Any]:
        """Load the host's plugins in `hermes_home` for real; see `host_probe.loaded`. Raises HostError."""
        return ask(self.python, {"ask": "loaded", "name": name}, hermes_home=hermes_home)


def find_host(environ: Mapping[str, str] | None = None) -> Host | None:
    """The first Hermes that answers: HERMES_PYTHON, `hermes` on PATH, the usual places. None if there is none.

    Raises HostError if HERMES_PYTHON is set and can't import Hermes, or if a `hermes` was found but does not answer.
    """
    env = os.environ if environ is None else environ
    chosen = env.get("HERMES_PYTHON")
    if chosen:
        return _described(Path(chosen).expanduser(), None)
    refused: HostError | None = None
    for executable in _executables(env):
        for python in interpreters_of(executable):
            try:
                return _described(python, executable)
            except HostError as error:
                refused = error
    if refused is not None:
        raise refused
    return None


def required_host() -> Host:
    """The Hermes of this machine. Raises HostError if there is none."""
    host = find_host()
    if host is None:
        raise HostError("No Hermes Agent was found.", cure=HOW_TO_GET_HERMES)
    return host


def interpreters_of(executable: Path) -> Iterator[Path]:
    """The interpreters a `hermes` command may run in, likeliest first, each one existing."""
    seen: set[Path] = set()
    for candidate in _candidates(executable, depth=2):
        if candidate not in seen and candidate.exists():
            seen.add(candidate)
            yield candidate


def ask(python: Path, request: Mapping[str, Any], *, hermes_home: Path | None = None) -> dict[str, Any]:
    """Put one request to the host's interpreter. Without a home it runs in a scratch one. Raises HostError."""
    with tempfile.TemporaryDirectory(prefix="memory-os-host-") as scratch:
        environment = dict(os.environ)
        environment |= {
            "HERMES_HOME": str(hermes_home or Path(scratch)),
            # A question must not make the host install packages into its own venv.
            "HERMES_DISABLE_LAZY_INSTALLS": "1",
            "PYTHONIOENCODING": "utf-8",
        }
        for name in ("HERMES_SAFE_MODE", "PYTHONHOME", "__PYVENV_LAUNCHER__"):
            environment.pop(name, None)
        try:
            done = subprocess.run(
                [str(python), "-P", "-c", Path(host_probe.__file__).read_text("utf-8")],
                input=json.dumps(request).encode(),
                capture_output=True,
                env=environment,
                cwd=scratch,
                timeout=PROBE_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            raise HostError(f"{python} can't be run: {error.strerror}.", cure="Check HERMES_PYTHON.") from error
        except subprocess.TimeoutExpired as error:
            raise HostError(
                f"{python} did not answer in {PROBE_TIMEOUT_S:.0f} s.", cure="Try `hermes doctor`."
            ) from error
    return _answer(python, done)


def _answer(python: Path, done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    for line in done.stdout.decode("utf-8", "replace").split("\n"):
        _, mark, body = line.partition(host_probe.MARK)
        if mark:
            answer: dict[str, Any] = json.loads(body)
            return answer
    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
    raise HostError(f"{python} does not run Hermes Agent: {last[:200]}.", cure=HOW_TO_GET_HERMES)


def _described(python: Path, executable: Path | None) -> Host:
    answer = ask(python, {"ask": "describe"})
    return Host(python, executable, answer["version"], answer["default_soul"], bool(answer["prompt_sections"]))


def _executables(env: Mapping[str, str]) -> Iterator[Path]:
    on_path = shutil.which("hermes", path=env.get("PATH", ""))
    if on_path:
        yield Path(on_path)
    for place in _USUAL_PLACES:
        home = env.get("HOME", "")
        path = Path(place.replace("~", home, 1)) if home else Path(place).expanduser()
        if path.exists() and os.access(path, os.X_OK):
            yield path


def _candidates(executable: Path, *, depth: int) -> Iterator[Path]:
    resolved = executable.resolve()
    try:
        head = resolved.read_bytes()[:4096]
    except OSError:
        head = b""
    yield from _named_in(head, depth)
    for folder in (executable.parent, resolved.parent):
        yield folder / "python3"
        yield folder / "python"


def _named_in(head: bytes, depth: int) -> Iterator[Path]:
    first = head.split(b"\n", 1)[0]
    if first.startswith(b"#!") and b"python" in first and b"/env" not in first:
        yield Path(os.fsdecode(first[2:].strip()))
    wrapped = _EXEC_LINE.search(head)
    if wrapped:
        yield Path(os.fsdecode(next(group for group in wrapped.groups() if group)))
    elif depth and first.startswith(b"#!") and b"python" not in first:
        # A shell wrapper: what it starts is either an interpreter or another `hermes`.
        for name in _WRAPPED.findall(head + b"\n"):
            path = Path(os.fsdecode(name))
            if path.name == "hermes" and path.exists():
                yield from _candidates(path, depth=depth - 1)
            elif path.name != "hermes":
                yield path
