from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_os_plugin import delegation, general, hooks, offswitch, paths, state
from memory_os_plugin.provider import Facade

from plugin.peer import Peer

Spooled = Callable[[], list[dict[str, Any]]]


def delegate(session: str = "s1", turn: str = "t1", child: str = "c1", **more: Any) -> None:
    hooks.subagent_start(parent_session_id=session, parent_turn_id=turn, child_session_id=child, child_goal="Count the boats")
    hooks.subagent_stop(
        parent_session_id=session, parent_turn_id=turn, child_session_id=child, child_role="leaf",
        child_summary="There are 14 boats.", child_status="completed", duration_ms=10, **more,
    )  # fmt: skip


def test_work_and_result_are_the_parents(peer: Peer, spooled: Spooled) -> None:
    hooks.pre_llm_call(session_id="s1", turn_id="t1", user_message="How many boats?", platform="telegram", sender_id="42")
    delegate(tool_call_history=[])
    (record,) = spooled()
    assert (record["type"], record["user"], record["session_id"], record["turn_id"]) == ("delegation", "telegram:42", "s1", "t1")
    assert (record["task"], record["result"], record["asked"]) == ("Count the boats", "There are 14 boats.", "How many boats?")


def test_nobodys_work_and_that_of_a_chat_that_is_off_is_not_kept(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    hooks.pre_llm_call(session_id="cron_1", turn_id="t1", user_message="tick", platform="cron")
    delegate("cron_1")
    hooks.pre_llm_call(session_id="s2", turn_id="t2", user_message="q", platform="subagent", parent_session_id="s1")
    delegate("s2", "t2")
    hooks.pre_llm_call(session_id="s3", turn_id="t3", user_message="q", platform="cli")
    offswitch.turn_off(home, "s3")
    delegate("s3", "t3")
    assert spooled() == []


def test_of_a_long_message_only_the_edges_travel(peer: Peer, spooled: Spooled) -> None:
    hooks.pre_llm_call(session_id="s1", turn_id="t1", user_message="a" * 5000 + " don't remember this", platform="cli")
    delegate()
    (record,) = spooled()
    assert len(record["asked"]) < 1300 and record["asked"].endswith("don't remember this")


def test_a_start_that_nobody_heard_leaves_the_result(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    hooks.pre_llm_call(session_id="s1", turn_id="t1", user_message="q", platform="cli")
    hooks.subagent_stop(parent_session_id="s1", parent_turn_id="t1", child_session_id="c9", child_summary="Found.")
    hooks.subagent_stop(parent_session_id="s1", parent_turn_id="t1", child_session_id="c8", child_summary=None)
    assert [(one["task"], one["result"]) for one in spooled()] == [("", "Found.")]
    delegation.begun(home, "c1", "x")
    assert (delegation.ended(home, "c1"), delegation.ended(home, "c1")) == ("x", "")


def test_no_argument_raises(peer: Peer, spooled: Spooled) -> None:
    hooks.subagent_start(child_session_id=None, child_goal=["a", 3])
    hooks.subagent_stop()
    hooks.subagent_stop(parent_session_id=7, child_session_id=object(), child_summary={"text": 3})
    assert spooled() == []


def test_the_facade_alone_keeps_it_and_beside_the_hooks_does_not(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    facade = Facade()
    facade.initialize("s1", platform="telegram", user_id="42", hermes_home=str(home.hermes))
    facade.on_turn_start(1, "How many boats?")
    facade.on_delegation("Count the boats", "There are 14.", child_session_id="c1", extra=1)
    (record,) = spooled()
    assert (record["user"], record["child_session_id"], record["result"]) == ("telegram:42", "c1", "There are 14.")
    state.shared().hook_homes.add(str(home.hermes))
    facade.on_delegation("Count the boats", "There are 14.", child_session_id="c2")
    assert len(spooled()) == 1
    assert {"subagent_start", "subagent_stop"} <= set(general.HOOKS)


def test_a_facade_that_is_not_the_persons_own_keeps_nothing(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    facade = Facade()
    facade.initialize("s1", platform="cli", hermes_home=str(home.hermes), agent_context="cron")
    facade.on_delegation("Count", "14", child_session_id="c1")
    assert spooled() == []
