"""Memory off in one chat: now, then on again, and never for what was said in between."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from memory_os.sessions.off import ENDED_KEPT_S, digest

from sessions.conftest import NOW, Memory, open_memory, switch_off, switch_on


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
    assert len(list(marker.parent.iterdir())) == 1
    off.observe(5000.0 + ENDED_KEPT_S)
    assert list(marker.parent.iterdir()) == []
    assert [tuple(row) for row in memory.store.rows("SELECT since, until FROM off_periods")] == [(1000.0, 2000.0)]


def test_on_again_counts_at_once_and_what_was_said_meanwhile_stays_off(memory: Memory) -> None:
    """Before anybody has noted the end: by the renamed marker."""
    off = memory.sessions.off
    marker = switch_off(memory, "s1", 1000.0)
    off.observe(1500.0)
    marker.rename(f"{marker}.ended-{int(2000e9)}")
    assert off.is_off("s1", 1999.0)
    assert not off.is_off("s1", 2001.0)
    marker = switch_off(memory, "s2", 1000.0)  # never noted
    marker.rename(f"{marker}.ended-{int(2000e9)}")
    assert off.is_off("s2", 1500.0)
    assert not off.is_off("s2", 2001.0)


def test_off_and_on_several_times_before_anybody_looks(memory: Memory) -> None:
    off = memory.sessions.off
    off.observe(500.0)
    for since in (1000.0, 3000.0):
        marker = switch_off(memory, "s1", since)
        marker.rename(f"{marker}.ended-{int((since + 500) * 1e9)}")
    marker = switch_off(memory, "s1", 5000.0)
    for _ in range(2):
        assert [off.is_off("s1", at) for at in (999.0, 1200.0, 2000.0, 3200.0, 4000.0, 5200.0)] == [
            False, True, False, True, False, True,
        ]  # fmt: skip
        off.observe(6000.0)
    rows = memory.store.rows("SELECT since, until FROM off_periods ORDER BY since")
    assert [tuple(row) for row in rows] == [(1000.0, 1500.0), (3000.0, 3500.0), (5000.0, None)]


def test_a_memory_that_knows_nothing_of_it_takes_it_from_the_renamed_marker(memory: Memory) -> None:
    """As after memory.db was lost and an older copy restored."""
    off = memory.sessions.off
    marker = switch_off(memory, "s1", 1000.0)
    marker.rename(f"{marker}.ended-{int(2000e9)}")
    off.observe(3000.0)
    with memory.store.write() as db:
        db.execute("DELETE FROM off_periods")
    assert off.is_off("s1", 1500.0)
    off.observe(4000.0)
    assert [tuple(row) for row in memory.store.rows("SELECT since, until FROM off_periods")] == [(1000.0, 2000.0)]


def test_a_clock_that_was_set_back_while_a_chat_was_off_lets_nothing_in(memory: Memory) -> None:
    """Switched off by a clock two hours ahead; what is said after it was put right has an earlier time."""
    marker = switch_off(memory, "s1", NOW + 7200)
    memory.sessions.off.observe(NOW + 7201)
    memory.sessions.off.observe(NOW + 10)
    assert memory.sessions.off.is_off("s1", NOW + 5)
    marker.rename(marker.with_name(f"{marker.name}.ended-{int(NOW + 20) * 10**9}"))
    for _ in range(2):
        assert memory.sessions.off.is_off("s1", NOW + 5)
        assert not memory.sessions.off.is_off("s1", NOW + 30)
        memory.sessions.off.observe(NOW + 40)


def test_off_and_on_by_two_clocks_before_anybody_looked(memory: Memory) -> None:
    marker = switch_off(memory, "s1", NOW + 7200)
    marker.rename(marker.with_name(f"{marker.name}.ended-{int(NOW + 20) * 10**9}"))
    memory.sessions.off.observe(NOW + 40)
    assert memory.sessions.off.is_off("s1", NOW + 5)
    assert not memory.sessions.off.is_off("s1", NOW + 30)


def test_by_the_settings(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "home", "recall: {off_sessions: [s7]}")
    assert memory.sessions.off.is_off("s7")
    assert memory.sessions.off.is_off("s7", 1.0)
    assert not memory.sessions.off.is_off("s8")
    memory.store.close()
