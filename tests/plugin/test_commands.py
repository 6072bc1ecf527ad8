from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from memory_os_plugin import commands, hooks, offswitch, paths

from plugin.conftest import HANGS_S
from plugin.peer import Peer, reply


def slash(raw: str = "") -> str:
    return asyncio.run(commands.slash(raw))


def answering(peer: Peer, value: dict[str, Any], status: int = 200) -> None:
    peer.conduct = lambda connection, path, body: reply(connection, value, status)


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody of a gateway types."""
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    monkeypatch.setenv("HERMES_SESSION_USER_ID", "42")


def test_status_tells_paths_to_nobody_remote(peer: Peer, home: paths.Home, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(peer, {"layers": {"4 fabric": {"state": "ok", "detail": "/home/me/fabric"}}})
    assert str(home.root) in slash() and "/home/me" in slash("status")
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    assert "4 fabric: ok" in slash("status") and "/home/me" not in slash("status") and str(home.root) not in slash("status")


@pytest.mark.usefixtures("sender")
def test_recall_shows_what_a_turn_of_the_asker_would_get_and_nothing_else(peer: Peer) -> None:
    peer.context = (
        "<memory-context>\nRecalled by memory-os; quoted records of earlier conversations and notes.\n"
        '[facts]\n- (f:abcdefgh) 2026-11-02, user noted: "the hook"\n</memory-context>'
    )
    line = '- (f:abcdefgh) 2026-11-02, user noted: "the hook"'
    assert slash("recall the spare key") == f"This would be recalled:\n[facts]\n{line}"
    peer.context = ""
    assert slash("recall the spare key") == "Nothing would be recalled for this."
    asked = peer.asked("/v1/recall")[0]
    assert asked["dry_run"] is True and asked["user_message"] == "the spare key" and asked["user"] == "telegram:42"
    assert [path for path, _ in peer.requests] == ["/v1/recall"] * 2, "one call each"


def test_nothing_is_recalled_where_memory_is_off(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SESSION_ID", "s1")
    slash("off")
    assert "off in this chat" in slash("recall the spare key")
    assert peer.requests == []


@pytest.mark.usefixtures("sender")
def test_forget_runs_as_whoever_typed(peer: Peer) -> None:
    answering(peer, {"status": "forgotten", "forgotten": {"facts": 1}, "proof": {"searched_again": 1, "found": 0}})
    assert slash("forget s:abcdefgh") == "Forgotten: 1 fact. A search for it finds nothing."
    (asked,) = peer.asked("/v1/tools/memory_forget")
    assert asked["arguments"] == {"id": "s:abcdefgh"} and asked["caller"]["user"] == "telegram:42"


def test_an_unknown_id_is_told_in_the_words_of_the_command(peer: Peer) -> None:
    answering(peer, {"error": "There is no memory 'x' of yours.", "cure": "Take the id, or give query=<words>."}, 400)
    assert slash("forget x") == "There is no memory 'x' of yours. `/memory-os recall <text>` shows lines with their ids."


REPORT = {
    "mode": "observe",
    "total": {"turns": 9, "injections": 4, "tokens": 800, "used": 3, "ignored": 1, "rediscoveries": 2, "misses": 1},
    "misses": [{"text": "the ferry"}],
    "reviews": [{"handle": "f:abcdefgh", "text": "port 1", "evidence": "port 2"}],
    "proposal": "try point",
}


def test_report_is_of_the_whole_home_for_the_person_at_it(peer: Peer) -> None:
    answering(peer, REPORT)
    text = slash("report")
    assert "9 turns, 4 with memory (800 tokens)" in text and "3 used, 1 ignored, 0 contradicted of 4" in text
    assert "the ferry" in text and "(f:abcdefgh) port 1: port 2" in text and "try point" in text
    assert peer.asked("/v1/report")[0]["everyone"] is True


@pytest.mark.usefixtures("sender")
def test_report_is_their_own_for_anybody_else(peer: Peer) -> None:
    answering(peer, REPORT)
    slash("report")
    (asked,) = peer.asked("/v1/report")
    assert asked["everyone"] is False and asked["user"] == "telegram:42"


def test_what_the_service_refuses_is_said_in_its_words(peer: Peer) -> None:
    answering(peer, {"error": "No recall is on record yet.", "cure": "Say something first.", "code": "bad_request"}, 400)
    assert slash("explain") == "No recall is on record yet. Say something first."


@pytest.mark.usefixtures("promised")
def test_a_service_that_hangs_costs_two_seconds(peer: Peer) -> None:
    assert commands._SECONDS == 2
    peer.conduct = peer.hang
    began = time.monotonic()
    assert "timeout" in slash("report")
    assert time.monotonic() - began < HANGS_S


def test_in_a_gateway_that_does_not_say_who_asks_nothing_private_is_told(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gateway.run", ModuleType("gateway.run"))
    for command in ("recall x", "forget s:abcdefgh", "report", "explain", "off"):
        assert "does not tell" in slash(command)
    assert not any(path.startswith("/v1/tools") for path, _ in peer.requests)
    assert slash("status").startswith("memory-os")


def test_off_and_on_are_for_this_chat(home: paths.Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no session yet" in slash("off")
    monkeypatch.setenv("HERMES_SESSION_ID", "s1")
    assert "off in this chat" in slash("off")
    assert offswitch.is_off(home, "s1", "")
    slash("on")
    assert not offswitch.is_off(home, "s1", "")


def test_explain_is_about_the_askers_own_turn(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    slash("explain")
    assert peer.requests[-1][0] == "/v1/explain?turn=last"
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    monkeypatch.setenv("HERMES_SESSION_USER_ID", "42")
    assert "Nothing was recalled for you" in slash("explain")


def test_in_a_gateway_explain_is_about_the_askers_last_turn_in_this_chat(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")

    def in_chat(key: str, sender: str) -> None:
        monkeypatch.setenv("HERMES_SESSION_KEY", key)
        monkeypatch.setenv("HERMES_SESSION_USER_ID", sender)

    for key, sender, turn in (("group", "42", "t1"), ("group", "42", "t2"), ("direct", "42", "t3"), ("group", "7", "t4")):
        in_chat(key, sender)
        hooks.pre_llm_call(session_id=f"of-{key}", turn_id=turn, user_message="Where is the key?", platform="telegram", sender_id=sender)
    in_chat("group", "42")
    slash("explain")
    assert peer.requests[-1][0] == "/v1/explain?turn=t2"
    in_chat("direct", "7")
    assert "Nothing was recalled for you" in slash("explain")


@pytest.mark.parametrize("raw", ["help", "recall", "forget  ", "räum auf", "--x"])
def test_anything_else_gets_the_usage(raw: str) -> None:
    assert slash(raw) == commands._USAGE


def test_without_a_service_it_says_so(home: paths.Home) -> None:
    assert "the service does not run" in slash("status")


def test_a_service_that_is_not_there_is_started(home: paths.Home, python_that: Callable[[str], Path]) -> None:
    python_that("exit 0")
    assert "It is being started" in slash("report")


def test_the_command_line_is_passed_on_with_its_exit_code(
    home: paths.Home, python_that: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    python_that('echo "$@" "$MEMORY_OS_HOME"; exit 3')
    parser = argparse.ArgumentParser()
    commands.add_arguments(parser)
    with pytest.raises(SystemExit) as caught:
        commands.run_cli(parser.parse_args(["recall", "the key", "--json"]))
    assert caught.value.code == 3
    assert capfd.readouterr().out == f"-P -m memory_os_workers.cli recall the key --json {home.root}\n"


def test_while_the_package_is_replaced_it_says_so(upgrading: Callable[[str], Path]) -> None:
    """Only while that setup.sh runs: the mark of one that was killed keeps nobody out."""
    mark = upgrading("exit 0")

    def code() -> object:
        with pytest.raises(SystemExit) as caught:
            commands.run_cli(argparse.Namespace(arguments=["status"]))
        return caught.value.code

    assert code() == "memory-os is being upgraded; try again in a minute."
    for killed in ("2147483647\n", "", "x", "9" * 30):
        mark.write_text(killed)
        assert code() == 0


@pytest.mark.parametrize("python", ["", "/nowhere/python"])
def test_a_missing_environment_is_said_in_one_line(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_OS_PYTHON", python)
    with pytest.raises(SystemExit) as caught:
        commands.run_cli(argparse.Namespace(arguments=["status"]))
    assert "setup.sh" in str(caught.value.code) and "\n" not in str(caught.value.code)


def test_a_fault_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("x")

    monkeypatch.setattr(commands, "current_home", broken)
    assert "did not work" in slash()
