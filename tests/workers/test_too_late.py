"""The plugin's hooks and the real service, which answers after the turn has gone on: nothing claims that it was in time."""

from __future__ import annotations

import select
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugin import loading

from workers.conftest import new_home
from workers.running import Home, wait_until

from memory_os_plugin import client, hooks, recall, state  # isort: skip

assert loading.PACKAGE in sys.modules

ASKED = "Which port does the staging gateway use?"
ANSWER = "It listens on port 8443."


@pytest.fixture(scope="module")
def talk(models: Path) -> Iterator[Home]:
    """A home with a service and one fact."""
    for one in new_home(models):
        one.serve(ready=True)
        told = {"action": "add", "content": "The staging gateway listens on port 8443."}
        one.client.post("/v1/tools/fact_store", {"arguments": told, "caller": {"user": "local", "platform": "cli"}})
        yield one


@pytest.fixture(autouse=True)
def _in(talk: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(talk.hermes_home))
    monkeypatch.delitem(sys.modules, state._SHARED_KEY, raising=False)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be in time is, also on a machine that is busy."""
    monkeypatch.setattr(recall, "WARM_SECONDS", 60.0)
    monkeypatch.setattr(recall, "FIRST_SECONDS", 60.0)


def put(turn: str) -> Any:
    return hooks.pre_llm_call(session_id="s", turn_id=turn, user_message=ASKED, conversation_history=[], platform="cli")


def answered(home: Home, turn: str) -> None:
    """The turn ends; what became of its lines is judged once the spool is empty."""
    hooks.post_llm_call(session_id="s", turn_id=turn, user_message=ASKED, assistant_response=ANSWER, platform="cli")
    wait_until(lambda: bool(rows(home, "SELECT 1 FROM messages WHERE turn_id = ?", turn)))
    wait_until(lambda: not list(home.settings.spool_dir.glob("[0-9]*.json")))


def rows(home: Home, sql: str, *values: str) -> list[Any]:
    db = sqlite3.connect(f"file:{home.settings.database}?mode=ro", uri=True)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def uses(home: Home, turn: str) -> list[Any]:
    return rows(home, "SELECT outcome FROM line_uses WHERE turn_id = ?", turn)


@pytest.mark.usefixtures("patient")
def test_an_answer_that_came_after_the_deadline_is_late(talk: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_slow(connection: socket.socket, until: float) -> Any:
        select.select([connection], [], [])
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(client, "_answer", too_slow)
        assert put("late") is None
    answered(talk, "late")
    put("in time")
    answered(talk, "in time")
    # Both turns said the same; the second was given the line, and it is the one that is judged.
    wait_until(lambda: set(uses(talk, "in time")) == {("used",)})
    assert uses(talk, "late") == []
    explained = talk.client.get("/v1/explain?turn=late")
    assert (explained["outcome"], explained["tokens"]) == ("late", 0)
    assert [one["reason"] for one in explained["lines"] if "8443" in one["text"]] == ["found, but too late for the prompt"]
    assert not any(one["shown"] for one in explained["lines"])
    shown = talk.command("explain", "late").stdout
    assert "late" in shown and "- f:" in shown and "+ f:" not in shown
    assert talk.client.get("/v1/status")["recalls"]["late"] == 1


def test_a_service_that_stood_still_claims_nothing(talk: Home) -> None:
    put("before")
    process = talk.processes[0]
    process.send_signal(signal.SIGSTOP)
    try:
        assert put("stopped") is None
    finally:
        process.send_signal(signal.SIGCONT)
    answered(talk, "stopped")
    explained = talk.client.get("/v1/explain?turn=stopped")
    assert (explained["outcome"], explained["tokens"]) == ("late", 0)
    assert not any(one["shown"] for one in explained["lines"])
    assert uses(talk, "stopped") == []


@pytest.mark.usefixtures("patient")
def test_a_service_killed_before_it_was_told_is_told_at_its_next_start(talk: Home) -> None:
    assert put("given") is not None
    wait_until(lambda: bool(rows(talk, "SELECT 1 FROM recalls WHERE turn_id = ?", "given")))
    process = talk.processes[0]
    process.kill()
    process.wait()
    # What the plugin writes when its deadline passes, with nobody there to hear of it.
    home = hooks.current_home()
    whose = {"turn_id": "given", "session_id": "s", "platform": "cli", "user": "local", "profile": "default"}
    hooks.record_missed(home, "recall", "timeout", 0.3, **whose)
    hooks.capture_turn(home, hooks.turn.identify(home, session_id="s", platform="cli", turn_id="given"), "s", "given", ASKED, ANSWER)
    talk.serve()
    wait_until(lambda: not list(talk.settings.spool_dir.glob("[0-9]*.json")))
    assert talk.client.get("/v1/explain?turn=given")["outcome"] == "late"
    assert uses(talk, "given") == []
