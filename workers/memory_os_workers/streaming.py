"""Long work over HTTP: JSON lines as it goes on, the result (or the error) as the last one.

    {"progress": {"done": 3, "total": 10, "what": "notes/a.md"}}
    {"result": {...}}      or      {"error": "...", "cure": "...", "code": "..."}

The work stops at its next step when the caller goes away or the service stops; what it did until then is complete.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web
from memory_os.errors import ServiceUnavailable

from memory_os_workers.answers import failure

if TYPE_CHECKING:
    from memory_os_workers.service import Service

_log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]


async def stream_work(
    request: web.Request, service: Service, work: Callable[[Progress], dict[str, Any]]
) -> web.StreamResponse:
    """Run `work` on the thread for long work and stream its progress."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def progress(done: int, total: int, what: str = "") -> None:
        if service.stopping.is_set() or request.transport is None or request.transport.is_closing():
            raise ServiceUnavailable("Stopped before the end.", cure="Run it again; what is done is kept.")
        loop.call_soon_threadsafe(lines.put_nowait, {"progress": {"done": done, "total": total, "what": what}})

    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(request)
    running = loop.run_in_executor(service.executors.long, work, progress)
    try:
        while not running.done() or not lines.empty():
            await _send_next(response, lines, running)
        last = _outcome(service, running)
        service.embed_soon()
        await response.write(_line(last))
        await response.write_eof()
    except ConnectionResetError:
        _log.info("the caller of %s went away", request.path)
        await asyncio.wait([running])
        _outcome(service, running)
    return response


async def _send_next(
    response: web.StreamResponse, lines: asyncio.Queue[dict[str, Any]], running: asyncio.Future[Any]
) -> None:
    getting = asyncio.ensure_future(lines.get())
    await asyncio.wait([getting, running], return_when=asyncio.FIRST_COMPLETED)
    if getting.done():
        await response.write(_line(getting.result()))
    else:
        getting.cancel()


def _outcome(service: Service, running: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"result": running.result()}
    except Exception as error:  # noqa: BLE001 - the response has begun: the error goes into its last line
        return dict(failure(service, error, "long work")[1])


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
