"""A stand-in for a Qdrant server, for the real `qdrant-client` over real HTTP: Qdrant's REST routes, API key, aliases,
metadata, payload indexes, version and TLS, in front of the real engine (Edge). Faults can be put in its way.

Not covered: gRPC, clusters and replicas, quantisation, snapshots, what a particular version does differently.
`python -m support.qdrant_server PORT` runs one by itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import TypeAdapter
from qdrant_client.http import models as rest

from support.qdrant_engine import Json, Refusal, StoredCollection

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
BODY_MAX = 32 * 1024 * 1024


@dataclass
class Fault:
    """What happens to requests whose "METHOD /path" matches: an error, a delay, a broken connection, foreign words."""

    status: int = 0
    delay: float = 0.0
    drop: bool = False
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    on: str = ""
    times: int = 1_000_000


@dataclass(frozen=True)
class Request:
    """One request as it came: method, path, the JSON body and how many bytes it had."""

    method: str
    path: str
    body: Any
    size: int


class QdrantServer:
    """One server on a loopback port, with its own thread. `stop` and `start` keep port and data."""

    def __init__(
        self, folder: Path, *, key: str = "", version: str = "1.20.0", tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.folder = folder
        self.key = key
        self.version = version
        self.port = port
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.collections: dict[str, StoredCollection] = {}
        self.aliases: dict[str, str] = {}
        self._tls = tls
        self._made = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def start(self) -> QdrantServer:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="qdrant-stand-in", daemon=True)
        self._thread.start()
        assert started.wait(30), "the stand-in did not start"
        return self

    def stop(self) -> None:
        """Refuse connections from now on; collections stay."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = None

    def wipe(self) -> None:
        """As after the loss of the server's disk."""
        for one in self.collections.values():
            one.drop()
        self.collections.clear()
        self.aliases.clear()

    def close(self) -> None:
        self.stop()
        self.wipe()

    def asked(self, pattern: str) -> list[Request]:
        """The requests so far whose "METHOD /path" matches."""
        return [one for one in self.requests if re.search(pattern, f"{one.method} {one.path}")]

    def _run(self, started: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=0.1)
        loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=self._tls, reuse_address=True)
        loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._loop = loop
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    # -- routes ----------------------------------------------------------------------------------------------------

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._entrance], client_max_size=BODY_MAX)
        one = "/collections/{name}"
        app.router.add_get("/", self._root)
        app.router.add_get("/collections", self._list)
        app.router.add_get("/aliases", self._list_aliases)
        app.router.add_post("/collections/aliases", self._change_aliases)
        app.router.add_get(one, self._info)
        app.router.add_put(one, self._create)
        app.router.add_patch(one, self._change)
        app.router.add_delete(one, self._drop)
        app.router.add_put(f"{one}/index", self._index)
        app.router.add_put(f"{one}/points", self._upsert)
        app.router.add_post(f"{one}/points/delete", self._delete)
        app.router.add_post(f"{one}/points/count", self._count)
        app.router.add_post(f"{one}/points/scroll", self._scroll)
        app.router.add_post(f"{one}/points/query", self._query)
        return app

    @web.middleware
    async def _entrance(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The key, the faults, and every refusal in Qdrant's words."""
        raw = await request.read()
        body = json.loads(raw) if raw else None
        self.requests.append(Request(request.method, request.path, body, len(raw)))
        if self.key and request.path != "/" and request.headers.get("api-key") != self.key:
            missing = "api-key" not in request.headers
            words = "Must provide an API key or an Authorization bearer token" if missing else "Invalid API key or JWT"
            return web.Response(status=401, text=words)
        fault = self._fault(f"{request.method} {request.path}")
        if fault is not None:
            answer = await self._suffer(fault, request)
            if answer is not None:
                return answer
        try:
            return await handler(request)
        except Refusal as refusal:
            return _refused(refusal.status, str(refusal))
        except web.HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - the engine raises bare Exceptions; a server calls them wrong input
            return _refused(400, f"Wrong input: {error}")

    def _fault(self, asked: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.on, asked):
                fault.times -= 1
                return fault
        return None

    async def _suffer(self, fault: Fault, request: web.Request) -> web.StreamResponse | None:
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.drop and request.transport is not None:
            request.transport.close()
            return web.Response()
        if fault.body:
            return web.Response(text=fault.body, status=fault.status or 200, headers=fault.headers)
        return (
            _refused(fault.status, f"Service internal error: fault {fault.status}", fault.headers)
            if fault.status
            else None
        )

    async def _root(self, request: web.Request) -> web.Response:
        told = {"title": "qdrant - vector search engine", "version": self.version, "commit": "stand-in"}
        return web.json_response(told)

    async def _list(self, request: web.Request) -> web.Response:
        return _answer({"collections": [{"name": name} for name in self.collections]})

    async def _list_aliases(self, request: web.Request) -> web.Response:
        known = [{"alias_name": alias, "collection_name": name} for alias, name in self.aliases.items()]
        return _answer({"aliases": known})

    async def _change_aliases(self, request: web.Request) -> web.Response:
        """All or nothing, as on a server."""
        asked = _checked(rest.ChangeAliasesOperation, await request.json())
        changed = dict(self.aliases)
        for action in asked["actions"]:
            if "delete_alias" in action:
                if changed.pop(action["delete_alias"]["alias_name"], None) is None:
                    raise Refusal(404, f"Not found: Alias {action['delete_alias']['alias_name']} does not exists!")
            else:
                made = action["create_alias"]
                if made["alias_name"] in self.collections:
                    raise Refusal(409, f"Wrong input: Collection `{made['alias_name']}` already exists!")
                if made["collection_name"] not in self.collections:
                    raise _no_collection(made["collection_name"])
                changed[made["alias_name"]] = made["collection_name"]
        self.aliases = changed
        return _answer(True)

    async def _create(self, request: web.Request) -> web.Response:
        name, asked = request.match_info["name"], _checked(rest.CreateCollection, await request.json())
        if name in self.collections or name in self.aliases:
            raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
        self._made += 1
        params = {key: asked[key] for key in ("vectors", "sparse_vectors") if asked.get(key)}
        minor = int(self.version.split(".")[1])
        self.collections[name] = StoredCollection(
            self.folder / f"{self._made}-{name}", params, asked.get("metadata") or {}, minor >= 19
        )
        return _answer(True)

    async def _info(self, request: web.Request) -> web.Response:
        return _answer(self._found(request).info())

    async def _change(self, request: web.Request) -> web.Response:
        asked = _checked(rest.UpdateCollection, await request.json())
        self._found(request).metadata.update(asked.get("metadata") or {})
        return _answer(True)

    async def _drop(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        found = self.collections.pop(name, None)
        if found is not None:
            found.drop()
            self.aliases = {alias: of for alias, of in self.aliases.items() if of != name}
        return _answer(found is not None)

    async def _index(self, request: web.Request) -> web.Response:
        asked = _checked(rest.CreateFieldIndex, await request.json())
        self._found(request).create_index(asked["field_name"], asked["field_schema"])
        return _done(request)

    async def _upsert(self, request: web.Request) -> web.Response:
        asked = _checked(rest.PointsList, await request.json())
        self._found(request).upsert(asked["points"])
        return _done(request)

    async def _delete(self, request: web.Request) -> web.Response:
        self._found(request).delete(await request.json())
        return _done(request)

    async def _count(self, request: web.Request) -> web.Response:
        return _answer({"count": self._found(request).count(_checked(rest.CountRequest, await request.json()))})

    async def _scroll(self, request: web.Request) -> web.Response:
        return _answer(self._found(request).scroll(_checked(rest.ScrollRequest, await request.json())))

    async def _query(self, request: web.Request) -> web.Response:
        return _answer(self._found(request).query(_checked(rest.QueryRequest, await request.json())))

    def _found(self, request: web.Request) -> StoredCollection:
        name = request.match_info["name"]
        found = self.collections.get(self.aliases.get(name, name))
        if found is None:
            raise _no_collection(name)
        return found


def _checked(model: Any, body: Json) -> Json:
    """The body, once it was one that Qdrant's own models accept: unknown fields are refused."""
    TypeAdapter(model).validate_python(body)
    return body


def _answer(result: Any) -> web.Response:
    return web.json_response({"result": result, "status": "ok", "time": 0.0})


def _done(request: web.Request) -> web.Response:
    """What a write answers: done only for one that was told to wait."""
    waited = request.query.get("wait") == "true"
    return _answer(
        {"operation_id": time.monotonic_ns() % 1_000_000, "status": "completed" if waited else "acknowledged"}
    )


def _refused(status: int, words: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"status": {"error": words}, "time": 0.0}, status=status, headers=headers)


def _no_collection(name: str) -> Refusal:
    return Refusal(404, f"Not found: Collection `{name}` doesn't exist!")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="qdrant-stand-in-") as place:
        server = QdrantServer(Path(place), port=int(sys.argv[1])).start()
        print(server.url, flush=True)
        threading.Event().wait()
