"""One home under kills: work is begun, its process is killed at a random moment of it, and memory is audited."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from memory_os.config import Settings, load_settings
from memory_os.errors import BadRequest, MemoryOSError
from memory_os_workers.client import ServiceClient
from workers.running import environment, wait_until

from endurance.fork_server import ForkServer
from endurance.host import make_state
from endurance.truth import CLOSED, Truth, faults_of_memory, out_of_step, promised

# No queue: the service does all work itself. What becomes of killed workers is tested where they are.
CONFIG = "workers: {embedded: false}\ndocuments: {settle_s: 0}\nunderstanding: {enabled: false}\n"
_TURNS = 40
_FILES = 6
# A busy machine takes its time; a memory that never settles takes for ever.
_SETTLED_WITHIN_S = 600
_TURN_MOST_S = 5.0
# In the raw folder; more than this are not made.
_DOCUMENTS_MAX = 60


def alive(pid: int) -> bool:
    """Until the last of its threads has ended: what it held is let go of then, and not before. Who forked it reaps it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Ordeal:
    """A home, its truth, and what is done to it. `seed` decides everything but the machine's own timing."""

    def __init__(
        self, home: Path, models: Path, forks: ForkServer, seed: int, *, config: str = CONFIG, clock: Path | None = None,
        points: Callable[[], list[str]] | None = None,
    ) -> None:  # fmt: skip
        """`points`: the ids of all points, where they stand on a server."""
        self.home = home
        self.forks = forks
        self.pick = random.Random(seed)
        self.truth = Truth()
        self.kills: Counter[str] = Counter()
        self.restarts_s: list[float] = []
        self.host = 0
        self._clock = clock
        self._points = points
        self._edition = 0
        (home / "memory-os").mkdir(parents=True, exist_ok=True)
        (home / "memory-os" / "models").symlink_to(models)
        (home / "memory-os" / "config.yaml").write_text(config, "utf-8")
        make_state(home)
        self.raw.mkdir(parents=True)
        self.service = self._start()

    @property
    def settings(self) -> Settings:
        return load_settings(environment(self.home), hermes_home=self.home)

    @property
    def client(self) -> ServiceClient:
        return ServiceClient(self.settings)

    @property
    def raw(self) -> Path:
        return self.home / "vault" / "wiki" / "raw"

    # -- kinds of work, by name ----------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, tuple[Callable[[], object], float]]:
        """What can be killed: how it is begun, and about how long it lasts here."""
        return {
            "capture": (self._drain, 0.5),
            "ingest": (self._ingest, 0.6),
            "reindex": (lambda: self._stream("/v1/reindex", {}), 0.8),
            "compaction": (lambda: self._post("/v1/maintain", {"action": "run", "duty": "history"}), 0.5),
            "backup": (lambda: self._post("/v1/maintain", {"action": "backup"}), 0.8),
        }

    def strike(self, kind: str) -> None:
        """Begin work of a kind beside the host's turns, kill the service in the midst of it, sometimes the host too."""
        begin, lasts = self.kinds()[kind]
        if kind == "ingest":
            self.change_files()
        if kind in ("capture", "compaction") or self.pick.random() < 0.3:
            self.talk()
        work = threading.Thread(target=begin)
        work.start()
        time.sleep(self.pick.uniform(0, lasts))  # not a wait for anything: a random moment of the work
        if self.pick.random() < 0.5:
            self._end_host()
        self._kill(self.service)
        work.join(60)
        self.kills[kind] += 1
        self.service = self._start()

    def talk(self, turns: int = _TURNS, *, wait: bool = False) -> None:
        """The host has more turns; with `wait` they have all been had on return."""
        self._end_host()
        _, begun = promised(self.home)
        self.host = self.forks.host(self.home, max(begun, default=-1) + 1, turns, clock=self._clock)
        if wait:
            wait_until(lambda: not alive(self.host), 120 + _TURN_MOST_S * turns)

    # -- the audit -----------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything that is due be done: the spool, history, files, vectors."""
        if self.host:
            wait_until(lambda: not alive(self.host), 120)
        wait_until(self._ready)
        self.maintain({"action": "run", "duty": "history"})
        list(self.client.stream("/v1/ingest", {"path": str(self.raw)}))
        self.client.post("/v1/spool", {})
        wait_until(self._done, _SETTLED_WITHIN_S)
        # Its proof asks memory and the copy the same: not while one of them is still being embedded.
        self.maintain({"action": "backup"})
        wait_until(self._done, _SETTLED_WITHIN_S)

    def maintain(self, wanted: dict[str, str]) -> None:
        """Have it done, as soon as the service itself is not at it."""
        wait_until(lambda: self._maintained(wanted), 120)

    def _maintained(self, wanted: dict[str, str]) -> bool:
        """Whether the duty was done now; not while the service itself is at it."""
        try:
            self.client.post("/v1/maintain", wanted)
        except BadRequest as error:
            if "running already" not in error.message:
                raise
            return False
        return True

    def audit(self) -> None:
        """Settle, stop the service in order, compare everything, start it again."""
        self.settle()
        self.stop()
        faults = [*faults_of_memory(self.settings, self.truth), *out_of_step(self.settings, self._points)]
        assert not faults, f"after {dict(self.kills)}:\n" + "\n".join(faults[:20])
        self.service = self._start()

    def wait_for_spool(self) -> None:
        """Until all that was said is in memory.db."""
        wait_until(lambda: not list(self.settings.spool_dir.glob("[0-9]*.json")))

    def wait_for_vectors(self) -> None:
        """Until everything that was said has its vector."""
        wait_until(self._done, _SETTLED_WITHIN_S)

    def glance(self) -> None:
        """What must hold at any moment after a kill, nothing settled: a whole database, nothing twice, nothing leaked."""
        faults = [one for one in faults_of_memory(self.settings, Truth()) if one.startswith("integrity_check") or " times: " in one
                  or " was given " in one or "twice" in one]  # fmt: skip
        assert not faults, f"after {dict(self.kills)}:\n" + "\n".join(faults[:20])

    def stop(self) -> None:
        os.kill(self.service, signal.SIGTERM)
        wait_until(lambda: not alive(self.service))

    def close(self) -> None:
        self._end_host()
        self._kill(self.service)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _start(self) -> int:
        started = time.monotonic()
        pid = self.forks.service(self.home, clock=self._clock)
        wait_until(lambda: self._ready() or not alive(pid))
        assert alive(pid), (self.home / "service.out").read_text("utf-8")[-2000:]
        self.restarts_s.append(time.monotonic() - started)
        return pid

    def _ready(self) -> bool:
        return bool((self.client.health() or {}).get("ready"))

    def _done(self) -> bool:
        if list(self.settings.spool_dir.glob("[0-9]*.json")):
            return False
        with contextlib.closing(sqlite3.connect(f"file:{self.settings.database}?mode=ro", uri=True)) as db:
            return db.execute(
                "SELECT (SELECT count(*) FROM passages WHERE indexed = 0) + (SELECT count(*) FROM deleted_points)"
                f" + (SELECT count(*) FROM passages WHERE indexed = 1 AND {CLOSED})", (time.time(),),
            ).fetchone() == (0,)  # fmt: skip

    def _end_host(self) -> None:
        if self.host:
            self._kill(self.host)
        self.host = 0

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid))

    def change_files(self) -> None:
        """Some files are new, some have another edition, one is gone."""
        self._edition += 1
        for number in self.pick.sample(range(_DOCUMENTS_MAX), _FILES):
            name = f"wiki/raw/note-{number}.md"
            path = self.raw / f"note-{number}.md"
            if name in self.truth.documents and self.pick.random() < 0.2:
                path.unlink()
                del self.truth.documents[name]
                continue
            body = "".join(f"\n## Part {part}\n\nPallet {number}-{part} is of edition {self._edition}.\n" for part in "abc")
            partial = self.raw / f".note-{number}"
            partial.write_text(f"# Note {number}\n{body}", "utf-8")
            partial.rename(path)
            self.truth.documents[name] = self._edition

    def _drain(self) -> None:
        self._post("/v1/spool", {})

    def _ingest(self) -> None:
        self._stream("/v1/ingest", {"path": str(self.raw)})

    def _post(self, path: str, body: dict[str, object]) -> None:
        with contextlib.suppress(MemoryOSError):  # it is killed in the midst of it
            self.client.post(path, dict(body))

    def _stream(self, path: str, body: dict[str, object]) -> None:
        with contextlib.suppress(MemoryOSError):
            list(self.client.stream(path, dict(body)))
