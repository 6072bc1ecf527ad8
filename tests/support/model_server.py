"""A scripted OpenAI-compatible model, in this process, that keeps every request body it was sent.

One server serves many homes: each gets an `Endpoint` with a base URL, scripts and a log of its own. A script answers
when its fragment stands in the last user message, as the user typed it (the part before the first memory fence); its
replies follow one another within a turn, so `CallTool` then `Say` is one tool round trip.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FENCE_OPEN, FENCE_CLOSE = "<memory-context>", "</memory-context>"
MODEL = "scripted-model"
CONTEXT_LENGTH = 131_072


@dataclass(frozen=True)
class Say:
    """Answer with this text, after `delay` seconds, counting `prompt_tokens` in the usage."""

    text: str
    delay: float = 0.0
    prompt_tokens: int = 100


@dataclass(frozen=True)
class CallTool:
    """Ask for these tool calls, each (name, arguments), in one assistant message."""

    calls: Sequence[tuple[str, Mapping[str, Any]]]
    delay: float = 0.0
    prompt_tokens: int = 100


@dataclass(frozen=True)
class Fail:
    """Answer with an HTTP error."""

    status: int
    message: str = "scripted failure"


Reply = Say | CallTool | Fail


def call(name: str, **arguments: Any) -> CallTool:
    """One tool call."""
    return CallTool([(name, arguments)])


def text_of(content: object) -> str:
    """The text of a message's content: a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


@dataclass(frozen=True)
class Request:
    """One chat completion as the model saw it."""

    body: dict[str, Any]
    at: float = field(default_factory=time.time)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages") or [])

    @property
    def user_texts(self) -> list[str]:
        """Every user message, in full, oldest first."""
        return [text_of(message.get("content")) for message in self.messages if message.get("role") == "user"]

    @property
    def prompt(self) -> str:
        """The last user message in full, with what was injected into it."""
        return self.user_texts[-1] if self.user_texts else ""

    @property
    def typed(self) -> str:
        """The last user message as typed."""
        return self.prompt.split(FENCE_OPEN)[0].strip()

    @property
    def blocks(self) -> list[str]:
        """The contents of every memory fence in the whole request, oldest first."""
        return [block for text in self.user_texts for block in fences(text)]

    @property
    def injected(self) -> str:
        """What was injected into the last user message ("" = nothing)."""
        return "\n".join(fences(self.prompt))

    @property
    def system(self) -> str:
        return "\n".join(
            text_of(message.get("content")) for message in self.messages if message.get("role") == "system"
        )

    @property
    def tools(self) -> list[str]:
        """The names of the tools the model may call, duplicates kept."""
        return [str(tool.get("function", {}).get("name")) for tool in self.body.get("tools") or []]

    @property
    def results(self) -> list[str]:
        """The tool results that stand in the request, oldest first."""
        return [text_of(message.get("content")) for message in self.messages if message.get("role") == "tool"]

    @property
    def of_the_agent(self) -> bool:
        """A turn's own call; titles, summaries and the like carry no tools."""
        return bool(self.body.get("tools"))


def fences(text: str) -> list[str]:
    """The contents of the memory fences in a text."""
    return [part.split(FENCE_CLOSE)[0].strip() for part in text.split(FENCE_OPEN)[1:]]


