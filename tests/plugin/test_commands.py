from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from memory_os_plugin import commands, offswitch, paths

from plugin.peer import Peer, reply


def slash(raw: str = "") -> str:
    return asyncio.run(commands.slash(raw))


def test_status_is_readable(peer: Peer) -> None:
    status = {"version": "0.1.0", "layers": {"facts": {"state": "ok", "detail": "7 facts"}}, "memory": 5, "none": None}
    peer.conduct = lambda connection, path, body: reply(connection, status)
    text = slash()
    assert "version: 0.1.0" in text and "layers facts: ok · 7 facts" in text and "none" not in text
    assert peer.requests[0][0] == "/v1/status"


def test_recall_and_forget_run_as_whoever_typed(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    monkeypatch.setenv("HERMES_SESSION_USER_ID", "42")
    assert slash("recall the spare key") == "- f:abcdefgh 2026-11-02: found"
    slash("forget s:abcdefgh")
    (asked,) = peer.asked("/v1/tools/qdrant_search")
    assert asked["arguments"]["query"] == "the spare key" and asked["caller"]["user"] == "telegram:42"
    assert peer.asked("/v1/tools/memory_forget")[0]["arguments"] == {"id": "s:abcdefgh"}


def test_in_a_gateway_that_does_not_say_who_asks_nothing_private_is_told(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gateway.run", ModuleType("gateway.run"))
    for command in ("recall x", "forget s:abcdefgh", "report", "explain", "off"):
        assert "does not tell" in slash(command)
    assert not any(path.startswith("/v1/tools") for path, _ in peer.requests)
    assert "memory-os for" in slash("status")


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


@pytest.mark.parametrize("raw", ["help", "recall", "forget  ", "räum auf", "--x"])
def test_anything_else_gets_the_usage(raw: str) -> None:
    assert slash(raw) == commands._USAGE


def test_without_a_service_it_says_so(home: paths.Home) -> None:
    assert "no answer from the service (absent)" in slash("status")


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
