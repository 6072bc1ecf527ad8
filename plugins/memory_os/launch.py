"""Starting the service on demand: detached, at most one attempt in a while, and never waited for here.

The service itself guards that there is only one (its lock); what is kept here is that a home whose service can't start
does not pay for an attempt at every turn. While `setup.sh` replaces the package nothing is tried: what is half there can't
start, and the first turn after that starts what is new.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .paths import Home, launch_config, read_object
from .state import shared

if TYPE_CHECKING:
    import subprocess

_log = logging.getLogger(__name__)

# A cold service answers within 2 s; one that doesn't in this time has a reason, which an attempt a turn won't mend.
RETRY_SECONDS = 30.0
# As long as this after its start a service may still be loading, so a first turn waits for it.
YOUNG_SECONDS = 5.0
_STDERR_KEPT = 64 * 1024
# The service's exit code for "another one runs": two processes started it at once, and one of them runs.
_EXIT_RUNNING = 3
# As the service's own client starts it: no plugin of pydantic is looked for in the metadata of every distribution, and
# glibc keeps no heap of its own for each thread, 100 MB for nothing.
_SERVING = {"PYDANTIC_DISABLE_PLUGINS": "__all__", "MALLOC_ARENA_MAX": "2"}


def start(home: Home) -> bool:
    """Start the service unless it was tried lately, or is being upgraded. True if an attempt was made; its outcome shows at
    the socket.
    """
    python = launch_config().python
    if not python:
        if shared().counts.add("not_installed"):
            _log.warning("memory-os: no launch.json beside the plugin; run `memory-os setup`")
        return False
    try:
        return not is_upgrading(python) and _start(home, python)
    except OSError as error:
        # Nothing can be written here; the spool will say the same, and more often.
        if shared().counts.add(f"launch:{error.errno}"):
            _log.warning("memory-os: the service of %s can't be started: %s", home.root, error)
        return False


def attempted_at(home: Home) -> float:
    """Epoch seconds of the last attempt by any process, 0.0 if never."""
    return _modified(home.run / "start-attempt")


def failed_since(home: Home, moment: float) -> bool:
    """Whether a start has failed after `moment` (epoch seconds), by what the service or we left."""
    return _modified(home.run / "last-error.json") > moment


def is_young(home: Home) -> bool:
    """Whether the service was started a moment ago and may still be loading."""
    since = time.time() - YOUNG_SECONDS
    return attempted_at(home) > since or _modified(home.run / "service.json") > since


def _start(home: Home, python: str) -> bool:
    for folder in (home.root, home.run, home.logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(home.run / "start-attempt", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Ten chats may wake at once; the one that holds the lock starts, the others wait for its service.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now = time.time()
        latest = max(_stamp(descriptor), _modified(home.run / "last-error.json"))
        if 0 <= now - latest < RETRY_SECONDS:
            return False
        os.pwrite(descriptor, b"%20d\n" % time.time_ns(), 0)
        _spawn(home, python)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _stamp(descriptor: int) -> float:
    """When the last attempt was; a fresh, empty file says never."""
    status = os.fstat(descriptor)
    return status.st_mtime if status.st_size else 0.0


def _spawn(home: Home, python: str) -> None:
    import subprocess  # registering must stay cheap

    errors = home.logs / "start.log"
    command = command_line(python, "serve")
    try:
        with errors.open("wb") as stream:
            errors.chmod(0o600)
            process = subprocess.Popen(
                command,
                cwd=home.root,
                env=service_environment(home) | _SERVING,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,  # neither Ctrl-C nor the terminal's end reaches it
            )
    except OSError as error:
        _record_failure(home, f"{python} can't be run: {error.strerror}.", "Run `./setup.sh` again.")
        return
    # Reaped, or it would stay a zombie in a gateway that lives for weeks.
    threading.Thread(target=_reap, args=(home, process, python), name="memory-os-service", daemon=True).start()


def command_line(python: str, *arguments: str) -> list[str]:
    """The service's command line. -P: with -m Python would import from the current folder first, which may be anybody's."""
    return [python, "-P", "-m", "memory_os_workers.cli", *arguments]


def is_upgrading(python: str) -> bool:
    """Whether `setup.sh`, which still runs, is replacing the packages of this environment. A killed one's mark says nothing."""
    mark = Path(python).parent.parent / ".upgrading"
    try:
        os.kill(int(mark.read_text("ascii")), 0)
    except PermissionError:
        return True  # another user's process: it is alive
    except (OSError, ValueError, OverflowError):
        return False
    return True


def service_environment(home: Home) -> dict[str, str]:
    """Ours without what steers the host's interpreter: the service has a venv of its own."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    return environment | {"HERMES_HOME": str(home.hermes), "MEMORY_OS_HOME": str(home.root)}


def _reap(home: Home, process: subprocess.Popen[bytes], python: str) -> None:
    started = time.time()
    code = process.wait()
    with suppress(OSError):
        if code not in (0, _EXIT_RUNNING) and is_upgrading(python):
            # The package went from under it. No failure of this home's: the next turn after the upgrade may start it.
            os.utime(home.run / "start-attempt", (0, 0))
        elif code not in (0, _EXIT_RUNNING) and time.time() - started < RETRY_SECONDS and not failed_since(home, started - 1.0):
            lines = (home.logs / "start.log").read_bytes()[-_STDERR_KEPT:].decode("utf-8", "replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), f"it ended with code {code}")
            _record_failure(home, f"The service ended at once: {last}", f"See {home.logs / 'start.log'}.")


def _record_failure(home: Home, error: str, cure: str) -> None:
    """Leave the reason where `memory-os status` looks, in the form the service uses."""
    record = {"at": time.time(), "pid": os.getpid(), "error": error, "cure": cure, "code": "launch"}
    path = home.run / "last-error.json"
    temporary = path.with_name(f".last-error.json.{os.getpid()}-{threading.get_ident()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(record, stream)
    temporary.replace(path)


def why_not_running(home: Home) -> str:
    """What keeps the service from starting, or kept it at the last attempt; "" if nothing did."""
    if is_upgrading(launch_config().python):
        return "memory-os is being upgraded; it is back by itself in a minute."
    return str(last_failure(home).get("error") or "")


def last_failure(home: Home) -> dict[str, object]:
    """What kept the service from starting, or an empty dict."""
    return read_object(home.run / "last-error.json")


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
