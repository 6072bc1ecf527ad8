"""The scripted model keeps what it was sent and answers by script, streamed or whole."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from support.model_server import CallTool, Endpoint, Fail, ModelServer, Say, call


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with ModelServer() as server:
        yield server.endpoint("a-home")


def complete(endpoint: Endpoint, *messages: tuple[str, Any], stream: bool = False) -> str:
    body = {
        "messages": [{"role": role, "content": content} for role, content in messages],
        "tools": [{"type": "function", "function": {"name": "look_up"}}],
        "stream": stream,
    }
    request = urllib.request.Request(
        f"{endpoint.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(response.read().decode())


def test_the_replies_of_a_script_follow_one_another_within_a_turn(endpoint: Endpoint) -> None:
    endpoint.script("weather", call("look_up", what="rain"), Say("It rains."))
    first = json.loads(complete(endpoint, ("user", "the weather?")))["choices"][0]
    assert first["message"]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"what": "rain"}'}
    second = json.loads(
        complete(endpoint, ("user", "the weather?"), ("assistant", None), ("tool", "rain")),
    )["choices"][0]
    assert second["message"]["content"] == "It rains." and second["finish_reason"] == "stop"


def test_a_streamed_answer_says_the_same(endpoint: Endpoint) -> None:
    endpoint.script("long", Say("One sentence that is longer than one chunk of the stream."))
    sent = complete(endpoint, ("user", "long"), stream=True)
    events = [json.loads(line[6:]) for line in sent.splitlines() if line.startswith("data: {")]
    text = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    assert text == "One sentence that is longer than one chunk of the stream."
    assert events[-1]["usage"]["total_tokens"] == 110


def test_several_tool_calls_come_in_one_message(endpoint: Endpoint) -> None:
    endpoint.script("both", CallTool([("look_up", {"what": "a"}), ("look_up", {"what": "b"})]))
    calls = json.loads(complete(endpoint, ("user", "both")))["choices"][0]["message"]["tool_calls"]
    assert len({each["id"] for each in calls}) == 2


def test_a_failure_is_an_http_error(endpoint: Endpoint) -> None:
    endpoint.script("break", Fail(429))
    with pytest.raises(urllib.error.HTTPError, match="429") as caught:
        complete(endpoint, ("user", "break"))
    caught.value.close()


def test_a_request_tells_what_was_typed_from_what_was_injected(endpoint: Endpoint) -> None:
    endpoint.script("injected only", Say("never"))
    earlier = ("user", "hello\n\n<memory-context>\n- (f:aaaaaaaa) old\n</memory-context>")
    now = ("user", [{"type": "text", "text": "now?\n\n<memory-context>\n- injected only\n</memory-context>"}])
    complete(endpoint, earlier, ("assistant", "hi"), now)
    (request,) = endpoint.requests
    assert request.typed == "now?" and request.injected == "- injected only"
    assert request.blocks == ["- (f:aaaaaaaa) old", "- injected only"]
    assert endpoint.turn("now?") is not None and endpoint.turns("injected only") == []
