"""What the model client adds to a call, and how many calls a session takes: against an endpoint on this machine that answers
at once."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from memory_os.config import ModelSettings
from memory_os.errors import ModelContent
from memory_os.llm import Message, ModelClient, Request, StoreUsage
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.resolve import Resolved
from memory_os.store import open_store
from memory_os.understanding.extraction import read
from memory_os.understanding.reading import Reading
from memory_os.understanding.transcript import Turn
from pydantic import BaseModel

from memory_os_workers.bench.scratch import Figure

_CALLS = 200
_WARM_UP = 10
_PIECES = 200
_LIMIT_MS = 5.0
_TURNS_READ = 50
_CALLS_MOST = 2
_CONTEXT_TOKENS = 32_000
# About as long as a session of 50 turns.
_TURNS = "\n".join(f"user: turn {count}, what about the port of the vector store?" for count in range(800))


class _Fact(BaseModel):
    subject: str
    statement: str


class _Facts(BaseModel):
    facts: list[_Fact]


# Also what a session's reading may answer: items that name no turn are dropped.
_SAID = json.dumps({"facts": [{"subject": f"subject {count}", "statement": "It is so."} for count in range(20)]})


def run_model_bench() -> list[Figure]:
    """Medians over alternating calls, with and without the client, with the usage log written as in the service."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    async with _endpoint() as base_url, aiohttp.ClientSession() as session:
        with tempfile.TemporaryDirectory(prefix="mos-bench-") as folder:
            store = open_store(Path(folder) / "memory.db")
            client = ModelClient(
                ModelSettings(budget_per_day=1e9, context_tokens=128_000),
                Resolved(Endpoint("openai", "openai", base_url, "bench")),
                StoreUsage(store),
            )
            request = Request(messages=[Message("user", _TURNS)], job="extraction", schema=_Facts, cache=False)

            async def plain() -> None:
                await _plain(session, base_url)

            async def by_client() -> None:
                await client.ask(request)

            try:
                (without, plain_cpu), (with_client, client_cpu) = await _alternating(plain, by_client)
                reading = await _reading(client)
            finally:
                await client.close()
                store.close()
    return [
        Figure("a call without the client, p50", statistics.median(without), "ms"),
        Figure("a call with the client, p50", statistics.median(with_client), "ms"),
        Figure(
            "added by the client, p50", statistics.median(with_client) - statistics.median(without), "ms", _LIMIT_MS
        ),
        # On a busy machine the clock measures what else it does; what a call costs to compute stays.
        Figure("computed for it by this process, p50", statistics.median(client_cpu) - statistics.median(plain_cpu), "ms"),
        *(Figure(name, calls, "calls", _CALLS_MOST) for name, calls in reading),
    ]


async def _reading(client: ModelClient) -> list[tuple[str, int]]:
    """Model calls that a session of 50 turns takes, with short turns and with long ones."""
    found = []
    for tokens, name in ((200, "of 200 tokens"), (1200, "of 1,200 tokens")):
        said = "The crane of the harbour lifts on Tuesdays. " * (tokens // 20)
        turns = tuple(Turn(f"t{count}", 60.0 * count, f"{count}: {said}", said) for count in range(_TURNS_READ))
        read_of = await read(client.ask, Reading("default/local", "bench", turns), _CONTEXT_TOKENS)
        if len(read_of.turns) != _TURNS_READ:
            raise ModelContent(f"{len(read_of.turns)} of {_TURNS_READ} turns were read.")
        found.append((f"extraction of a session of {_TURNS_READ} turns {name}, 32k context", read_of.calls))
    return found


async def _alternating(*works: Callable[[], Awaitable[None]]) -> list[tuple[list[float], list[float]]]:
    """Milliseconds of each by the clock, and of this process's computing; in turns, so that what else the machine does
    meets all alike."""
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in works]
    for count in range(_CALLS + _WARM_UP):
        for work, (taken, computed) in zip(works, times, strict=True):
            started, processed = time.perf_counter(), time.process_time()
            await work()
            if count >= _WARM_UP:
                taken.append((time.perf_counter() - started) * 1e3)
                computed.append((time.process_time() - processed) * 1e3)
    return times


async def _plain(session: aiohttp.ClientSession, base_url: str) -> None:
    """The same request and stream, read to its end and parsed with nothing around it."""
    body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": _TURNS}]}
    text = ""
    async with session.post(f"{base_url}/chat/completions", json=body) as response:
        async for line in response.content:
            if line.startswith(b"data: {"):
                text += json.loads(line[6:])["choices"][0]["delta"].get("content", "")
    json.loads(text)


@asynccontextmanager
async def _endpoint() -> AsyncIterator[str]:
    size = len(_SAID) // _PIECES + 1
    events = [_event(_SAID[start : start + size]) for start in range(0, len(_SAID), size)]
    stream = b"".join(events) + b"data: [DONE]\n\n"

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        return web.Response(body=stream, content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def _event(text: str) -> bytes:
    event: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return b"data: " + json.dumps(event).encode() + b"\n\n"
