from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_plugin import compaction, hooks, offswitch, paths, state
from memory_os_plugin.provider import Facade

from plugin.conftest import HANGS_S
from plugin.peer import Peer, reply

Spooled = Callable[[], list[dict[str, Any]]]
WINDOW: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] earlier"},
    {"role": "assistant", "content": "[CONTEXT COMPACTION] once more"},
    {"role": "user", "content": "Where is the spare key?"},
    {"role": "assistant", "content": "", "tool_calls": [{}]},
    {"role": "tool", "content": "a long listing"},
    {"role": "assistant", "content": "Under the third pot."},
    {"role": "user", "content": [{"type": "text", "text": "And the ladder?"}]},
    {"role": "assistant", "content": "In the shed."},
    {"role": "user", "content": "Now look through the whole garden."},
]
NOW = {"role": "user", "content": "q?"}
SUMMARY = {"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] the key was talked about"}


@pytest.fixture
def facade(home: paths.Home) -> Facade:
    made = Facade()
    made.initialize("s1", platform="cli", hermes_home=str(home.hermes))
    return made


def telling(peer: Peer, context: str) -> None:
    peer.conduct = lambda connection, path, body: reply(connection, {"ok": True, "context": context})


def test_finished_turns_are_captured_and_what_is_kept_is_told(facade: Facade, peer: Peer, spooled: Spooled) -> None:
    telling(peer, "What memory-os keeps: the key")
    assert facade.on_pre_compress(WINDOW, require_checkpoint=False) == "What memory-os keeps: the key"
    (record,) = spooled()
    assert (record["type"], record["session_id"], record["user"]) == ("compaction", "s1", "local")
    assert record["turns"] == [
        {"user_message": "Where is the spare key?", "assistant_response": "Under the third pot."},
        {"user_message": "And the ladder?", "assistant_response": "In the shed."},
    ]
    (asked,) = [body for path, body in peer.requests if body.get("event") == "compaction"]
    assert (asked["session_id"], asked["user"], asked["profile"]) == ("s1", "local", "default")


def test_also_where_the_hooks_serve_since_no_hook_stands_there(home: paths.Home, facade: Facade, peer: Peer, spooled: Spooled) -> None:
    state.shared().hook_homes.add(str(home.hermes))
    telling(peer, "kept")
    assert facade.on_pre_compress(WINDOW) == "kept" and len(spooled()) == 1


def test_a_chat_that_is_off_and_an_agent_of_nobody_are_left_alone(home: paths.Home, facade: Facade, peer: Peer, spooled: Spooled) -> None:
    telling(peer, "kept")
    offswitch.turn_off(home, "s1")
    assert facade.on_pre_compress(WINDOW) == ""
    other = Facade()
    other.initialize("s2", platform="cli", hermes_home=str(home.hermes), agent_context="subagent")
    assert other.on_pre_compress(WINDOW) == ""
    assert spooled() == [] and peer.requests == []


@pytest.mark.usefixtures("promised")
def test_a_service_that_hangs_or_is_away_holds_nothing_up(facade: Facade, peer: Peer, spooled: Spooled) -> None:
    peer.conduct = peer.hang
    started = time.monotonic()
    assert facade.on_pre_compress(WINDOW) == ""
    assert time.monotonic() - started < HANGS_S
    assert len(spooled()) == 1, "what was said is on disk all the same"
    peer.close()
    assert facade.on_pre_compress(WINDOW) == ""


def test_of_more_than_a_record_holds_the_newest_are_kept() -> None:
    long = [{"role": role, "content": f"{number} " + "x" * 300_000} for number in range(6) for role in ("user", "assistant")]
    found = compaction.turns_of([*long, {"role": "user", "content": "last"}])
    assert [one["user_message"].split()[0] for one in found] == ["5"]


_NAMES = st.sampled_from(["role", "content", "text", "x"])
_VALUES = st.none() | st.text(max_size=5) | st.integers() | st.sampled_from(["user", "assistant"])
_WINDOWS = st.recursive(
    _VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=8
)


@given(_WINDOWS)
def test_any_window_is_survived(window: Any) -> None:
    assert isinstance(compaction.turns_of(window), list)


def test_where_no_provider_is_told_before_the_hooks_tell_it_afterwards_once(peer: Peer) -> None:
    for turn in ("t1", "t2"):
        hooks.pre_llm_call(session_id="s1", turn_id=turn, user_message="q?", platform="cli", conversation_history=[SUMMARY, NOW])
    another = {**SUMMARY, "content": SUMMARY["content"] + " and the ladder"}
    hooks.pre_llm_call(session_id="s1", turn_id="t3", user_message="q?", platform="cli", conversation_history=[another, NOW])
    hooks.pre_llm_call(session_id="s2", turn_id="t4", user_message="q?", platform="cli", conversation_history=[*WINDOW[3:], NOW])
    peer.wait_for("/v1/observe", 2)
    told = [body["session_id"] for body in peer.asked("/v1/observe") if body["event"] == "compaction"]
    assert told == ["s1", "s1"]
