"""OpenAI's chat completions, as OpenRouter, Ollama, vLLM, llama.cpp, LiteLLM, DeepSeek and others speak them. Pure.

Reference: https://platform.openai.com/docs/api-reference/chat. Fields differ between endpoints: what one refuses by name is
left out from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from memory_os.llm.dialect import Finish, Prompt, Reply
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.faults import Fault, FaultClass, of_event
from memory_os.text import plain_text

_FINISH: dict[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}
_THOUGHT = ("reasoning_content", "reasoning", "thinking")


class ChatCompletions:
    def chat_url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url}/chat/completions"

    def models_url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url}/models"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        own = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        if (urlsplit(endpoint.base_url).hostname or "").endswith(".azure.com") and endpoint.api_key:
            own["api-key"] = endpoint.api_key
        return {**own, **dict(endpoint.headers)}

    def body(self, prompt: Prompt, refused: frozenset[str]) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "model": prompt.model,
            "messages": [{"role": one.role, "content": one.content} for one in prompt.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            # The older name is known everywhere but at OpenAI's reasoning models, which say so.
            "max_completion_tokens" if "max_tokens" in refused else "max_tokens": prompt.max_output_tokens,
        }
        if prompt.schema is not None:
            wanted["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": prompt.schema, "strict": False},
            }
        return {name: value for name, value in wanted.items() if name not in refused}

    def reply(self, body: Mapping[str, Any]) -> Reply:
        if body.get("error"):
            raise of_event(body["error"])
        choice = _choice(body)
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise Fault(FaultClass.TRANSIENT, "no_answer", "the answer holds no message", processed=True)
        reply = Reply(text=plain_text(message.get("content")), thought=any(message.get(name) for name in _THOUGHT))
        reply.finish = _finish(choice.get("finish_reason"))
        _count(reply, body)
        return reply

    def take(self, reply: Reply, event: Mapping[str, Any]) -> bool:
        if event.get("error"):
            raise of_event(event["error"])
        _count(reply, event)
        choice = _choice(event)
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, Mapping):
            return False
        if choice.get("finish_reason"):
            reply.finish = _finish(choice["finish_reason"])
        text = plain_text(delta.get("content"))
        thought = any(delta.get(name) for name in _THOUGHT)
        reply.text += text
        reply.thought = reply.thought or thought
        return bool(text or thought)


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else {}


def _finish(reason: object) -> Finish:
    return _FINISH.get(str(reason), "stop") if reason else ""


def _count(reply: Reply, body: Mapping[str, Any]) -> None:
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return
    for name, field in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        if isinstance(usage.get(name), int):
            setattr(reply, field, usage[name])
