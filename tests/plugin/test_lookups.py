"""Tool calls on their way through the middleware: whatever the service does, the call runs, once, and comes back whole."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from memory_os_plugin import courier, hooks, lookups, offswitch, paths, state

from plugin.conftest import HANGS_S, PROMISED
from plugin.peer import Peer, reply

IDS = {"session_id": "s1", "turn_id": "s1:t:1", "tool_call_id": "c1"}


class Tool:
    """A tool that counts its runs."""

    def __init__(self, result: Any = "found", error: BaseException | None = None) -> None:
        self.runs = 0
        self._result, self._error = result, error

    def __call__(self, *_: Any) -> Any:
        self.runs += 1
        if self._error is not None:
            raise self._error
        return self._result


def given(peer: Peer, mode: str, answer: dict[str, Any] | None = None) -> None:
    """A turn that was given a line; the service is in `mode` and answers checks so."""

    def conduct(connection: socket.socket, path: str, body: dict[str, Any]) -> None:
        if path == "/v1/recall":
            reply(connection, {"context": "<memory-context>x</memory-context>", "mode": mode})
        else:
            reply(connection, answer if path == "/v1/check" and answer is not None else {"ok": True})

    peer.conduct = conduct
    assert hooks.pre_llm_call(user_message="Which port?", platform="cli", **IDS)


def run(tool: Tool, name: Any = "session_search", args: Any = None, **more: Any) -> Any:
    return lookups.run(tool_name=name, args={"query": "port"} if args is None else args, next_call=tool, **{**IDS, **more})


def test_a_call_waits_fifteen_milliseconds_at_most() -> None:
    assert PROMISED[lookups, "CHECK_SECONDS"] == 0.015


def test_observing_waits_for_nobody(peer: Peer) -> None:
    given(peer, "observe")
    tool = Tool("the result")
    assert run(tool) == "the result" and tool.runs == 1
    (told,) = peer.wait_for("/v1/observe")
    assert told["event"] == "post_tool" and told["result"] == "the result" and told["turn_id"] == IDS["turn_id"]
    assert peer.asked("/v1/check") == []


def test_pointing_puts_a_line_before_the_result(peer: Peer) -> None:
    given(peer, "point", {"action": "point", "text": "[see f:abcdefgh]"})
    assert run(Tool("the result")) == "[see f:abcdefgh]\nthe result"
    assert peer.asked("/v1/check")[0]["result"] == "the result"
    image = {"_multimodal": True, "content": []}
    assert run(Tool(image)) is image, "what is no text stays as it is"


def test_holding_answers_in_the_place_of_the_tool(peer: Peer) -> None:
    given(peer, "hold", {"action": "hold", "text": "it stands there"})
    tool = Tool()
    assert run(tool) == "it stands there" and tool.runs == 0


@pytest.mark.parametrize("answer", [{"action": "run", "text": ""}, {"action": "hold"}, {"action": "hold", "text": 5}, {}])
def test_without_a_clear_word_it_runs(peer: Peer, answer: dict[str, Any]) -> None:
    given(peer, "hold", answer)
    tool = Tool("found")
    assert run(tool) == "found" and tool.runs == 1


@pytest.mark.parametrize("mode", ["point", "hold"])
def test_a_service_that_hangs_costs_its_time_and_no_more(peer: Peer, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given(peer, mode)
    peer.conduct = peer.hang
    monkeypatch.setattr(lookups, "CHECK_SECONDS", 0.05)
    began = time.monotonic()
    tool = Tool("found")
    assert run(tool) == "found" and tool.runs == 1
    assert time.monotonic() - began < HANGS_S
    assert "tool_check:timeout" in state.shared().counts.take()


def test_what_the_tool_raises_is_the_hosts(peer: Peer) -> None:
    given(peer, "hold", {"action": "run", "text": ""})
    tool = Tool(error=LookupError("no such session"))
    with pytest.raises(LookupError, match="no such session"):
        run(tool)
    assert tool.runs == 1


@pytest.mark.parametrize("args", [None, 5, "text", ["a"], {"query": object()}, {"query": [1, None]}, {5: b"\xff"}, {"query": "x" * 10**6}])
def test_arguments_of_any_type_pass(peer: Peer, args: Any) -> None:
    given(peer, "point", {"action": "run", "text": ""})
    tool = Tool("found")
    assert lookups.run(tool_name="session_search", args=args, next_call=tool, **IDS) == "found" and tool.runs == 1


@pytest.mark.parametrize("result", [b"\x00\xff", None, 7, ["a", {"text": "b"}], "x" * 10**6])
def test_results_of_any_type_come_back_as_they_are(peer: Peer, result: Any) -> None:
    given(peer, "observe")
    assert run(Tool(result)) is result
    (told,) = peer.wait_for("/v1/observe")
    assert len(told["result"]) <= lookups._RESULT_MAX_CHARS + 1
    assert told["result_chars"] == (10**6 if isinstance(result, str) else len(told["result"]))


@pytest.mark.parametrize("name", ["delegate_task", "write_file", "memory", None, 5, ["session_search"]])
def test_other_tools_are_not_told_of(peer: Peer, name: Any) -> None:
    given(peer, "hold", {"action": "hold", "text": "no"})
    assert run(Tool("done"), name) == "done"
    courier.wait_empty(60)
    assert peer.asked("/v1/check") == peer.asked("/v1/observe") == []


def test_a_terminal_is_told_of_only_in_a_turn_that_was_given_something(peer: Peer) -> None:
    given(peer, "observe")
    run(Tool("9443"), "terminal", {"command": "ss"}, turn_id="another")
    run(Tool("9443"), "terminal", {"command": "ss"})
    courier.wait_empty(60)
    assert [body["turn_id"] for body in peer.asked("/v1/observe")] == [IDS["turn_id"]]


def test_a_subagent_and_a_switched_off_chat_pass(peer: Peer, home: paths.Home) -> None:
    given(peer, "hold", {"action": "hold", "text": "no"})
    hooks.pre_llm_call(session_id="child", turn_id="child:1", user_message="dig", platform="subagent", parent_session_id="s1")
    assert run(Tool("found"), session_id="child", turn_id="child:1") == "found"
    offswitch.turn_off(home, "s1")
    assert run(Tool("found")) == "found"
    assert peer.asked("/v1/check") == []


def test_a_turn_that_was_given_nothing_is_only_observed(peer: Peer) -> None:
    given(peer, "hold", {"action": "hold", "text": "no"})
    assert run(Tool("found"), turn_id="s1:t:2") == "found"
    assert peer.asked("/v1/check") == [] and len(peer.wait_for("/v1/observe")) == 1


def test_a_host_without_middleware_is_served_by_hooks(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.shared(), "middleware", False)
    call = {"tool_name": "session_search", "args": {"query": "port"}, **IDS}
    given(peer, "hold", {"action": "hold", "text": "it stands there"})
    assert hooks.pre_tool_call(**call) == {"action": "block", "message": "it stands there"}
    hooks.post_tool_call(**call, result="{}", status="blocked")
    given(peer, "point", {"action": "point", "text": "[see]"})
    assert hooks.pre_tool_call(**call) is None
    assert hooks.transform_tool_result(**call, result="found", duration_ms=2) == "[see]\nfound"
    hooks.post_tool_call(**call, result="found", status="ok")
    courier.wait_empty(60)
    assert peer.asked("/v1/observe") == [], "told once, by the check"
    monkeypatch.setattr(state.shared(), "middleware", True)
    assert hooks.pre_tool_call(**call) is None and hooks.transform_tool_result(**call, result="found") is None
