"""What a service's process holds while it is used, and whether that becomes more and more."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from memory_os.config import Settings

# Of a use, this part at its beginning says nothing of its slope: what is remembered of the wording and handles of passages is full
# after some 2,000 turns, and threads and their connections come to be.
_WARMING = 0.5
_LOOKS = 3
# MB of its own that a service may hold more after 1,000 turns, once warm. The vector engine keeps 0.95 kB a point in memory
# (measured alone), which are 2 MB for the 2,000 of so many turns; what is remembered of words fills by 1, and looks scatter by 4.
# The smallest thing that was ever kept of each turn by mistake (what it was given) came to 10.
SLOPE_MOST_MB = 5.0
# Below so many turns the caches are still filling, and there is no slope to be judged.
SLOPE_FROM_TURNS = 4000


@dataclass(frozen=True)
class Held:
    """After so many turns, in MB: what of the service is resident, how much of it is its own (`anon`) and how much pages of
    mapped files, which the system takes back when it wants them (`mapped`; 0 where the system tells neither); its open
    files and threads; files in the home without the models', and their MB."""

    turns: int
    resident_mb: float
    anon_mb: float
    mapped_mb: float
    open_files: int
    threads: int
    files: int
    home_mb: float


def holds(pid: int, settings: Settings, turns: int) -> Held:
    """Of this process and its home, now."""
    files = [path for path in _files(settings.home) if "models" not in path.parts]
    size = sum(map(_on_disk, files))
    resident, anon, mapped = _memory_mb(pid)
    return Held(turns, resident, anon, mapped, _entries(pid, "fd"), _entries(pid, "task"), len(files), round(size / 1e6, 1))


def slope(held: Sequence[Held], name: str) -> float:
    """How much more of it after 1,000 more turns, once warm: the median of the slopes between any two looks.

    Theil and Sen's estimator (Sen, JASA 63, 1968), which a single step hardly moves, over the least of each three looks: what
    is in the way for a moment (a backup, what was freed since the last minute) is not held.
    """
    warm = held[int(len(held) * _WARMING) :]
    rows = [warm[at : at + _LOOKS] for at in range(0, len(warm) - _LOOKS + 1, _LOOKS)]
    least = [(row[_LOOKS // 2].turns, min(float(getattr(one, name)) for one in row)) for row in rows]
    slopes = [(y - x) / (later - sooner) * 1000 for (sooner, x), (later, y) in combinations(least, 2)]
    return round(statistics.median(slopes), 2) if slopes else 0.0


def faults_of(held: Sequence[Held]) -> list[str]:
    """What piles up in a long use, in words."""
    if held[-1].turns < SLOPE_FROM_TURNS:
        return []
    # Where the system does not tell what is its own, the mapped files would be judged with it.
    limits = {"anon_mb": SLOPE_MOST_MB, "open_files": 1.0, "threads": 1.0} if held[-1].anon_mb else {}
    slopes = {name: slope(held, name) for name in limits}
    return [f"{name}: {slopes[name]:+} for 1,000 turns, at most {most} may be" for name, most in limits.items() if slopes[name] > most]


def growth(held: Sequence[Held]) -> dict[str, float]:
    """What the last quarter of a use holds more than the second, in the median: in the first, caches fill."""
    quarter = max(1, len(held) // 4)
    before, after = held[quarter : 2 * quarter], held[-quarter:]
    names = list(asdict(held[0]))
    return {
        name: round(statistics.median(getattr(one, name) for one in after) - statistics.median(getattr(one, name) for one in before), 1)
        for name in names
    }  # fmt: skip


def summary(held: Sequence[Held]) -> dict[str, Any]:
    names = [name for name in asdict(held[0]) if name != "turns"]
    return {
        "first": asdict(held[0]), "last": asdict(held[-1]), "growth_from_2nd_to_last_quarter": growth(held),
        "slope_per_1000_turns": {name: slope(held, name) for name in names},
    }  # fmt: skip


def _files(home: Path) -> list[Path]:
    """Those there are: a service at work makes some and takes some away meanwhile, and folders too."""
    return [path for folder, _, names in os.walk(home) for path in (Path(folder) / name for name in names) if path.is_file()]


def _on_disk(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _memory_mb(pid: int) -> tuple[float, float, float]:
    """Resident, own, mapped. macOS tells what is its own as the physical footprint (`footprint`), Linux both."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        told = dict(re.findall(r"^(\w+):\s+(\d+) kB$", status.read_text("ascii", "replace"), re.MULTILINE))
        resident, anon, file, shared = (int(told.get(name, 0)) / 1024 for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem"))
        return round(resident, 1), round(anon, 1), round(file + shared, 1)
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    resident = int(shown) / 1024
    anon = _footprint_mb(pid)
    return round(resident, 1), anon, round(max(0.0, resident - anon), 1) if anon else 0.0


def _footprint_mb(pid: int) -> float:
    try:
        shown = subprocess.run(["vmmap", "--summary", str(pid)], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0.0
    match = re.search(r"^Physical footprint:\s+([\d.]+)([KMG])", shown, re.MULTILINE)
    return round(float(match[1]) * {"K": 1 / 1024, "M": 1.0, "G": 1024.0}[match[2]], 1) if match else 0.0


def _entries(pid: int, of: str) -> int:
    folder = Path(f"/proc/{pid}/{of}")
    return len(os.listdir(folder)) if folder.exists() else 0
