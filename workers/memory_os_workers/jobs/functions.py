"""What a worker can do, as ARQ functions: embedding, documents, curation, understanding …, two for the benchmark.

Each is idempotent: it asks the service what is still to be done, does it, and delivers. A transient fault is tried again
with back-off; a permanent one, or the last attempt, becomes a dead letter. What only this worker can't do is put back for
another, and the worker ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from memory_os.errors import (
    ContextTooLong,
    DocumentUnreadable,
    EmbeddingUnavailable,
    ModelContent,
    ModelOff,
    WorkerUnfit,
)

from memory_os_workers.jobs import names, retries

if TYPE_CHECKING:
    from arq.worker import Function

    from memory_os_workers.jobs.tools import Tools

_log = logging.getLogger(__name__)

Work = Callable[..., Awaitable[Any]]
# ARQ's own time-out fails a job without another attempt; ours comes first and is a transient fault.
_MARGIN_S = 10


async def embed(tools: Tools, hashes: list[str]) -> int:
    """Embed the texts of these hashes that have no embedding yet. Returns how many were delivered."""
    texts = await tools.ask(tools.service.texts, hashes)
    if not texts:
        return 0
    vectors, faults = await tools.embed(texts)
    fault = next(iter(faults.values()), None)
    if fault is not None and not vectors and len(texts) > 1:
        # Not one of many texts: it is the model, and its texts wait for it.
        raise EmbeddingUnavailable(f"The model embeds nothing now: {fault}") from fault
    if vectors:
        await tools.ask(tools.service.embeddings, tools.fingerprint, vectors)
    if fault is not None:
        raise fault
    return len(vectors)


async def ingest(tools: Tools, name: str, stamp: str) -> int:
    """Read and cut one file; the service commits it, and its texts are embedded later. Returns its passages.

    `name` as in `documents`: relative to the vault or absolute; `stamp` is the state that was seen.
    """
    try:
        prepared = await tools.prepare(name)
    except DocumentUnreadable:
        # Gone, or not to be seen from this machine: the service looks for itself.
        await tools.ask(tools.service.post, "document", {"name": name, "stamp": stamp, "gone": True})
        return 0
    body = {"name": name, "stamp": stamp, "document": prepared.as_dict()}
    await tools.ask(tools.service.post, "document", body)
    return len(prepared.pieces)


async def curate(tools: Tools, name: str, stamp: str) -> str:
    """Turn one raw file of the wiki into pages. `name`: below raw/; `stamp`: the state that was seen. Returns how it went.

    The wiki's own records know what is done, and it goes on where an earlier attempt was cut off.
    """
    try:
        told = (await tools.curate(name)).as_dict()
    except ModelOff:
        return "off"  # it waits; a model that is configured later finds it waiting
    except (ModelContent, ContextTooLong) as error:  # noted in the records: not tried again until the file changes
        told = {"raw": name, "status": "failed", "reason": str(error)}
    await tools.ask(tools.service.post, "curated", told)
    return str(told["status"])


async def understand(tools: Tools, session: str, scope: str, watermark: int) -> str:
    """Have a model read a session's turns up to a message's number; the service keeps what lasts. Returns how it went.

    What a model fails with is delivered too: the turns wait with the service, which says when they are tried again.
    """
    body = {"session": session, "scope": scope, "watermark": watermark}
    return await _by_a_model(tools, ("turns", body, "reading"), tools.understand, "understood") or "nothing to read"


async def think(tools: Tools, scope: str, question: str) -> str:
    """Have a model think about a person: their card, or a question the agent put. Returns how it went."""
    body = {"scope": scope, "question": question}
    return await _by_a_model(tools, ("person", body, "thinking"), tools.think, "thought") or "nothing to think about"


async def reflect(tools: Tools, scope: str, slot: str) -> str:
    """Have a model look at memories it has not seen together. Returns how it went."""
    return await _by_a_model(tools, ("memories", {"scope": scope}, "memories"), tools.reflect, "reflected") or "nothing to look at"


async def _by_a_model(
    tools: Tools, asked: tuple[str, dict[str, Any], str], work: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], told: str
) -> str:
    """Get from the service what a model is to look at (route, body, name in the answer) and deliver what it says to `told`.

    Returns how it went: `told`, "failed", or "" where there is nothing to look at.
    """
    route, body, name = asked
    given = (await tools.ask(tools.service.post, route, body))[name]
    if given is None:
        return ""
    said = await work(given)
    await tools.ask(tools.service.post, told, said)
    return "failed" if "failed" in said else told


async def index_fabric(tools: Tools, slot: str) -> str:
    """Have the service take in what changed in the fabric folder."""
    return str((await tools.ask(tools.service.post, "fabric", {"slot": slot}))["result"])


async def maintain(tools: Tools, duty: str, slot: str) -> str:
    """Have the service run a maintenance duty that was due in this slot of time. Returns how it went."""
    body = {"name": duty, "slot": slot}
    answer = await tools.ask(tools.service.post, "duty", body, names.TIMEOUTS_S["maintain"])
    if answer["busy"]:
        return "busy"  # it stays due
    return str((answer["outcome"] or {}).get("state", "done already"))


async def noop(tools: Tools, number: int = 0) -> None:
    """Nothing, for the benchmark of the queue itself."""


async def wait(tools: Tools, number: int = 0, seconds: float = 0.1) -> None:
    """Sleep, for the benchmark of several workers."""
    await asyncio.sleep(seconds)


FUNCTIONS: dict[str, Work] = {
    one.__name__: one for one in (embed, ingest, curate, understand, think, reflect, index_fabric, maintain, noop, wait)
}


def arq_functions(tools: Tools) -> list[Function]:
    """All of them, wrapped in the retry policy."""
    from arq.worker import func

    return [
        func(
            _with_policy(tools, name, work),  # type: ignore[arg-type]
            name=name,
            timeout=names.TIMEOUTS_S[name] + _MARGIN_S,
            keep_result=names.KEEP_RESULT_S,
            # The policy decides; ARQ counts a lost worker and a restarted Redis as tries too.
            max_tries=1_000_000,
        )
        for name, work in FUNCTIONS.items()
    ]


def _with_policy(tools: Tools, name: str, work: Work) -> Callable[..., Awaitable[Any]]:
    async def run(ctx: dict[str, Any], *arguments: Any) -> Any:
        try:
            async with asyncio.timeout(names.TIMEOUTS_S[name]):
                return await work(tools, *arguments)
        except Exception as error:  # noqa: BLE001 - retried, or kept as a dead letter with its class
            return await _after_fault(tools, name, ctx, list(arguments), error)

    run.__qualname__ = name
    return run


async def _after_fault(tools: Tools, name: str, ctx: dict[str, Any], arguments: list[Any], error: Exception) -> None:
    """Raise ARQ's Retry for what is worth it; else leave a dead letter, and the job is done."""
    from arq import Retry

    attempt = int(ctx["job_try"])
    is_last = retries.is_last(error, attempt, name)
    # A service that was renewed since may refuse for that alone what we send.
    unfit = error if isinstance(error, WorkerUnfit) else await tools.refused() if is_last else None
    if unfit is not None:
        tools.unfit(unfit)
    if unfit is not None or not is_last:
        seconds = retries.wait_for(error, attempt, time.time())
        _log.info("%s: attempt %d failed (%s), again in %.1f s", ctx["job_id"], attempt, type(error).__name__, seconds)
        raise Retry(defer=seconds) from error
    _log.error("%s: attempt %d failed for good", ctx["job_id"], attempt, exc_info=error)
    letter = {
        "job": ctx["job_id"],
        "function": name,
        "payload": arguments,
        "error": type(error).__name__,
        "message": str(error),
        "attempts": attempt,
    }
    try:
        await tools.ask(tools.service.dead_letter, letter)
    except Exception as away:
        # Nobody to keep it: the job stays in the queue until somebody does.
        raise Retry(defer=retries.CAP_S) from away
