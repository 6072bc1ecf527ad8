"""Days of use in minutes: turn after turn while the clock runs ahead, and what the service's process holds meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from workers.running import wait_until

from endurance.fork_server import write_clock
from endurance.held import Held, holds
from endurance.ordeal import Ordeal

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
# Set forward and back as a user, a virtual machine or a bad battery does it.
JUMPS_S = (400 * DAY_S, -3650 * DAY_S, 0.0)


def days(
    ordeal: Ordeal, clock: Path, *, batches: int, turns: int, hours: float, tell: Callable[[Held], None] = lambda held: None
) -> list[Held]:
    """So many turns a batch, so many hours between two batches, and the service keeps house whenever it is due."""
    held = []
    for batch in range(1, batches + 1):
        ordeal.talk(turns, wait=True)
        ordeal.wait_for_vectors()
        write_clock(clock, batch * hours * HOUR_S)
        # What the loop of the service does each minute, for a day of it does not last a minute here.
        for duty in ("history", "trust", "tiers", "rotation", "backup", "rejected"):
            ordeal.maintain({"action": "run", "duty": duty})
        held.append(holds(ordeal.service, ordeal.settings, batch * turns))
        tell(held[-1])
    return held


def jump(ordeal: Ordeal, clock: Path, turns: int) -> None:
    """The clock is set a year ahead, ten years back and right again, while turns go on."""
    for seconds in JUMPS_S:
        write_clock(clock, seconds)
        ordeal.talk(turns, wait=True)
        ordeal.wait_for_spool()


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

