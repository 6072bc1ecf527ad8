"""The service's HTTP API: JSON in, JSON out, on the unix socket and (with a token) on loopback TCP.

    GET  /v1/health     GET  /v1/status     GET /v1/explain?turn=
    POST /v1/recall     POST /v1/spool      POST /v1/observe     POST /v1/tools/{name}
    POST /v1/check      POST /v1/report
    POST /v1/ingest     POST /v1/reindex    (both stream JSON lines)
    POST /v1/forget     POST /v1/import/holographic              POST /v1/stop
    /v1/workers/* and /v1/dlq*: see `jobs.routes`
    POST /v1/wiki/related    POST /v1/wiki/links    POST /v1/wiki/curate (streams)

An error is `{"error", "cure", "code"}`: 400 for what the caller can change, 401 without the token, 403 for a browser,
413 for a body over 4 MB (128 MB from a worker), 503 while the service cannot serve, 507 when the disk is full, 500 for
a fault of ours (logged, counted, no details).
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from memory_os import __version__
from memory_os.errors import BadRequest, MemoryOSError
from memory_os.loopback import is_loopback_host

from memory_os_workers.answers import body, failure
from memory_os_workers.curating import curation
from memory_os_workers.jobs.routes import BODY_MAX_BYTES as WORK_BODY_MAX_BYTES
from memory_os_workers.jobs.routes import WorkRoutes
from memory_os_workers.requests import BODY_MAX_BYTES, RECALL_FIELDS, checked, parse_object
from memory_os_workers.run_files import service_token
from memory_os_workers.service import Service
from memory_os_workers.streaming import stream_work

_T = TypeVar("_T")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SERVICE = web.AppKey("service", Service)
# The CLI and the model's tools ask on behalf of the terminal unless they say otherwise.
_TERMINAL = {"user": "local", "platform": "cli"}


def build_app(service: Service) -> web.Application:
    """The aiohttp application over one service."""
    token = service_token(service.settings) if service.settings.values.service.port else ""
    app = web.Application(client_max_size=BODY_MAX_BYTES, middlewares=[_answers, _guard(token)])
    app[_SERVICE] = service
    app.add_routes(
        [
            web.get("/v1/health", _health),
            web.get("/v1/status", _status),
            web.get("/v1/explain", _explain),
            web.post("/v1/recall", _recall),
            web.post("/v1/spool", _spool),
            web.post("/v1/observe", _observe),
            web.post("/v1/check", _check),
            web.post("/v1/report", _report),
            web.post("/v1/tools/{name}", _tool),
            web.post("/v1/ingest", _ingest),
            web.post("/v1/reindex", _reindex),
            web.post("/v1/forget", _forget),
            web.post("/v1/maintain", _maintain),
            web.post("/v1/wiki/related", _wiki_related),
            web.post("/v1/wiki/links", _wiki_links),
            web.post("/v1/wiki/curate", _wiki_curate),
            web.post("/v1/import/holographic", _import_holographic),
            web.post("/v1/stop", _stop),
        ]
    )
    WorkRoutes(service).add_to(app)
    return app


# -- what every request passes -------------------------------------------------------------------------------------


@web.middleware
async def _answers(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Turn every outcome into JSON; nothing of our insides reaches the client."""
    service = request.app[_SERVICE]
    service.requests += 1
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        most = WORK_BODY_MAX_BYTES if request.path.startswith("/v1/workers/") else BODY_MAX_BYTES
        return _error(413, "too_large", f"The body has more than {most} bytes.", "Send less in one request.")
    except web.HTTPException as error:
        return _error(error.status, "http", f"{request.method} {request.path}: {error.reason}.")
    except Exception as error:  # noqa: BLE001 - typed, or logged with its traceback and counted
        status, answer = failure(service, error, f"{request.method} {request.path}")
        if status >= 500:
            await _count_durably(service, error)
        return web.json_response(answer, status=status)


def _guard(token: str) -> Any:
    """Who may ask: the owner of the socket; over TCP, whoever has the token and came by a loopback name."""

    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        if "Origin" in request.headers:
            # No browser page has business here, whatever name it resolved to this address.
            return _error(403, "forbidden", "Requests from a browser are refused.")
        if not _came_by_unix_socket(request):
            if not is_loopback_host(_host_name(request.headers.get("Host", ""))):
                return _error(403, "forbidden", "The Host header is not a loopback name.", "Use 127.0.0.1.")
            given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            if not token or not hmac.compare_digest(given, f"Bearer {token}".encode()):
                return _error(401, "unauthorized", "The token is missing or wrong.", "It stands in run/token.")
        return await handler(request)

    return guard


def _came_by_unix_socket(request: web.Request) -> bool:
    transport = request.transport
    connection = None if transport is None else transport.get_extra_info("socket")
    return connection is not None and connection.family == socket.AF_UNIX


