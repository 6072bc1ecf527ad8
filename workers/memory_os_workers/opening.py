"""A service's start, beside the requests that wait for it: memory.db, then the models, then the work in the background."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from typing import TYPE_CHECKING

from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceError

from memory_os_workers import run_files
from memory_os_workers.service import Service

if TYPE_CHECKING:
    from memory_os.engine import Engine

    from memory_os_workers.jobs.pipeline import Pipeline

_log = logging.getLogger(__name__)

# The models have the processor to themselves for so long: the first turn waits for them, housekeeping for nobody.
MODELS_FIRST_S = 2.0
# New objects before Python looks for garbage by itself. A recall makes 1,500 that are gone with it, and keeps 150.
_YOUNG_MAX = 20_000


async def bring_up(service: Service) -> None:
    """Everything a service has, one after the other; what can't be had is recorded, and stops only what needs it."""
    engine = await _opened(service)
    if engine is None:
        return
    models = asyncio.ensure_future(service.models.load(engine))
    await asyncio.wait({models}, timeout=MODELS_FIRST_S)
    _start_background(service, engine)
    passing = await models
    _tell_ready(service)
    _collect_garbage_again()
    if passing:
        service.keep("the models", _models_later(service, engine))
    await _start_pipeline(service, engine, queue=not passing)
    gc.freeze()


async def _opened(service: Service) -> Engine | None:
    """The engine, which handlers then have, too. None: the service ends, and says why."""
    engine: Engine | None = None
    try:
        engine = await asyncio.get_running_loop().run_in_executor(service.executors.house, _open_engine, service.settings)
    except MemoryOSError as error:
        service.failure = error
    except Exception as error:  # noqa: BLE001 - typed here, recorded and shown by whoever started us
        _log.exception("the engine could not be opened")
        service.failure = ServiceError(f"The service could not start: {type(error).__name__}: {error}.")
    service.opened_with(engine)
    if engine is not None:
        run_files.clear_failure(service.settings)
    return engine


async def _models_later(service: Service, engine: Engine) -> None:
    """The models as soon as they can be loaded; then what waited for them."""
    await service.models.load_later(engine)
    _tell_ready(service)
    service.embed_soon()
    if service.pipeline is not None:
        await _start_queue(service, service.pipeline)


def _tell_ready(service: Service) -> None:
    if service.ready:
        _log.info("ready %.2f s after the start", time.time() - service.started_at)


def _start_background(service: Service, engine: Engine) -> None:
    from memory_os_workers.background import Background

    def busy() -> bool:
        return service.recalls_in_flight > 0

    engine.recaller.ledger.busy = busy
    service.background = Background(
        engine,
        service.settings,
        capture=service.executors.capture,
        embed=service.executors.embed,
        house=service.executors.house,
        busy=busy,
    )
    service.keep("the background", service.background.run())


async def _start_pipeline(service: Service, engine: Engine, *, queue: bool) -> None:
    """The queue and its worker, when everything that a turn waits for is there. Without `queue`: they come later."""
    from memory_os_workers.jobs.pipeline import Pipeline
    from memory_os_workers.jobs.reconciliation import Reconciliation
    from memory_os_workers.preparing import Preparing
    from memory_os_workers.understanding import Understander

    executors = service.executors
    pipeline = Pipeline(engine, service.settings, executor=executors.pipeline, nudge=service.embed_soon)
    service.pipeline = pipeline
    if service.background is not None:
        service.background.backlog = pipeline.backlog
    if queue:
        await _start_queue(service, pipeline)
    else:
        pipeline.unavailable = "the worker needs the embedding model, too"
    service.reconciliation = Reconciliation(engine, pipeline, house=executors.house)
    pipeline.look_at_documents = service.reconciliation.look_now
    service.keep("reconciliation", service.reconciliation.run())
    reader = Understander(engine, pipeline, executor=executors.pipeline, nudge=service.embed_soon)
    service.preparing = Preparing(service.settings.values.understanding.person_wait_seconds)
    service.preparing.hurry = reader.hurry
    engine.understanding.person.arrived = service.preparing.arrived
    service.keep("understanding", reader.run())


async def _start_queue(service: Service, pipeline: Pipeline) -> None:
    pipeline.unavailable = ""
    try:
        await pipeline.start()
    except MemoryOSError as error:
        pipeline.unavailable = str(error)
        _log.error("no queue: %s", error)
    except Exception as error:  # noqa: BLE001 - the service does the work itself, and `status` says why
        pipeline.unavailable = f"{type(error).__name__}: {error}"
        service.note_error(error)
        _log.exception("no queue")


def _open_engine(settings: Settings) -> Engine:
    # numpy, sqlite-utils and the vector engine are imported here, on the thread, while health already answers.
    from memory_os.engine import Engine

    return Engine.open(settings)


def _collect_garbage_again() -> None:
    """What was made at the start stays for good, and is not looked at again: full collections take a tenth of their time.

    Mostly `background.collect_young` looks, once a second and not while a turn waits.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_MAX)
    gc.enable()
