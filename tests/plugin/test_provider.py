from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_os_plugin import hooks, offswitch, paths, schemas, state, window
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


def test_on_a_thread_without_context_it_is_who_it_was_made_for(
    home: paths.Home, facade: Facade, peer: Peer, spooled: Spooled
) -> None:
    """0.19 runs sync_turn on a worker thread that has none of the session's variables."""
    facade.initialize("s7", platform="api_server", hermes_home=str(home.hermes), gateway_session_key="agent:main:api")
    threads = [threading.Thread(target=facade.sync_turn, args=("hello there", "hi")),
               threading.Thread(target=facade.on_memory_write, args=("add", "memory", "a fact"))]  # fmt: skip
    for thread in threads:
        thread.start()
        thread.join()
    facade.prefetch("hello")
    assert {record["user"] for record in spooled()} == {"api_server:key:agent:main:api"}
    assert {record["session_key"] for record in spooled()} == {"agent:main:api"}
    assert peer.asked("/v1/recall")[0]["user"] == "api_server:key:agent:main:api"


def test_where_the_hooks_serve_but_saw_nothing_it_is_who_it_was_made_for(
    home: paths.Home, facade: Facade, peer: Peer
) -> None:
    state.shared().hook_homes.add(str(home.hermes))
    facade.handle_tool_call("fabric_brief", {})
    assert peer.asked("/v1/tools/fabric_brief")[0]["caller"]["user"] == "telegram:42"


def test_a_switch_takes_the_author_along(home: paths.Home, facade: Facade, peer: Peer) -> None:
    hooks.pre_llm_call(session_id="s1", turn_id="t9", user_message="q", platform="telegram", sender_id="43")
    facade.on_session_switch("s2", parent_session_id="s1", reason="compression")
    facade.handle_tool_call("fabric_brief", {})
    assert peer.asked("/v1/tools/fabric_brief")[0]["caller"]["user"] == "telegram:43"
    assert state.hooks_serve(str(home.hermes), "s2"), "or both would capture the turn"
    hooks.pre_llm_call(session_id="s3", turn_id="t10", user_message="q", platform="telegram", sender_id="44")
    facade.on_session_switch("s3", parent_session_id="s2", reset=True)
    facade.handle_tool_call("fabric_brief", {})
    assert peer.asked("/v1/tools/fabric_brief")[1]["caller"]["user"] == "telegram:44", "0.19 tells of it late"


@pytest.mark.parametrize(("reason", "off"), [("compression", True), ("branch", True), ("resume", False)])
def test_a_chat_that_is_off_stays_off_as_long_as_it_goes_on(
    home: paths.Home, facade: Facade, reason: str, off: bool
) -> None:
    offswitch.turn_off(home, "s1")
    facade.on_session_switch("s2", parent_session_id="s1", reason=reason)
    assert offswitch.is_off(home, "s2") is off


@pytest.mark.parametrize("name", ["s1", "agent:main:telegram:42"])
def test_in_a_chat_that_is_off_it_mirrors_nothing(
    home: paths.Home, facade: Facade, peer: Peer, spooled: Spooled, name: str
) -> None:
    facade.initialize("s1", platform="telegram", user_id="42", hermes_home=str(home.hermes),
                      gateway_session_key="agent:main:telegram:42")  # fmt: skip
    offswitch.turn_off(home, name)
    facade.on_memory_write("add", "user", "likes tea", {})
    assert take_turn(facade) == "" and spooled() == [] and peer.asked("/v1/recall") == []


def test_its_question_is_the_hooks(facade: Facade, peer: Peer) -> None:
    take_turn(facade, "鍵" * 900_000)
    hooks.pre_llm_call(session_id="s5", turn_id="t", user_message="q", platform="telegram", sender_id="42")
    its, theirs = peer.asked("/v1/recall")
    assert set(its) == set(theirs) and len(its["user_message"].encode()) <= 1_000_000


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
