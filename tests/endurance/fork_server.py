"""Real services that start in a fraction of a second: a process that has imported everything forks for each start.

`ForkServer` is the caller's side. A child is a process of its own (session, environment, log), runs the same `serve` as the
command, and can be killed like any other; only the second of imports is saved, which makes hundreds of kills affordable.
"""

from __future__ import annotations

import importlib
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from workers.running import REPOSITORY, environment

__all__ = ["ForkServer", "write_clock"]

_WORKERS = "memory_os_workers"
_IMPORTED = (
    "endurance.host", "memory_os.engine", f"{_WORKERS}.api", f"{_WORKERS}.background", f"{_WORKERS}.jobs.pipeline",
    f"{_WORKERS}.jobs.reconciliation", f"{_WORKERS}.service", f"{_WORKERS}.understanding",
)  # fmt: skip

class ForkServer:
    """Use as a context manager. `nice` holds for everything it starts."""

    def __init__(self, folder: Path, *, nice: int = 0) -> None:
        self._folder = folder
        self._nice = nice
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ForkServer:
        variables = environment(self._folder)
        variables["PYTHONPATH"] = os.pathsep.join((str(REPOSITORY / "tests"), variables["PYTHONPATH"]))
        self._process = subprocess.Popen(
            ["nice", "-n", str(self._nice), sys.executable, "-P", "-m", "endurance.fork_server"],
            env=variables, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._answer() == 0
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(120)
        self._process.stdout.close()

    def service(self, hermes_home: Path, *, clock: Path | None = None) -> int:
        """The service of this home; its pid. With `clock` its time is the machine's plus what `write_clock` put there."""
        return self._fork("service", hermes_home, clock)

    def host(self, hermes_home: Path, first: int, turns: int, *, clock: Path | None = None) -> int:
        """A host that has this home's plugin: turns `first`… by its hooks and in its state.db; its pid."""
        return self._fork("host", hermes_home, clock, first, turns)

    def _fork(self, kind: str, home: Path, clock: Path | None, *arguments: int) -> int:
        assert self._process is not None and self._process.stdin is not None
        order = {"kind": kind, "home": str(home), "clock": str(clock or ""), "arguments": arguments}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> int:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the fork server has ended"
        return int(line)


def write_clock(path: Path, seconds: float) -> None:
    """How far ahead of the machine's clock the processes of this clock are, from now on."""
    path.touch()
    with path.open("r+b") as stream:
        stream.write(struct.pack("d", seconds))


# -- the process -----------------------------------------------------------------------------------------------------------


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # The library's threads would not be there in a fork.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in _IMPORTED:
        importlib.import_module(name)
    print(0, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _child(order)
        print(pid, flush=True)


def _child(order: dict[str, Any]) -> None:
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(f"{order['home']}/{order['kind']}.out", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ["HERMES_HOME"] = order["home"]
        if order["clock"]:
            _follow_clock(Path(order["clock"]))
        code = _run(order)
    except BaseException:  # noqa: BLE001 - written down, and the fork must not go on as its parent
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _run(order: dict[str, Any]) -> int:
    if order["kind"] == "service":
        from memory_os.config import load_settings
        from memory_os_workers.serving import serve

        serve(load_settings())
    else:
        from endurance.host import live

        live(Path(order["home"]), *order["arguments"])
    return 0


def _follow_clock(path: Path) -> None:
    """Wall time is the machine's plus what stands in the file; monotonic time goes on as it is, as when a clock is set."""
    real, real_ns = time.time, time.time_ns
    with path.open("r+b") as stream:
        shared = mmap.mmap(stream.fileno(), 8)
    time.time = lambda: real() + struct.unpack("d", shared[:8])[0]
    time.time_ns = lambda: real_ns() + int(struct.unpack("d", shared[:8])[0] * 1e9)


if __name__ == "__main__":
    main()
