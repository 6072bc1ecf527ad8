"""Waiting for a start: as long as it makes progress, and no longer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import ServiceUnavailable
from memory_os_workers import client as module
from memory_os_workers import starting
from memory_os_workers.client import ensure_service
from memory_os_workers.processes import processor_ticks
from memory_os_workers.starting import Patience

from workers.running import Home, wait_until

LOG = Path("/logs/service.log")


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    """A process that computes all the time."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.kill()


def _stands_still(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, moved by the test."""
    seconds = [100.0]
    monkeypatch.setattr(starting, "monotonic", lambda: seconds[0])
    return seconds


def test_who_computes_is_waited_for_and_who_stands_still_is_not(
    busy: subprocess.Popen[bytes], clock: list[float]
) -> None:
    patience = Patience(LOG, stalled_s=60)
    for _ in range(5):
        before = processor_ticks(busy.pid)
        wait_until(lambda before=before: processor_ticks(busy.pid) != before)
        clock[0] += 50
        patience.look(busy.pid, "the end")
    os.kill(busy.pid, signal.SIGSTOP)
    wait_until(lambda: _stands_still(busy.pid))
    patience.look(busy.pid, "the end")
    clock[0] += 61
    with pytest.raises(ServiceUnavailable, match=r"no progress; waited 311 s for the end.*service\.log"):
        patience.look(busy.pid, "the end")


def test_what_another_process_computes_is_no_progress_of_ours(busy: subprocess.Popen[bytes], clock: list[float]) -> None:
    patience = Patience(LOG, stalled_s=60)
    patience.look(busy.pid, "another", starts=False)
    before = processor_ticks(busy.pid)
    wait_until(lambda: processor_ticks(busy.pid) != before)
    clock[0] += 61
    with pytest.raises(ServiceUnavailable, match="waited 61 s for another"):
        patience.look(busy.pid, "another", starts=False)


def test_a_further_step_is_progress_and_is_told_once_there_is_a_wait(clock: list[float]) -> None:
    told: list[str] = []
    patience = Patience(LOG, stalled_s=60, tell=told.append)
    for step in range(4):
        for _ in range(2):
            patience.look(None, f"step {step}")
            clock[0] += 25
    assert told == [f"waiting for step {step}" for step in range(4)]


def test_there_is_an_end_even_to_progress(clock: list[float]) -> None:
    patience = Patience(LOG, wait_s=100)
    patience.look(None, "step 1")
    clock[0] += 101
    with pytest.raises(ServiceUnavailable, match="within 100 s; waited for step 2"):
        patience.look(None, "step 2")


def test_a_service_that_starts_and_stands_still_is_named(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 600\n")
    sleeper.chmod(0o755)
    started: list[int] = []
    start = module.start_detached

    def remembered(settings: module.Settings) -> subprocess.Popen[bytes]:
        child = start(settings)
        started.append(child.pid)
        return child

    monkeypatch.setattr(module.sys, "executable", str(sleeper))
    monkeypatch.setattr(module, "start_detached", remembered)
    try:
        with pytest.raises(ServiceUnavailable, match=r"waited .* s for the service to start"):
            ensure_service(home.settings, stalled_s=0.5)
    finally:
        for pid in started:
            os.kill(pid, signal.SIGKILL)
    assert len(started) == 1


def test_a_service_that_hangs_keeps_no_other_from_saying_so(
    home: Home, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = home.serve()
    process.send_signal(signal.SIGSTOP)  # before it sees that its socket is gone, and ends
    home.settings.socket.unlink()
    step = module._step

    def timed(settings: module.Settings, health: dict[str, Any] | None, other: int | None) -> str:
        """Time passes while the other one is waited for: how long our own takes to find it is the machine's."""
        clock[0] += 61 if other is not None else 0
        return step(settings, health, other)

    monkeypatch.setattr(module, "_step", timed)
    with pytest.raises(ServiceUnavailable, match=f"another service \\(pid {process.pid}\\)"):
        ensure_service(home.settings, stalled_s=60)