class Endpoint:
    """One home's view of the server."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._lock = threading.Lock()
        self._scripts: list[tuple[str, tuple[Reply, ...]]] = []
        self._requests: list[Request] = []

    def script(self, fragment: str, *replies: Reply) -> None:
        """Answer turns whose message holds `fragment` with these replies; the last one repeats. Newest script first."""
        with self._lock:
            self._scripts.insert(0, (fragment, replies))

    @property
    def requests(self) -> list[Request]:
        with self._lock:
            return list(self._requests)

    def turns(self, fragment: str) -> list[Request]:
        """The agent's own calls of turns whose typed message holds the fragment, oldest first."""
        return [request for request in self.requests if request.of_the_agent and fragment in request.typed]

    def turn(self, fragment: str) -> Request:
        """The first call of the latest turn whose typed message holds the fragment."""
        firsts = [request for request in self.turns(fragment) if request.messages[-1].get("role") == "user"]
        assert firsts, f"no model call holds {fragment!r}; seen: {[r.typed[:80] for r in self.requests]}"
        return firsts[-1]

    def record(self, request: Request) -> Reply:
        """Keep the request and choose the reply."""
        with self._lock:
            self._requests.append(request)
            scripts = list(self._scripts)
        for fragment, replies in scripts:
            if fragment in request.typed:
                return replies[min(_replies_since_user(request.messages), len(replies) - 1)]
        return Say("Understood.") if request.of_the_agent else Say("A short summary of the conversation so far.")


class ModelServer:
    """The server, on a free loopback port. Use as a context manager."""

    def __init__(self) -> None:
        self._endpoints: dict[str, Endpoint] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoints = self._endpoints
        self._thread = threading.Thread(target=self._server.serve_forever, name="model-server", daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def endpoint(self, name: str) -> Endpoint:
        """The endpoint of one home, made on first use."""
        port = self._server.server_address[1]
        return self._endpoints.setdefault(name, Endpoint(f"http://127.0.0.1:{port}/{name}/v1"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoints: dict[str, Endpoint]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in mid-stream is what some tests are about; nothing is printed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    _ids = itertools.count(1)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            entry = {"id": MODEL, "object": "model", "owned_by": "test", "context_length": CONTEXT_LENGTH}
            self._json(200, {"object": "list", "data": [entry]})
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        endpoint = self.server.endpoints.get(self.path.split("/")[1])
        if endpoint is None or not self.path.rstrip("/").endswith("/chat/completions"):
            self._json(404, {"error": {"message": "not found"}})
            return
        reply = endpoint.record(Request(body))
        if isinstance(reply, Fail):
            self._json(reply.status, {"error": {"message": reply.message, "type": "test"}})
            return
        time.sleep(reply.delay)
        if body.get("stream"):
            self._stream(body, reply)
        else:
            self._whole(body, reply)

    def _whole(self, body: dict[str, Any], reply: Say | CallTool) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text if isinstance(reply, Say) else None}
        if isinstance(reply, CallTool):
            message["tool_calls"] = self._calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        self._json(200, {**_frame(body), "object": "chat.completion", "choices": [choice], "usage": _usage(reply)})

    def _stream(self, body: dict[str, Any], reply: Say | CallTool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        frame = {**_frame(body), "object": "chat.completion.chunk"}
        for delta, finish in self._deltas(reply):
            self._event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        self._event({**frame, "choices": [], "usage": _usage(reply)})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _deltas(self, reply: Say | CallTool) -> Iterator[tuple[dict[str, Any], str | None]]:
        yield {"role": "assistant", "content": ""}, None
        if isinstance(reply, CallTool):
            for index, tool_call in enumerate(self._calls(reply)):
                yield {"tool_calls": [{"index": index, **tool_call}]}, None
        else:
            for start in range(0, len(reply.text), 16):
                yield {"content": reply.text[start : start + 16]}, None
        yield {}, _finish(reply)

    def _calls(self, reply: CallTool) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_{next(self._ids)}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for name, arguments in reply.calls
        ]

    def _event(self, data: Mapping[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()

    def _json(self, status: int, data: Mapping[str, Any]) -> None:
        payload = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _replies_since_user(messages: Sequence[Mapping[str, Any]]) -> int:
    since = itertools.takewhile(lambda message: message.get("role") != "user", reversed(messages))
    return sum(1 for message in since if message.get("role") == "assistant")


def _frame(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "created": int(time.time()), "model": body.get("model", MODEL)}


def _finish(reply: Reply) -> str:
    return "tool_calls" if isinstance(reply, CallTool) else "stop"


def _usage(reply: Say | CallTool) -> dict[str, int]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": 10,
        "total_tokens": reply.prompt_tokens + 10,
    }
