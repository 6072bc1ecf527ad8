"""Memory off in one chat: now, then on again, and never for what was said in between."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from memory_os.sessions.off import digest

from sessions.conftest import Memory, open_memory, switch_off, switch_on


def test_off_and_on(memory: Memory) -> None:
    off = memory.sessions.off
    switch_off(memory, "a/../b")
    assert off.is_off("a/../b")
    assert off.is_off("another", key="a/../b")
    assert not off.is_off("another")
    switch_on(memory, "a/../b", time.time())
    assert not off.is_off("a/../b")


def test_what_was_said_in_between_stays_off(memory: Memory) -> None:
    off = memory.sessions.off
    switch_off(memory, "s1")
    began = time.time()
    switch_on(memory, "s1", began + 100)
    assert off.is_off("s1", began + 50)
    assert not off.is_off("s1", began - 50)
    assert not off.is_off("s1", began + 200)


def test_a_period_noted_late_is_taken_from_the_renamed_marker(memory: Memory) -> None:
    off = memory.sessions.off
    switch_off(memory, "s1")
    marker = memory.settings.home / "off" / digest("s1")
    assert stat.S_IMODE(os.stat(marker).st_mode) == 0o600
    os.utime(marker, (1000.0, 1000.0))
    marker.rename(f"{marker}.ended-{int(2000e9)}")
    for _ in range(2):
        off.observe(5000.0)
    assert off.is_off("s1", 1500.0)
    assert not off.is_off("s1", 2500.0)
    assert not off.is_off("s1")
    assert list(marker.parent.iterdir()) == []


def test_by_the_settings(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "home", "recall: {off_sessions: [s7]}")
    assert memory.sessions.off.is_off("s7")
    assert memory.sessions.off.is_off("s7", 1.0)
    assert not memory.sessions.off.is_off("s8")
    memory.store.close()
