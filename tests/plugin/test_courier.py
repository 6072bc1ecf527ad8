from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from memory_os_plugin import courier, paths, state

from plugin.conftest import HANGS_S
from plugin.peer import Peer


def test_parcels_arrive_in_order(home: paths.Home, peer: Peer) -> None:
    for number in range(20):
        courier.observe(home, "pre_tool", n=number)
    assert [body["n"] for body in peer.wait_for("/v1/observe", 20)] == list(range(20))


def test_nobody_waits_for_a_hanging_service_and_what_does_not_fit_is_counted(home: paths.Home, peer: Peer) -> None:
    peer.conduct = peer.hang
    started = time.monotonic()
    for _ in range(1000):
        courier.nudge(home)
    assert time.monotonic() - started < HANGS_S
    assert state.shared().counts.take()["courier_full"] >= 400
    peer.close()


def test_a_nudge_starts_a_service_that_is_not_there_an_observation_does_not(
    home: paths.Home, python_that: Callable[[str], Path]
) -> None:
    python_that("exit 0")
    courier.observe(home, "pre_tool")
    assert courier.wait_empty(60) and not (home.run / "start-attempt").exists()
    courier.nudge(home)
    assert courier.wait_empty(60) and (home.run / "start-attempt").exists()


def test_counted_faults_are_told_at_the_next_nudge(home: paths.Home, peer: Peer) -> None:
    state.shared().counts.add("spool_turn:28", 3)
    courier.nudge(home)
    (body,) = peer.wait_for("/v1/observe")
    assert body["event"] == "plugin_faults" and body["counts"] == {"spool_turn:28": 3}
    courier.wait_empty(60)
    assert state.shared().counts.take() == {}
