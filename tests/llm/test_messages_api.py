"""Anthropic's messages API, streamed and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from memory_os.errors import ModelAuth
from memory_os.llm import Message, Request
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.messages_api import MessagesApi
from support import scripted_model as model

from llm.staging import KEY, Fact, Facts, Staged

ANSWER = Facts(facts=[Fact(subject="port", statement="7333")])
SAID = ANSWER.model_dump_json()


def _start(tokens: int) -> dict[str, Any]:
    usage = {"input_tokens": tokens - 30, "cache_read_input_tokens": 30, "output_tokens": 1}
    return {"type": "message_start", "message": {"usage": usage}}


def _delta(**delta: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _end(reason: str, tokens: int) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens}},
        {"type": "message_stop"},
    ]


async def test_an_object_is_asked_for_as_a_tool_and_read_from_its_stream(stage: Staged) -> None:
    stream = model.events(
        _start(90),
        {"type": "ping"},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        _delta(type="text_delta", text="I'll call the tool."),
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "answer", "input": {}}},
        *(_delta(type="input_json_delta", partial_json=SAID[at : at + 9]) for at in range(0, len(SAID), 9)),
        *_end("tool_use", 25),
    )
    async with stage(stream, dialect="anthropic") as on:
        answer = await on.client.ask(
            Request(messages=[Message("system", "Be exact."), Message("user", "?")], job="extraction", schema=Facts)
        )
        assert answer.parsed == ANSWER
        assert (answer.input_tokens, answer.output_tokens) == (90, 25)
        body, headers = on.server.seen[0], on.server.headers[0]
        assert body["tool_choice"] == {"type": "tool", "name": "answer"}
        assert body["tools"][0]["input_schema"]["properties"].keys() == {"facts"}
        assert body["system"].startswith("Be exact.")
        assert [one["role"] for one in body["messages"]] == ["user"]
        assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
        assert "Authorization" not in headers


async def test_prose_and_thinking(stage: Staged) -> None:
    stream = model.events(
        _start(50),
        _delta(type="thinking_delta", thinking="hm"),
        _delta(type="text_delta", text="It is "),
        _delta(type="text_delta", text="7333."),
        *_end("end_turn", 9),
    )
    async with stage(stream, dialect="anthropic") as on:
        assert (await on.prose()).text == "It is 7333."


async def test_overload_in_the_stream_is_transient_and_too_few_tokens_get_more(stage: Staged) -> None:
    overloaded = model.events(
        _start(50), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    )
    spent = model.events(_start(50), _delta(type="thinking_delta", thinking="hm"), *_end("max_tokens", 300))
    content = [{"type": "tool_use", "name": "answer", "input": ANSWER.model_dump()}]
    whole = model.body(
        json.dumps({"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 5}})
    )
    async with stage(overloaded, spent, whole, dialect="anthropic") as on:
        assert (await on.facts(max_output_tokens=300)).parsed == ANSWER
        assert await on.outcomes() == ["error_in_stream", "spent_thinking", "ok"]
        assert [one["max_tokens"] for one in on.server.seen] == [300, 300, 1200]


async def test_a_refused_key(stage: Staged) -> None:
    said = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
    async with stage(model.body(json.dumps(said), status=401), dialect="anthropic") as on:
        with pytest.raises(ModelAuth, match="invalid x-api-key"):
            await on.prose()


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("https://api.minimax.io/anthropic", "https://api.minimax.io/anthropic/v1/messages"),
    ],
)
def test_the_address_with_and_without_its_version(base_url: str, url: str) -> None:
    assert MessagesApi().chat_url(Endpoint("anthropic", "anthropic", base_url, "m")) == url
