"""A model endpoint that misbehaves as scripted, on real sockets: OpenAI's chat completions and Anthropic's messages.

Each request takes the next step of the script; the last one repeats. A step is a coroutine that answers a request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

Step = Callable[["ScriptedModel", web.Request], Awaitable[web.StreamResponse]]


class ScriptedModel:
    """Use as an async context manager. `seen`: the JSON bodies; `headers`: their headers; `dropped`: clients that left."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.seen: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.streaming = asyncio.Event()
        self.dropped = asyncio.Event()
        self.pieces: asyncio.Queue[str] = asyncio.Queue()
        self.sent = 0
        self.models_status = 200
        self._runner: web.AppRunner | None = None
        self.base_url = ""

    async def __aenter__(self) -> ScriptedModel:
        app = web.Application()
        app.router.add_post("/{tail:.*}", self._post)
        app.router.add_get("/{tail:.*}", self._get)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _post(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(await request.json())
        self.headers.append(dict(request.headers))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        try:
            return await step(self, request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.dropped.set()
            raise

    async def _get(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        return web.json_response({"object": "list", "data": []}, status=self.models_status)


def say(text: str, *, finish: str = "stop", usage: tuple[int, int] | None = (100, 10), size: int = 12) -> Step:
    """A stream of pieces, as a healthy endpoint answers."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        response = await _stream(request)
        for start in range(0, len(text), size):
            await _event(response, _delta(text[start : start + size]))
        await _event(response, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if usage is not None:
            await _event(response, {"choices": [], "usage": _usage(usage)})
        await response.write(b"data: [DONE]\n\n")
        return response

    return step


def whole(message: Mapping[str, Any], *, finish: str = "stop", usage: tuple[int, int] = (100, 10)) -> Step:
    """One JSON answer, by an endpoint that ignores `stream`."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return web.json_response({"object": "chat.completion", "choices": [choice], "usage": _usage(usage)})

    return step


def body(text: str, *, status: int = 200, content_type: str = "application/json", **headers: str) -> Step:
    """Any answer at all. Header names with underscores for hyphens."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(text=text, status=status, content_type=content_type, headers=named)

    return step


def fail(status: int, message: str = "scripted failure", code: str = "", **headers: str) -> Step:
    """An HTTP error as these APIs explain theirs."""
    return body(json.dumps({"error": {"message": message, "code": code}}), status=status, **headers)


def html() -> Step:
    """What a proxy or a login page in between answers."""
    return body("<!doctype html><title>Sign in</title>", content_type="text/html")


def hang(*pieces: str) -> Step:
    """Stream some pieces, then say nothing more and keep the connection."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        response = await _stream(request)
        for piece in pieces:
            await _event(response, _delta(piece))
        server.streaming.set()
        await asyncio.Event().wait()
        return response

    return step


def silent() -> Step:
    """Take the request and answer nothing, not even a status."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        server.streaming.set()
        await asyncio.Event().wait()
        raise AssertionError

    return step


def drip() -> Step:
    """Stream what the test puts into `pieces`, one piece at a time; "" ends the stream."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        response = await _stream(request)
        server.streaming.set()
        while piece := await server.pieces.get():
            await _event(response, _delta(piece))
            server.sent += 1
        await _event(response, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return response

    return step


def drop(*pieces: str) -> Step:
    """Stream some pieces, then cut the connection."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        response = await _stream(request)
        for piece in pieces:
            await _event(response, _delta(piece))
        assert request.transport is not None
        request.transport.abort()
        return response

    return step


def events(*lines: Mapping[str, Any]) -> Step:
    """A stream of these events, as Anthropic's API sends them, with comments and pings between."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        response = await _stream(request)
        for line in lines:
            await response.write(b": keep-alive\n\n")
            await response.write(f"event: {line.get('type')}\n".encode())
            await _event(response, line)
        return response

    return step


def vectors(width: int = 3) -> Step:
    """Embeddings, out of order as some endpoints give them."""

    async def step(server: ScriptedModel, request: web.Request) -> web.StreamResponse:
        texts: Sequence[str] = server.seen[-1]["input"]
        rows = [{"index": index, "embedding": [float(len(text))] * width} for index, text in enumerate(texts)]
        return web.json_response({"data": rows[::-1]})

    return step


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _event(response: web.StreamResponse, data: Mapping[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n")


def _delta(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
