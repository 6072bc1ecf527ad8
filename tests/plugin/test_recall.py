from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_os_plugin import launch, paths, recall

from plugin.conftest import HANGS_S, PROMISED
from plugin.peer import Peer, reply

Python = Callable[[str], Path]


def missed(home: paths.Home) -> tuple[str, float]:
    started = time.monotonic()
    with pytest.raises(recall.Missed) as caught:
        recall.ask(home, {"user_message": "q"})
    return caught.value.reason, time.monotonic() - started


def test_a_warm_service_answers(home: paths.Home, peer: Peer) -> None:
    peer.context = "block"
    assert recall.ask(home, {"user_message": "q"})["context"] == "block"
    assert peer.asked("/v1/recall") == [{"user_message": "q"}]


@pytest.mark.usefixtures("promised")
def test_a_hanging_service_costs_300_ms_also_on_the_first_turn(home: paths.Home, peer: Peer) -> None:
    assert recall.WARM_SECONDS == 0.3
    peer.conduct = peer.hang
    for _ in range(2):
        reason, seconds = missed(home)
        assert reason == "timeout" and seconds < HANGS_S


def test_an_answer_that_is_none(home: paths.Home, peer: Peer) -> None:
    peer.conduct = lambda connection, path, body: reply(connection, {"error": "x", "code": "store"}, 500)
    assert missed(home)[0] == "500:store"
    peer.conduct = lambda connection, path, body: reply(connection, ["no object"])
    assert missed(home)[0] == "garbage"


def test_the_first_turn_waits_for_a_service_that_it_starts(home: paths.Home, python_that: Python) -> None:
    python_that("exec sleep 5")
    made: list[Peer] = []

    def come_up() -> None:
        time.sleep(0.6)
        peer = Peer(home.run / "service.sock")
        peer.context = "late but there"
        made.append(peer)

    helper = threading.Thread(target=come_up)
    helper.start()
    try:
        assert recall.ask(home, {})["context"] == "late but there"
    finally:
        helper.join()
        made[0].close()


@pytest.mark.usefixtures("promised")
def test_it_waits_for_a_service_that_another_process_started_and_that_still_loads(
    home: paths.Home, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "YOUNG_SECONDS", 60.0)
    (home.run / "start-attempt").write_text("now")

    def load_first(connection: object, path: str, body: object) -> None:
        time.sleep(0.8)
        peer.polite(connection, path, {})  # type: ignore[arg-type]

    peer.conduct = load_first
    peer.context = "loaded"
    assert recall.ask(home, {})["context"] == "loaded"


def test_a_home_too_deep_for_a_socket_is_served_on_the_one_that_the_service_announces(
    tmp_path: Path, python_that: Python, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / ("deep" * 25)))
    deep = paths.current_home()
    short = Path(tempfile.mkdtemp()) / "s"
    announcement = f'{{"socket": "{short}"}}'
    python_that(f"sleep 0.3; echo '{announcement}' > '{deep.run}/service.json'; exec sleep 5")
    peer = Peer(short)
    peer.context = "found"
    try:
        assert recall.ask(deep, {})["context"] == "found"
    finally:
        peer.close()
        short.parent.rmdir()


def test_only_the_first_turn_waits(home: paths.Home, python_that: Python, monkeypatch: pytest.MonkeyPatch) -> None:
    python_that("exec sleep 5")
    monkeypatch.setattr(recall, "FIRST_SECONDS", PROMISED[recall, "FIRST_SECONDS"])
    reason, seconds = missed(home)
    assert reason in ("absent", "timeout") and 2.0 < seconds < HANGS_S
    monkeypatch.setattr(recall, "FIRST_SECONDS", 60.0)
    reason, seconds = missed(home)
    assert reason == "absent" and seconds < HANGS_S


def test_a_start_that_is_known_to_have_failed_is_not_waited_for(home: paths.Home, python_that: Python) -> None:
    python_that("exit 1")
    reason, seconds = missed(home)
    assert reason == "absent" and seconds < HANGS_S


def test_a_start_that_failed_in_another_process_lately_is_not_waited_for(
    home: paths.Home, python_that: Python, monkeypatch: pytest.MonkeyPatch
) -> None:
    python_that("exec sleep 5")
    home.run.mkdir(parents=True)
    (home.run / "start-attempt").write_text("x")
    # Longer ago than a first turn waits, and not so long that it may be tried again.
    monkeypatch.setattr(launch, "RETRY_SECONDS", 600.0)
    lately = time.time() - 100
    os.utime(home.run / "start-attempt", (lately, lately))
    reason, seconds = missed(home)
    assert reason == "absent" and seconds < HANGS_S


def test_without_an_installed_service_nothing_is_waited_for(home: paths.Home) -> None:
    reason, seconds = missed(home)
    assert reason == "absent" and seconds < HANGS_S


def test_the_deadline_holds_where_the_fault_is_not_the_sockets(
    home: paths.Home, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(launch, "is_young", lambda home: hangs.wait(2 * HANGS_S))
    monkeypatch.setattr(recall, "FIRST_SECONDS", PROMISED[recall, "FIRST_SECONDS"])
    reason, seconds = missed(home)
    hangs.set()
    assert reason == "timeout" and seconds < HANGS_S
