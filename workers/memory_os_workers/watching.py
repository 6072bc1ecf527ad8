"""File events: what changes in a followed folder is looked at within seconds, and nothing is ever derived from an event.

An event only says "look there now"; what changed is found by comparing, so that a lost or doubled one does no harm.
Folders are watched one by one and never through a link. Where the system sends no events (network shares, too many
folders, no more watches) the folder is looked at every few seconds instead; one that is not there yet is waited for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memory_os.documents.files import find_folders, is_meant

_log = logging.getLogger(__name__)

Mode = Literal["auto", "poll", "off"]

# How often a folder without events is looked at: a look at 10,000 files takes some 0.2 s.
POLL_S = 5.0
# How often the folders themselves are listed: one that appeared where no event told is watched from then on.
RENEW_S = 30.0
# After a fault of the event system: tried again so much later, with looking every POLL_S meanwhile.
RETRY_S = 300.0
_AGAIN_S = 0.5
# Linux grants a user some 8,000 watches by default, and others need some.
FOLDERS_MAX = 4000
# The event thread wakes this often (ms); bursts are told together, after at most so long.
_STEP_MS = 200
_BURST_MS = 1600
# File systems that other machines write to: their events never reach us.
_SHARED = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.", "vboxsf", "drvfs", "virtiofs",
           "davfs", "ncpfs", "ocfs2", "gfs", "beegfs")  # fmt: skip
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to watch. `folders`: each its own watch, with the root it belongs to; `files`: roots that are files, watched by
    their folder; `anchors`: folders above a root that is not there yet, with the name that is awaited in them; `polled`:
    roots that must be looked at, and why.
    """

    folders: dict[str, Path] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    anchors: dict[str, set[str]] = field(default_factory=dict)
    polled: dict[Path, str] = field(default_factory=dict)


class Watcher:
    """Calls `nudge(root)` when something may have changed below a root, and once for each when watching begins.

    `roots()` gives absolute paths of folders or files; it is asked again and again, as folders come to be followed.
    """

    def __init__(
        self, roots: Callable[[], Sequence[Path]], nudge: Callable[[Path], None], *, mode: Mode = "auto"
    ) -> None:
        self._roots = roots
        self._nudge = nudge
        self._mode = mode
        self._stopped = asyncio.Event()
        self._plan = Plan()
        self._retry_at = 0.0
        self._changes = 0
        self._changed_at = 0.0
        self._fault = ""

    async def run(self) -> None:
        """Until `stop`. A fault is noted for `figures` and looked around; it never ends the watching."""
        while not self._stopped.is_set() and self._mode != "off":
            try:
                plan = await asyncio.to_thread(self._planned)
                for root in _new_roots(self._plan, plan):
                    self._nudge(root)
                self._plan = plan
                await self._follow(plan)
            except FileNotFoundError:  # a folder went between planning and watching
                await _pause(self._stopped, _AGAIN_S)
            except Exception as error:  # noqa: BLE001 - noted; what is followed is looked at all the same
                self._failed(error)
                await _pause(self._stopped, _AGAIN_S)

    def stop(self) -> None:
        self._stopped.set()

    def figures(self) -> dict[str, Any]:
        """For `status`: how many folders send events, which are looked at instead and why, and the last change."""
        return {
            "mode": self._mode,
            "folders": len(self._plan.folders),
            "polled": {str(root): why for root, why in self._plan.polled.items()},
            "changes": self._changes,
            "changed_at": self._changed_at or None,
            "fault": self._fault,
        }

    def _planned(self) -> Plan:
        if self._mode == "poll":
            return plan_of(self._roots(), events=lambda _: "as configured")
        if time.monotonic() < self._retry_at:
            return plan_of(self._roots(), events=lambda _: self._fault)
        return plan_of(self._roots())

    def _failed(self, error: Exception) -> None:
        while isinstance(error, ExceptionGroup):  # what the watch's own tasks raise comes wrapped
            error = error.exceptions[0]
        self._fault = f"{type(error).__name__}: {error}"[:200].encode("utf-8", "backslashreplace").decode()
        self._retry_at = time.monotonic() + RETRY_S
        _log.warning("file events fail, folders are looked at every %.0f s instead: %s", POLL_S, self._fault)

    async def _follow(self, plan: Plan) -> None:
        """Nudge as changes come, until the plan no longer fits."""
        renew_at = time.monotonic() + RENEW_S
        # A wait of POLL_S may end a moment early by this clock.
        poll_at = time.monotonic() + POLL_S / 2
        async with aclosing(self._batches(plan)) as batches:
            async for paths in batches:
                self._tell(paths, plan, polled=time.monotonic() >= poll_at)
                if time.monotonic() >= poll_at:
                    poll_at = time.monotonic() + POLL_S / 2
                if time.monotonic() >= renew_at or any(_changes_plan(path, plan) for path in paths):
                    return

    def _tell(self, paths: set[str], plan: Plan, *, polled: bool) -> None:
        touched = {root for path in paths if (root := _root_of(path, plan)) is not None}
        if touched:
            self._changes += 1
            self._changed_at = time.time()
        for root in touched | (plan.polled.keys() if polled else set()):
            self._nudge(root)

    async def _batches(self, plan: Plan) -> AsyncGenerator[set[str], None]:
        """Sets of changed paths; empty ones every few seconds. Raises OSError, RuntimeError."""
        # A tenth of the service's start-up otherwise, and nothing needs it before the first turn is answered.
        from watchfiles import Change, awatch

        def wanted(_: Change, path: str) -> bool:
            folder, name = os.path.split(path)
            if path in plan.files or path in plan.folders or name in plan.anchors.get(folder, ()):
                return True
            return folder in plan.folders and is_meant(name)

        watched = sorted({*plan.folders, *plan.anchors, *map(os.path.dirname, plan.files)})
        if not watched:
            await _pause(self._stopped, POLL_S)
            yield set()
            return
        batches = awatch(
            *watched, watch_filter=wanted, debounce=_BURST_MS, step=_STEP_MS, rust_timeout=int(POLL_S * 1000),
            yield_on_timeout=True, stop_event=self._stopped, recursive=False,
        )  # fmt: skip
        async with aclosing(batches):
            async for changes in batches:
                yield {path for _, path in changes}


