"""Use that goes on and on, a clock that is set, a disk that is full: flat memory, bounded files, nothing lost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from endurance.days import SmallDisk, days, fill_up, jump
from endurance.fork_server import ForkServer, write_clock
from endurance.held import growth
from endurance.ordeal import Ordeal


@pytest.fixture(scope="module")
def clock(folder: Path) -> Path:
    path = folder / "clock"
    write_clock(path, 0.0)
    return path


@pytest.fixture(scope="module")
def used(folder: Path, models: Path, forks: ForkServer, clock: Path) -> Iterator[Ordeal]:
    one = Ordeal(folder / "hermes", models, forks, seed=5, clock=clock)
    yield one
    one.close()


def test_in_days_of_use_nothing_piles_up(used: Ordeal, clock: Path) -> None:
    held = days(used, clock, batches=4, turns=20, hours=12)
    more = growth(held)
    assert more["open_files"] <= 5 and more["threads"] <= 3, held
    # A daily copy of memory.db, at most three of them.
    assert more["files"] <= 8, held
    # So early, the process still fills its caches; how flat it becomes is the long form's to say.
    assert more["resident_mb"] <= 60, held


def test_a_clock_set_forward_and_back_loses_nothing_and_doubles_nothing(used: Ordeal, clock: Path) -> None:
    jump(used, clock, turns=6)
    used.audit()


@pytest.mark.skipif(not SmallDisk.possible(), reason="needs the right to mount a small disk")
def test_a_full_disk_is_told_and_loses_nothing(models: Path, forks: ForkServer) -> None:
    folder = Path(tempfile.mkdtemp(prefix="mos-"))
    try:
        with SmallDisk(folder / "hermes" / "memory-os", 512) as disk:
            ordeal = Ordeal(folder / "hermes", models, forks, seed=5)
            try:
                fill_up(ordeal, disk, turns=6)
                ordeal.audit()
            finally:
                ordeal.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
