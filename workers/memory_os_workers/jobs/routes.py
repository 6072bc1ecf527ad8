"""What workers ask the service, and what they deliver: `/v1/workers/*`; and its dead letters: `/v1/dlq`.

    POST /v1/workers/hello     POST /v1/workers/texts        POST /v1/workers/embeddings
    POST /v1/workers/document  POST /v1/workers/dead_letter  POST /v1/workers/due        POST /v1/workers/duty
    POST /v1/workers/curated   POST /v1/workers/fabric       POST /v1/workers/spent      POST /v1/workers/usage
    POST /v1/workers/turns     POST /v1/workers/understood   POST /v1/workers/person     POST /v1/workers/thought
    POST /v1/workers/memories  POST /v1/workers/reflected
    GET  /v1/dlq            POST /v1/dlq/requeue       POST /v1/dlq/drop

The service is the only writer: what is delivered is checked and committed here, once, however often it comes.
"""

from __future__ import annotations

import asyncio
import binascii
import importlib
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aiohttp import web
from memory_os import __version__, constants
from memory_os.errors import BadRequest, ServiceUnavailable, WorkerUnfit

from memory_os_workers.jobs.begun import Begun
from memory_os_workers.jobs.connection import vectors_of
from memory_os_workers.requests import parse_object

if TYPE_CHECKING:
    from memory_os.engine import Engine

    from memory_os_workers.jobs import bodies
    from memory_os_workers.jobs.pipeline import Pipeline
    from memory_os_workers.service import Service

# The largest document there may be, prepared: each text with its headings and context, as JSON with its escapes.
BODY_MAX_BYTES = 4 * constants.DOCUMENT_MAX_BYTES
_SMALL_BYTES = 64 * 1024
DUTY_JOB_FROM_S = 600.0


