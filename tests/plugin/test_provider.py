from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_os_plugin import hooks, paths, schemas, state, window
from memory_os_plugin.provider import Facade, make_provider

from plugin.peer import Peer

Spooled = Callable[[], list[dict[str, Any]]]
BLOCK = "<memory-context>\nRecalled by memory-os.\n[facts]\n- (f:abcdefgh) one\n</memory-context>"


@pytest.fixture
def facade(home: paths.Home) -> Facade:
    made = Facade()
    made.initialize(
        "s1", platform="telegram", user_id="42", hermes_home=str(home.hermes), agent_context="primary", chat_type="dm"
    )
    return made


def take_turn(facade: Facade, text: str = "Where is the key?", answer: str = "There.") -> str:
    facade.on_turn_start(1, text)
    found = facade.prefetch(text, session_id="")
    facade.sync_turn(text, answer, session_id="s1", messages=[{"role": "user", "content": text}])
    facade.queue_prefetch(text, session_id="s1")
    return found


def test_alone_it_recalls_and_captures(facade: Facade, peer: Peer, spooled: Spooled) -> None:
    peer.context = BLOCK
    assert take_turn(facade) == "Recalled by memory-os.\n[facts]\n- (f:abcdefgh) one", "the host makes the fence"
    (asked,) = peer.asked("/v1/recall")
    (record,) = spooled()
    assert asked["user"] == record["user"] == "telegram:42"
    assert asked["turn_id"] == record["turn_id"] != ""
    assert record["user_message"] == "Where is the key?" and record["assistant_response"] == "There."


def test_the_next_question_knows_what_is_visible(facade: Facade, peer: Peer) -> None:
    take_turn(facade, "one")
    take_turn(facade, "two")
    first, second = peer.asked("/v1/recall")
    assert first["first_turn"] and not second["first_turn"]
    assert second["visible"]["hashes"] == [window.content_hash("one")]
    facade.on_session_switch("s1", parent_session_id="s1", reset=False, reason="compression")
    take_turn(facade, "three")
    assert peer.asked("/v1/recall")[2]["visible"]["hashes"] == []


def test_where_the_hooks_serve_it_does_neither(home: paths.Home, facade: Facade, peer: Peer, spooled: Spooled) -> None:
    peer.context = BLOCK
    state.shared().hook_homes.add(str(home.hermes))
    assert take_turn(facade) == ""
    facade.on_memory_write("add", "memory", "a fact", {"session_id": "s1"})
    assert spooled() == [] and peer.asked("/v1/recall") == []


def test_a_hook_that_was_called_for_the_session_is_enough(facade: Facade, peer: Peer, spooled: Spooled) -> None:
    """In a gateway of several profiles the general role is registered for the launch home and called for all."""
    peer.context = BLOCK
    assert hooks.pre_llm_call(session_id="s1", turn_id="t", user_message="q", platform="telegram", sender_id="42")
    assert take_turn(facade) == "" and spooled() == []
    facade.on_session_switch("s2", reset=True)
    facade.on_turn_start(1, "q")
    assert facade.prefetch("q") != ""


def test_memory_writes_are_mirrored_when_alone(facade: Facade, peer: Peer, spooled: Spooled) -> None:
    facade.on_memory_write("add", "user", "likes tea", {"write_origin": "assistant_tool"})
    (record,) = spooled()
    assert (record["type"], record["user"], record["target"], record["content"]) == (
        "memory_write",
        "telegram:42",
        "user",
        "likes tea",
    )


@pytest.mark.parametrize("context", ["cron", "subagent", "flush"])
def test_only_a_primary_agent_is_served(home: paths.Home, peer: Peer, spooled: Spooled, context: str) -> None:
    peer.context = BLOCK
    facade = Facade()
    facade.initialize("s1", platform="telegram", hermes_home=str(home.hermes), agent_context=context)
    assert take_turn(facade) == ""
    facade.on_memory_write("add", "memory", "x", None)
    assert spooled() == [] and peer.asked("/v1/recall") == []


def test_its_tools_run_as_its_session(home: paths.Home, facade: Facade, peer: Peer) -> None:
    assert [schema["name"] for schema in facade.get_tool_schemas()] == list(schemas.NAMES)
    assert '"total": 1' in facade.handle_tool_call("qdrant_search", {"query": "q"})
    facade.on_session_switch("s2")
    facade.handle_tool_call("qdrant_search", {"query": "q"})
    callers = [body["caller"] for body in peer.asked("/v1/tools/qdrant_search")]
    assert [(caller["user"], caller["session_id"]) for caller in callers] == [
        ("telegram:42", "s1"),
        ("telegram:42", "s2"),
    ]


def test_its_tools_know_the_turn_where_the_hooks_serve(home: paths.Home, facade: Facade, peer: Peer) -> None:
    state.shared().hook_homes.add(str(home.hermes))
    hooks.pre_llm_call(session_id="s1", turn_id="t9", user_message="q", platform="telegram", sender_id="43")
    facade.handle_tool_call("fabric_brief", {})
    (body,) = peer.asked("/v1/tools/fabric_brief")
    assert (body["caller"]["user"], body["caller"]["turn_id"]) == ("telegram:43", "t9")


def test_in_a_shared_chat_the_author_of_the_turn_counts(facade: Facade, peer: Peer) -> None:
    facade.on_turn_start(2, "q", author_id="77", author_name="B", author_is_bot=False)
    facade.prefetch("q")
    assert peer.asked("/v1/recall")[0]["user"] == "telegram:77"


def test_it_is_available_once_it_is_set_up(facade: Facade, python_that: Callable[[str], Path]) -> None:
    assert not facade.is_available() and "setup" in facade.unavailable_reason()
    python_that("exit 0")
    assert facade.is_available()


def test_only_a_folder_outside_the_home_needs_a_backup_of_its_own(
    facade: Facade, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert facade.backup_paths() == []
    monkeypatch.setenv("MEMORY_OS_HOME", "/elsewhere/mo")
    assert Facade().backup_paths() == ["/elsewhere/mo"]


def test_no_input_raises(facade: Facade, peer: Peer) -> None:
    for text in (None, "", 5, [{"type": "image_url"}], "\ud83d"):
        facade.on_turn_start(1, text)
        facade.prefetch(text)
        facade.sync_turn(text, None, session_id="s1", messages=None)


def test_outside_hermes_there_is_no_provider() -> None:
    with pytest.raises(ImportError):
        make_provider()