async def _pause(stopped: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stopped.wait(), seconds)


def plan_of(roots: Iterable[Path], events: Callable[[Path], str] | None = None) -> Plan:
    """What to watch for some roots. `events(root)`: why a root sends no events, or ''; by default by its file system."""
    silent = events or silence_of(_mounts())
    plan = Plan()
    for root in roots:
        try:
            real = root.resolve()
            if not _is_utf8(str(real)):
                plan.polled[root] = "its name is not UTF-8"
            elif not real.exists():
                _await(real, plan)
            elif why := silent(real):
                plan.polled[root] = why
            elif real.is_dir():
                _watch(real, root, plan)
            else:
                plan.files[str(real)] = root
        except (OSError, RuntimeError) as error:
            plan.polled[root] = str(error)
    return plan


def silence_of(mounts: Sequence[tuple[str, str]]) -> Callable[[Path], str]:
    """Why a path's file system sends no events of what others write, or ''. `mounts`: (mount point, type) pairs."""
    ordered = sorted(mounts, key=lambda mount: len(mount[0]), reverse=True)

    def silent(path: Path) -> str:
        for point, kind in ordered:
            if path == Path(point) or Path(point) in path.parents:
                return f"{kind} sends no file events" if kind.startswith(_SHARED) else ""
        return ""

    return silent


def _mounts() -> list[tuple[str, str]]:
    """(mount point, type) of what is mounted; empty where the system has no such list (macOS)."""
    try:
        return mounts_in(Path("/proc/self/mounts").read_bytes())
    except OSError:
        return []


def mounts_in(table: bytes) -> list[tuple[str, str]]:
    """(mount point, type) pairs of a mount table as in proc(5): spaces and the like are octal, all else is bytes."""
    rows = [line.split(b" ") for line in table.split(b"\n")]
    return [(os.fsdecode(_OCTAL.sub(_byte, row[1])), os.fsdecode(row[2])) for row in rows if len(row) > 2]


def _byte(escaped: re.Match[bytes]) -> bytes:
    return bytes([int(escaped[1], 8) & 0xFF])


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _watch(real: Path, root: Path, plan: Plan) -> None:
    found = [str(folder) for folder, _ in zip(find_folders(real), range(FOLDERS_MAX + 1), strict=False)]
    # The event system knows no other names, and files below such a folder are refused by theirs.
    folders = [folder for folder in found if _is_utf8(folder)]
    if len(folders) + len(plan.folders) > FOLDERS_MAX:
        plan.polled[root] = f"more than {FOLDERS_MAX} folders"
        return
    plan.folders.update(dict.fromkeys(folders, root))


def _await(real: Path, plan: Plan) -> None:
    """Watch the nearest folder above for the name that leads to a root."""
    above = next(folder for folder in real.parents if folder.is_dir())
    plan.anchors.setdefault(str(above), set()).add(real.relative_to(above).parts[0])


def _root_of(path: str, plan: Plan) -> Path | None:
    above = os.path.dirname(path)  # noqa: PTH120 - strings from the watcher
    return plan.files.get(path) or plan.folders.get(path) or plan.folders.get(above)


def _changes_plan(path: str, plan: Plan) -> bool:
    """A folder that came or went, or the name that was awaited."""
    folder, name = os.path.split(path)
    if name in plan.anchors.get(folder, ()) or path in plan.folders:
        return True
    return Path(path).is_dir() and not Path(path).is_symlink()


def _new_roots(before: Plan, plan: Plan) -> set[Path]:
    """Roots with folders that were not watched before: something may have come while nobody looked."""
    fresh = {plan.folders[folder] for folder in plan.folders.keys() - before.folders.keys()}
    fresh |= {plan.files[file] for file in plan.files.keys() - before.files.keys()}
    return fresh | (plan.polled.keys() - before.polled.keys())
