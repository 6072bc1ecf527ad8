"""The audit of a long use tells what piles up from what is only in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memory_os.config import load_settings

from endurance.held import SLOPE_FROM_TURNS, SLOPE_MOST_MB, Held, faults_of, holds, slope, summary


def use(turns: int, own_mb: float, *, files: float = 0.0) -> list[Held]:
    """Looks every 100 turns at a service that holds so much more of its own after each 1,000, and scatters by 6 MB."""
    looks = range(100, turns + 1, 100)
    return [
        Held(at, 260.0, 130.0 + own_mb * at / 1000 + (at // 100 % 3) * 3, 100.0, 42 + int(files * at / 1000), 29, 80, 90.0)
        for at in looks
    ]


@pytest.mark.parametrize("own_mb", [0.0, 2.0, 10.0])
def test_the_slope_is_found_through_the_scatter_and_single_looks(own_mb: float) -> None:
    held = use(5000, own_mb)
    odd = [*held[:30], Held(3100, 900.0, 700.0, 100.0, 42, 29, 80, 90.0), *held[31:]]  # in the midst of a backup
    assert slope(held, "anon_mb") == pytest.approx(own_mb, abs=0.3)
    assert slope(odd, "anon_mb") == pytest.approx(own_mb, abs=0.3)
    assert summary(held)["slope_per_1000_turns"]["mapped_mb"] == 0.0


def test_what_a_memory_needs_passes_and_what_is_kept_of_each_turn_does_not() -> None:
    assert faults_of(use(SLOPE_FROM_TURNS, 2.0)) == []
    (fault,) = faults_of(use(SLOPE_FROM_TURNS, 2 * SLOPE_MOST_MB))
    assert fault.startswith("anon_mb")
    (fault,) = faults_of(use(SLOPE_FROM_TURNS, 0.0, files=3.0))
    assert fault.startswith("open_files")
    assert faults_of(use(800, 50.0)) == [], "so early, caches fill"


def test_a_process_is_told_apart_from_its_files(tmp_path: Path) -> None:
    held = holds(os.getpid(), load_settings({}, hermes_home=tmp_path), 7)
    assert held.turns == 7 and held.resident_mb > 10
    if Path("/proc/self/status").exists():
        assert held.anon_mb > 5 and held.resident_mb == pytest.approx(held.anon_mb + held.mapped_mb, abs=0.3)
        assert held.open_files > 2 and held.threads >= 1