def _host_name(header: str) -> str:
    """The name of a Host header, without port and brackets, in lower case."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


def _error(status: int, code: str, message: str, cure: str = "") -> web.Response:
    return web.json_response(body(code, message, cure), status=status)


async def _count_durably(service: Service, error: Exception) -> None:
    def count() -> None:
        with suppress(sqlite3.Error, OSError, MemoryOSError):
            if service.open_engine is not None:
                service.open_engine.store.count("api_error", reason=type(error).__name__)

    await asyncio.get_running_loop().run_in_executor(service.executors.tools, count)


async def _in(executor: Executor, work: Callable[..., _T], *arguments: Any) -> _T:
    return await asyncio.get_running_loop().run_in_executor(executor, work, *arguments)


async def _body(request: web.Request) -> dict[str, Any]:
    return parse_object(await request.read())


# -- the hot path --------------------------------------------------------------------------------------------------


async def _health(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    return web.json_response(
        {
            "ok": True,
            "version": __version__,
            "pid": os.getpid(),
            "open": service.open_engine is not None,
            "ready": service.ready,
            "home": str(service.settings.home),
        }
    )


async def _recall(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), RECALL_FIELDS)
    service.recalls_in_flight += 1
    try:
        engine = await service.engine()

        def gone() -> bool:
            return request.transport is None or request.transport.is_closing()

        def work() -> dict[str, Any]:
            if gone():
                return {"context": "", "outcome": "late", "reason": "the caller is gone", "lines": []}
            return dict(engine.recall(payload, gone))

        return web.json_response(await _in(service.executors.recall, work))
    finally:
        service.recalls_in_flight -= 1


async def _spool(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    await request.read()
    await service.engine()
    return web.json_response({"taken": await service.background.drain() if service.background else 0})


async def _observe(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"event": str})
    engine = await service.engine()
    answer: object = await _in(service.executors.tools, engine.observe, payload)
    return web.json_response(answer if isinstance(answer, dict) else {"ok": True})


async def _check(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"turn_id": str, "session_id": str, "user": str, "profile": str})
    engine = await service.engine()
    return web.json_response(await _in(service.executors.recall, engine.check, payload))


async def _tool(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"arguments": dict, "caller": dict})
    engine = await service.engine()
    name, arguments = request.match_info["name"], payload.get("arguments") or {}
    caller = _caller(payload.get("caller"))

    async def call() -> dict[str, Any]:
        return await _in(service.executors.tools, engine.call_tool, name, arguments, caller)

    result = await call()
    if name == "peer_reasoning" and service.preparing is not None:
        result = await service.preparing.answer(result, call)
    service.embed_soon()
    return web.json_response(result)


# -- for the command line ------------------------------------------------------------------------------------------


async def _status(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    background = await asyncio.to_thread(service.background.figures) if service.background else {}
    found = {"service": service.figures(), "background": background}
    if service.open_engine is not None:
        found.update(await _in(service.executors.tools, service.open_engine.status))
    if service.pipeline is not None:
        found["pipeline"] = await service.pipeline.figures()
    if service.reconciliation is not None:
        found["reconciliation"] = service.reconciliation.figures()
    return web.json_response(found)


async def _report(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"since": (int, float), "everyone": bool, "user": str, "profile": str, "junk": int})
    engine = await service.engine()
    return web.json_response(await _in(service.executors.tools, engine.report, payload))


async def _explain(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    engine = await service.engine()
    return web.json_response(
        await _in(service.executors.tools, engine.explain, request.query.get("turn", "last") or "last")
    )


async def _ingest(request: web.Request) -> web.StreamResponse:
    service = request.app[_SERVICE]
    path = _absolute_path(await _body(request))
    engine = await service.engine()
    return await stream_work(request, service, lambda progress: engine.ingest(path, progress))


async def _reindex(request: web.Request) -> web.StreamResponse:
    service = request.app[_SERVICE]
    await _body(request)
    engine = await service.engine()
    return await stream_work(request, service, engine.reindex)


async def _forget(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"arguments": dict, "caller": dict})
    engine = await service.engine()
    caller = _caller(payload.get("caller"))
    # On a thread of its own: neither a long reindex nor the tools' threads may keep somebody from forgetting.
    result = await _in(
        service.executors.forget, engine.call_tool, "memory_forget", payload.get("arguments") or {}, caller
    )
    return web.json_response(result)


async def _wiki_related(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"text": str})
    engine = await service.engine()
    near = await _in(service.executors.tools, engine.wiki_neighbours.near, payload.get("text", ""))
    return web.json_response({"neighbours": [{"page": one.page, "similarity": one.similarity} for one in near]})


async def _wiki_links(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"dry_run": bool})
    engine = await service.engine()
    link = partial(engine.wiki_neighbours.link, dry_run=payload.get("dry_run") is True)
    return web.json_response(await _in(service.executors.long, link))


async def _maintain(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"action": str})
    engine = await service.engine()
    executor = service.executors.tools if payload.get("action") in ("list", "reviews") else service.executors.long
    return web.json_response(await _in(executor, engine.maintain, payload))


async def _wiki_curate(request: web.Request) -> web.StreamResponse:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"names": list, "again": bool})
    names = [one for one in payload.get("names") or [] if isinstance(one, str)]
    engine = await service.engine()
    return await stream_work(request, service, await curation(service, engine, names, payload.get("again") is True))


async def _import_holographic(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    payload = checked(await _body(request), {"caller": dict})
    path = _absolute_path(payload)
    engine = await service.engine()
    caller = _caller(payload.get("caller"))
    return web.json_response(await _in(service.executors.long, engine.import_holographic, path, caller))


async def _stop(request: web.Request) -> web.Response:
    service = request.app[_SERVICE]
    # Answered first: the stop waits for requests in flight, and this is one.
    asyncio.get_running_loop().call_later(0.01, service.stopping.set)
    return web.json_response({"ok": True, "pid": os.getpid()})


def _caller(given: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**_TERMINAL, **{key: value for key, value in (given or {}).items() if value is not None}}


def _absolute_path(payload: Mapping[str, Any]) -> str:
    path = payload.get("path")
    if not isinstance(path, str) or not Path(path).is_absolute():
        raise BadRequest("`path` must be an absolute path.", cure="The service's folder is not the caller's.")
    return path
