from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memory_os_plugin import paths, schemas, state, tools, toolset, turn

from plugin.conftest import HANGS_S
from plugin.peer import Peer, reply


class Context:
    """What the host gives a general plugin, as far as tools go."""

    def __init__(self) -> None:
        self.tools: dict[str, dict[str, Any]] = {}

    def register_tool(self, name: str, toolset: str, schema: dict[str, Any], handler: Any, **more: Any) -> None:
        self.tools[name] = {"toolset": toolset, "schema": schema, "handler": handler, **more}


@pytest.fixture
def call(home: paths.Home) -> Callable[..., dict[str, Any]]:
    """Call a registered handler as the host does."""
    context = Context()
    toolset.register_tools(context)

    def run(name: str, args: Any, **more: Any) -> dict[str, Any]:
        result = context.tools[name]["handler"](args, **more)
        assert isinstance(result, str)
        return json.loads(result)

    return run


def configured(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    host = SimpleNamespace(load_config_readonly=lambda: {"memory": {"provider": provider}})
    monkeypatch.setitem(sys.modules, "hermes_cli", SimpleNamespace(config=host))
    monkeypatch.setitem(sys.modules, "hermes_cli.config", host)


def shown() -> list[str]:
    return [schema["name"] for schema in toolset.general_schemas()]


def test_without_a_provider_the_general_role_shows_all() -> None:
    assert shown() == list(schemas.NAMES)


def test_where_the_facade_shows_them_the_general_role_shows_none(
    monkeypatch: pytest.MonkeyPatch, python_that: Callable[[str], Path]
) -> None:
    configured(monkeypatch, paths.PLUGIN_FOLDER.name)
    assert shown() == list(schemas.NAMES), "the host refuses a provider that is not set up"
    python_that("exit 0")
    assert shown() == []


def test_the_hosts_own_facts_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, "holographic")
    assert set(schemas.NAMES) - set(shown()) == {"fact_store", "fact_feedback"}
    configured(monkeypatch, "another")
    assert shown() == list(schemas.NAMES)


def test_a_name_that_the_hosts_registry_has_from_somebody_else_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"qdrant_search": SimpleNamespace(toolset="theirs"), "fact_store": SimpleNamespace(toolset="memory_os")}
    registry = SimpleNamespace(registry=SimpleNamespace(get_entry=owners.get))
    monkeypatch.setitem(sys.modules, "tools.registry", registry)
    assert set(schemas.NAMES) - set(shown()) == {"qdrant_search"}


def test_a_call_carries_who_asks_by_the_hosts_word_only(
    home: paths.Home, peer: Peer, call: Callable[..., dict[str, Any]]
) -> None:
    identity = turn.identify(home, session_id="s1", platform="telegram", sender_id="42", turn_id="t1")
    state.shared().sessions.put((str(home.hermes), "s1"), identity)
    arguments = {"query": "q", "caller": {"user": "telegram:1"}}
    assert call("qdrant_search", arguments, session_id="s1", task_id="x", user_task="y")["total"] == 1
    (body,) = peer.asked("/v1/tools/qdrant_search")
    assert body["arguments"] == arguments
    assert body["caller"] == {
        "user": "telegram:42",
        "profile": "default",
        "session_id": "s1",
        "turn_id": "t1",
        "platform": "telegram",
        "project": "",
    }


def test_a_session_that_no_hook_saw_is_asked_of_the_host(
    home: paths.Home, peer: Peer, call: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    call("fabric_brief", {}, session_id="unseen")
    monkeypatch.setenv("HERMES_SESSION_USER_ID", "7")
    call("fabric_brief", None, session_id="unseen")
    users = [body["caller"]["user"] for body in peer.asked("/v1/tools/fabric_brief")]
    assert users == ["telegram:session:unseen", "telegram:7"]


def test_an_error_of_the_service_comes_back_with_its_cure(peer: Peer, call: Callable[..., dict[str, Any]]) -> None:
    peer.conduct = lambda connection, path, body: reply(
        connection, {"error": "`query` is required.", "cure": "Give one.", "code": "bad_request"}, 400
    )
    assert call("qdrant_search", {}) == {"error": "`query` is required.", "cure": "Give one."}


def test_no_service_is_an_error_too_and_is_put_on_record(
    home: paths.Home, call: Callable[..., dict[str, Any]], spooled: Callable[[], list[dict[str, Any]]]
) -> None:
    home.run.mkdir(parents=True)
    (home.run / "last-error.json").write_text('{"error": "The disk is full."}')
    found = call("fabric_brief", {})
    assert "not running" in found["error"] and "The disk is full." in found["error"] and "doctor" in found["cure"]
    assert [(record["type"], record["what"], record["reason"]) for record in spooled()] == [
        ("missed", "tool", "absent")
    ]


def test_a_call_starts_the_service_and_waits_for_it(
    home: paths.Home, call: Callable[..., dict[str, Any]], python_that: Callable[[str], Path]
) -> None:
    python_that("exec sleep 5")
    made: list[Peer] = []

    import threading

    def come_up() -> None:
        time.sleep(0.5)
        made.append(Peer(home.run / "service.sock"))

    helper = threading.Thread(target=come_up)
    helper.start()
    try:
        assert "results" in call("qdrant_search", {"query": "q"})
    finally:
        helper.join()
        made[0].close()


def test_a_hanging_service_is_left_after_the_deadline(
    peer: Peer, call: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "CALL_SECONDS", 0.3)
    peer.conduct = peer.hang
    started = time.monotonic()
    assert "in time" in call("fabric_brief", {})["error"]
    assert time.monotonic() - started < HANGS_S


@pytest.mark.parametrize("args", [None, [], "text", 5, {"query": object()}])
def test_no_arguments_make_a_handler_raise(peer: Peer, call: Callable[..., dict[str, Any]], args: Any) -> None:
    assert isinstance(call("qdrant_search", args, session_id=None), dict)
