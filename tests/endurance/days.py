"""Days of use in minutes: turn after turn while the clock runs ahead, and what the service's process holds meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.running import wait_until

from endurance.fork_server import write_clock
from endurance.ordeal import Ordeal

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
# Set forward and back as a user, a virtual machine or a bad battery does it.
JUMPS_S = (400 * DAY_S, -3650 * DAY_S, 0.0)


@dataclass(frozen=True)
class Held:
    """After so many turns: resident MB of the service, its open files, its threads, files in the home, MB of them."""

    turns: int
    resident_mb: float
    open_files: int
    threads: int
    files: int
    home_mb: float


def days(ordeal: Ordeal, clock: Path, *, batches: int, turns: int, hours: float) -> list[Held]:
    """So many turns a batch, so many hours between two batches, and the service keeps house whenever it is due."""
    held = []
    for batch in range(1, batches + 1):
        ordeal.talk(turns, wait=True)
        ordeal.wait_for_vectors()
        write_clock(clock, batch * hours * HOUR_S)
        # What the loop of the service does each minute, for a day of it does not last a minute here.
        ordeal.client.post("/v1/maintain", {"action": "run", "duty": "history"})
        for duty in ("trust", "tiers", "rotation", "backup", "rejected"):
            ordeal.client.post("/v1/maintain", {"action": "run", "duty": duty})
        held.append(_held(ordeal, batch * turns))
    return held


def jump(ordeal: Ordeal, clock: Path, turns: int) -> None:
    """The clock is set a year ahead, ten years back and right again, while turns go on."""
    for seconds in JUMPS_S:
        write_clock(clock, seconds)
        ordeal.talk(turns, wait=True)
        ordeal.wait_for_spool()


def growth(held: list[Held]) -> dict[str, float]:
    """What the last quarter of a use holds more than the second, in the median: in the first, caches fill."""
    quarter = max(1, len(held) // 4)
    before, after = (sorted(part, key=lambda one: one.resident_mb) for part in (held[quarter : 2 * quarter], held[-quarter:]))
    first, last = (asdict(part[len(part) // 2]) for part in (before, after))
    return {name: round(last[name] - first[name], 1) for name in first}


def _held(ordeal: Ordeal, turns: int) -> Held:
    pid = ordeal.service
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    files = [path for path in ordeal.settings.home.rglob("*") if path.is_file() and "models" not in path.parts]
    size = sum(path.stat().st_blocks * 512 for path in files)
    process = Path(f"/proc/{pid}")
    there = process.exists()
    return Held(
        turns, round(int(shown) / 1024, 1), len(os.listdir(process / "fd")) if there else 0,
        len(os.listdir(process / "task")) if there else 0, len(files), round(size / 1e6, 1),
    )  # fmt: skip


def summary(held: list[Held]) -> dict[str, Any]:
    return {"first": asdict(held[0]), "last": asdict(held[-1]), "growth_from_2nd_to_last_quarter": growth(held)}


# -- a full disk ---------------------------------------------------------------------------------------------------------


class SmallDisk:
    """A tmpfs of some MB in place of a folder, for whoever may mount one. Use as a context manager."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._size = megabytes
        self._ballast = folder / "ballast"

    @staticmethod
    def possible() -> bool:
        return os.geteuid() == 0 and Path("/proc/filesystems").exists()

    def __enter__(self) -> SmallDisk:
        self.folder.mkdir(parents=True)
        options = f"size={self._size}m,mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "endurance", str(self.folder)], check=True, capture_output=True)
        return self

    def __exit__(self, *exception: object) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True, capture_output=True)

    def fill(self) -> None:
        """To the last block."""
        with self._ballast.open("wb", buffering=0) as stream:
            for size in (2**20, 2**12):
                with contextlib.suppress(OSError):
                    while stream.write(bytes(size)):
                        pass

    def empty(self) -> None:
        self._ballast.unlink()


def fill_up(ordeal: Ordeal, disk: SmallDisk, turns: int) -> None:
    """The disk is full while turns go on, for as long as it takes the service to say so; then there is room again."""
    disk.fill()
    ordeal.talk(turns, wait=True)
    wait_until(lambda: _says_full(ordeal))
    disk.empty()


def _says_full(ordeal: Ordeal) -> bool:
    status = ordeal.client.get("/v1/status")
    return "disk" in str(status["background"].get("note")) or "MB free" in str(status["layers"]["5 vectors"].get("detail"))

