"""Anthropic's messages API, also spoken by gateways whose address ends in `/anthropic`. Pure.

Reference: https://docs.anthropic.com/en/api/messages and .../messages-streaming. A schema is given as a tool that must be
called, which is how this protocol asks for an object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_os.llm.dialect import Finish, Prompt, Reply
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.faults import Fault, FaultClass, of_event

VERSION = "2023-06-01"
_TOOL = "answer"
_FINISH: dict[str, Finish] = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "filtered"}


class MessagesApi:
    def chat_url(self, endpoint: Endpoint) -> str:
        return f"{_root(endpoint)}/messages"

    def models_url(self, endpoint: Endpoint) -> str:
        return f"{_root(endpoint)}/models"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        key = {"x-api-key": endpoint.api_key} if endpoint.api_key else {}
        return {"anthropic-version": VERSION, **key, **dict(endpoint.headers)}

    def body(self, prompt: Prompt, refused: frozenset[str]) -> dict[str, Any]:
        system = "\n\n".join(one.content for one in prompt.messages if one.role == "system")
        wanted: dict[str, Any] = {
            "model": prompt.model,
            "max_tokens": prompt.max_output_tokens,
            "messages": [{"role": one.role, "content": one.content} for one in prompt.messages if one.role != "system"],
            "stream": True,
            "temperature": 0,
        }
        if system:
            wanted["system"] = system
        if prompt.schema is not None and "tool_choice" not in refused:
            wanted["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": prompt.schema}]
            wanted["tool_choice"] = {"type": "tool", "name": _TOOL}
        return {name: value for name, value in wanted.items() if name not in refused}

    def reply(self, body: Mapping[str, Any]) -> Reply:
        if body.get("type") == "error" or body.get("error"):
            raise of_event(body.get("error"))
        content = body.get("content")
        if not isinstance(content, list):
            raise Fault(FaultClass.TRANSIENT, "no_answer", "the answer holds no content", processed=True)
        reply = Reply(finish=_finish(body.get("stop_reason")))
        blocks = [one for one in content if isinstance(one, Mapping)]
        tools = [one.get("input") for one in blocks if one.get("type") == "tool_use"]
        texts = [str(one.get("text") or "") for one in blocks if one.get("type") == "text"]
        reply.text = json.dumps(tools[0], ensure_ascii=False) if tools else "".join(texts)
        reply.thought = any(one.get("type") == "thinking" for one in blocks)
        _count(reply, body.get("usage"))
        return reply

    def take(self, reply: Reply, event: Mapping[str, Any]) -> bool:
        kind = event.get("type")
        if kind == "error" or event.get("error"):
            raise of_event(event.get("error"))
        if kind == "message_start":
            message = event.get("message")
            _count(reply, message.get("usage") if isinstance(message, Mapping) else None)
        elif kind == "message_delta":
            delta = event.get("delta")
            reply.finish = _finish(delta.get("stop_reason")) if isinstance(delta, Mapping) else reply.finish
            _count(reply, event.get("usage"))
        elif kind == "content_block_start":
            # What a model says before it calls the tool is no part of the answer.
            block = event.get("content_block")
            if isinstance(block, Mapping) and block.get("type") == "tool_use":
                reply.text = ""
        elif kind == "content_block_delta":
            return _delta(reply, event.get("delta"))
        return False


def _delta(reply: Reply, delta: object) -> bool:
    if not isinstance(delta, Mapping):
        return False
    if delta.get("type") == "thinking_delta":
        reply.thought = True
        return True
    piece = delta.get("text") if delta.get("type") == "text_delta" else delta.get("partial_json")
    reply.text += str(piece or "")
    return bool(piece)


def _root(endpoint: Endpoint) -> str:
    return endpoint.base_url if endpoint.base_url.endswith("/v1") else f"{endpoint.base_url}/v1"


def _finish(reason: object) -> Finish:
    return _FINISH.get(str(reason), "stop") if reason else ""


def _count(reply: Reply, usage: object) -> None:
    if not isinstance(usage, Mapping):
        return
    cached = sum(
        value
        for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
        if isinstance(value := usage.get(name), int)
    )
    if isinstance(usage.get("input_tokens"), int):
        reply.input_tokens = usage["input_tokens"] + cached
    if isinstance(usage.get("output_tokens"), int):
        reply.output_tokens = usage["output_tokens"]