class WorkRoutes:
    """The handlers over one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fabric: Begun | None = None
        self._bodies: ModuleType | None = None

    def add_to(self, app: web.Application) -> None:
        app.add_routes(
            [
                web.post("/v1/workers/hello", self.hello),
                web.post("/v1/workers/texts", self.texts),
                web.post("/v1/workers/embeddings", self.embeddings),
                web.post("/v1/workers/document", self.document),
                web.post("/v1/workers/dead_letter", self.dead_letter),
                web.post("/v1/workers/due", self.due),
                web.post("/v1/workers/duty", self.duty),
                web.post("/v1/workers/curated", self.curated),
                web.post("/v1/workers/fabric", self.fabric),
                web.post("/v1/workers/turns", self.turns),
                web.post("/v1/workers/understood", self.understood),
                web.post("/v1/workers/person", self.person),
                web.post("/v1/workers/thought", self.thought),
                web.post("/v1/workers/memories", self.memories),
                web.post("/v1/workers/reflected", self.reflected),
                web.post("/v1/workers/spent", self.spent),
                web.post("/v1/workers/usage", self.usage),
                web.get("/v1/dlq", self.dlq),
                web.post("/v1/dlq/requeue", self.requeue),
                web.post("/v1/dlq/drop", self.drop),
            ]
        )

    # -- workers -------------------------------------------------------------------------------------------------------

    async def hello(self, request: web.Request) -> web.Response:
        """Who we are; a worker of another version is refused."""
        body: bodies.Hello = await self._read(request, "Hello")
        if body.version != __version__:
            raise WorkerUnfit(
                f"The service is memory-os {__version__}, the worker {body.version}.",
                cure="Install the same version for both.",
            )
        engine = await self._service.engine()
        home_id = await self._in_thread(lambda: engine.store.home_id)
        return web.json_response(
            {
                "home_id": home_id,
                "fingerprint": engine.index.fingerprint,
                "version": __version__,
                "home": str(self._service.settings.home),
            }
        )

    async def texts(self, request: web.Request) -> web.Response:
        """Of the hashes, those still to be embedded, with their texts."""
        body: bodies.Texts = await self._read(request, "Texts")
        engine = await self._service.engine()
        return web.json_response({"texts": await self._in_thread(engine.index.embeddings.texts, body.hashes)})

    async def embeddings(self, request: web.Request) -> web.Response:
        """Keep delivered vectors, if they are of this pipeline's fingerprint."""
        body: bodies.Embeddings = await self._read(request, "Embeddings")
        engine = await self._service.engine()
        kept = await self._in_thread(_keep, engine, body.fingerprint, body.vectors)
        self._service.embed_soon()
        return web.json_response({"kept": kept})

    async def document(self, request: web.Request) -> web.Response:
        """Commit a prepared document; one that changed meanwhile is refused as `stale`, and handed out again."""
        body: bodies.Document = await self._read(request, "Document")
        engine = await self._service.engine()
        report = await self._in_thread(_commit, engine, body)
        self._service.embed_soon()
        return web.json_response(report)

    async def dead_letter(self, request: web.Request) -> web.Response:
        body: bodies.DeadLetter = await self._read(request, "DeadLetter")
        engine = await self._service.engine()
        told = (body.job, body.function, body.payload, body.error, body.message, body.attempts)
        number = await self._in_thread(engine.dead_letters.add, *told)
        return web.json_response({"id": number})

    async def due(self, request: web.Request) -> web.Response:
        """The maintenance duties that are due now and worth a job, each with its slot of time (the minute)."""
        await request.read()
        engine, now = await self._service.engine(), time.time()
        names = await self._in_thread(_due, engine, now)
        return web.json_response({"due": [{"name": name, "slot": str(int(now // 60))} for name in names]})

    async def duty(self, request: web.Request) -> web.Response:
        """Run a duty, unless it was run since, or somebody is at it. The outcome says how it went.

        `busy`: the thread that keeps house is at something else; the duty stays due, and the worker is not held up.
        """
        body: bodies.Duty = await self._read(request, "Duty")
        engine = await self._service.engine()
        name, house = body.name, self._service.executors.house
        if name not in engine.maintenance.names:
            raise BadRequest(f"There is no duty {name!r}.", cure="`memory-os maintain` lists them.")
        run = Begun(house, engine.maintenance.run_if_due, name, time.time())
        if not await run.begun() and run.job.cancel():
            return web.json_response({"outcome": None, "busy": True})
        outcome = await asyncio.wrap_future(run.job)
        return web.json_response({"outcome": None if outcome is None else outcome.as_dict(), "busy": False})

    async def curated(self, request: web.Request) -> web.Response:
        """How a raw file went; the pages are on disk, and documents follow them."""
        from memory_os.wiki.runs import count_outcome

        body: bodies.Curated = await self._read(request, "Curated")
        engine = await self._service.engine()
        await self._in_thread(count_outcome, engine.store, body.model_dump())
        await self._in_thread(engine.dead_letters.supersede, "curate", body.raw)
        if self._service.reconciliation is not None and (body.created or body.merged):
            self._service.reconciliation.look_now()
        return web.json_response({"ok": True})

    async def fabric(self, request: web.Request) -> web.Response:
        """Take in what changed in the fabric folder: now, or (`busy`) as soon as the thread that keeps house is free."""
        await request.read()
        engine = await self._service.engine()
        house, waits = self._service.executors.house, self._fabric
        # One that has not begun will see this change too.
        if waits is None or waits.job.running() or waits.job.done():
            waits = self._fabric = Begun(house, engine.fabric.refresh)
        if not await waits.begun():
            return web.json_response({"result": "busy"})
        result = await asyncio.wrap_future(waits.job)
        self._service.embed_soon()
        return web.json_response({"result": str(result)})

    async def turns(self, request: web.Request) -> web.Response:
        """The unread turns of a session up to a message's number; null when none of them needs a model."""
        body: bodies.Turns = await self._read(request, "Turns")
        engine = await self._service.engine()
        told = (body.scope, body.session, body.watermark, time.time())
        reading = await self._in_thread(engine.understanding.reading, *told)
        return web.json_response({"reading": None if reading is None else reading.as_dict()})

    async def understood(self, request: web.Request) -> web.Response:
        """What a model read in a session's turns, or why it could not."""
        body: bodies.Understood = await self._read(request, "Understood")
        engine = await self._service.engine()
        result = await self._in_thread(engine.understanding.deliver, body.model_dump(exclude_unset=True), time.time())
        self._service.embed_soon()
        return web.json_response(result)

    async def person(self, request: web.Request) -> web.Response:
        """What a model is given to think about a person; null when nothing is concluded yet."""
        body: bodies.Person = await self._read(request, "Person")
        engine = await self._service.engine()
        thinking = await self._in_thread(engine.understanding.person.thinking, body.scope, body.question, time.time())
        return web.json_response({"thinking": None if thinking is None else thinking.as_dict()})

    async def thought(self, request: web.Request) -> web.Response:
        """What was thought about a person, or why it could not be."""
        body: bodies.Thought = await self._read(request, "Thought")
        engine = await self._service.engine()
        told = body.model_dump(exclude_unset=True)
        return web.json_response(await self._in_thread(engine.understanding.person.keep, told, time.time()))

    async def memories(self, request: web.Request) -> web.Response:
        """The oldest memories of a scope that no model has looked at together; null when they are too few."""
        body: bodies.Scoped = await self._read(request, "Scoped")
        engine = await self._service.engine()
        memories = await self._in_thread(engine.understanding.reflection.memories, body.scope, time.time())
        return web.json_response({"memories": None if memories is None else memories.as_dict()})

    async def reflected(self, request: web.Request) -> web.Response:
        """What a model saw in several memories, or why it could not look."""
        body: bodies.Reflected = await self._read(request, "Reflected")
        engine = await self._service.engine()
        told = body.model_dump(exclude_unset=True)
        result = await self._in_thread(engine.understanding.reflection.keep, told, time.time())
        self._service.embed_soon()
        return web.json_response(result)

    async def spent(self, request: web.Request) -> web.Response:
        """Model units since a time, of one job or of all; and how often something was forgotten, for who keeps answers."""
        from memory_os.llm import StoreUsage

        body: bodies.Spent = await self._read(request, "Spent")
        engine = await self._service.engine()
        log = await self._in_thread(StoreUsage, engine.store)
        units = await self._in_thread(log.spent_now, body.job, body.since)
        return web.json_response({"units": units, "forgettings": await self._in_thread(log.forgettings_now)})

    async def usage(self, request: web.Request) -> web.Response:
        """Record one call of a model."""
        from memory_os.llm import Call, StoreUsage

        body: bodies.Usage = await self._read(request, "Usage")
        engine = await self._service.engine()
        call = Call(**body.call.model_dump())
        await self._in_thread(lambda: StoreUsage(engine.store).record_now(call))
        return web.json_response({"ok": True})

    # -- people --------------------------------------------------------------------------------------------------------

    async def dlq(self, request: web.Request) -> web.Response:
        engine = await self._service.engine()
        letters = await self._in_thread(engine.dead_letters.all)
        return web.json_response({"dead_letters": [one.as_dict() for one in letters]})

    async def requeue(self, request: web.Request) -> web.Response:
        """`{"ids": [...]}`, or every one with `{"all": true}`."""
        numbers, pipeline = await self._numbers(request), self._pipeline()
        return web.json_response({"requeued": [await pipeline.requeue(number) for number in numbers]})

    async def drop(self, request: web.Request) -> web.Response:
        numbers = await self._numbers(request)
        engine = await self._service.engine()

        def remove() -> list[dict[str, Any]]:
            return [engine.dead_letters.remove(number).as_dict() for number in numbers]

        return web.json_response({"dropped": await self._in_thread(remove)})

    async def _numbers(self, request: web.Request) -> list[int]:
        """Of letters that are all there, each once: nothing is done where one of them is not."""
        body: bodies.Letters = await self._read(request, "Letters")
        letters = (await self._service.engine()).dead_letters

        def there() -> list[int]:
            return [one.id for one in (letters.all() if body.all else map(letters.one, dict.fromkeys(body.ids)))]

        return list(await self._in_thread(there))

    def _pipeline(self) -> Pipeline:
        if self._service.pipeline is None:
            raise ServiceUnavailable("The service is still starting.", cure="Try again.")
        return self._service.pipeline

    async def _read(self, request: web.Request, kind: str) -> Any:
        """The body as `bodies.<kind>`. Raises BadRequest. They are imported with the first one: a start has no use for them."""
        given = await _body(request)
        if self._bodies is None:
            self._bodies = await self._in_thread(importlib.import_module, "memory_os_workers.jobs.bodies")
        return self._bodies.read_as(getattr(self._bodies, kind), given)

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._service.executors.pipeline, work, *arguments)


def _due(engine: Engine, now: float) -> list[str]:
    """Not those that come every few minutes: the service's own loop runs them, and is there before a job would be."""
    duties = engine.maintenance.status()["duties"]
    return [name for name in engine.maintenance.due(now) if duties[name]["every_s"] >= DUTY_JOB_FROM_S]


def _keep(engine: Engine, fingerprint: str, encoded: dict[str, Any]) -> int:
    if fingerprint != engine.index.fingerprint:
        raise WorkerUnfit(
            f"These vectors are of {fingerprint}, this memory is of {engine.index.fingerprint}.",
            cure="Install the same version of memory-os for both.",
        )
    dimension = 0 if engine.indexing.embedder is None else engine.indexing.embedder.dimension
    if not dimension:
        raise ServiceUnavailable("The service's own model is still loading.", cure="Try again.")
    try:
        vectors = vectors_of(encoded, dimension)
    except (ValueError, TypeError, binascii.Error) as error:
        raise BadRequest(f"A vector can't be read: {error}.") from error
    engine.index.embeddings.keep(vectors)
    return len(vectors)


def _commit(engine: Engine, body: bodies.Document) -> dict[str, Any]:
    from memory_os.documents.prepare import Prepared
    from memory_os.documents.scan import Seen

    name = body.name
    engine.documents.allow(name)
    if body.gone:
        # The worker does not see it. If we do, its machine has another view of the disk, and we read it ourselves.
        report = engine.documents.take(Seen(name, 0, 0))
        if report.status in ("ok", "unchanged"):
            engine.store.count("worker_lacks_file", reason=name)
    elif body.document is not None:
        prepared = Prepared.from_dict(body.document)
        if prepared.name != name:
            raise BadRequest("`document` is of another file than `name`.")
        report = engine.documents.commit(prepared)
    else:
        raise BadRequest("`document` is missing.")
    if report.status != "stale":
        engine.dead_letters.supersede("ingest", name)
    return {"path": report.path, "status": report.status, "reason": report.reason, "chunks": report.chunks}


async def _body(request: web.Request) -> dict[str, Any]:
    read = await request.clone(client_max_size=BODY_MAX_BYTES).read()
    # Large ones on a thread: the loop has turns to answer.
    return parse_object(read) if len(read) < _SMALL_BYTES else await asyncio.to_thread(parse_object, read)

