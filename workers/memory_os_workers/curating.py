"""`POST /v1/wiki/curate`: raw files become jobs where a worker is there to do them; else the service does them now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from memory_os.errors import QueueError

if TYPE_CHECKING:
    from memory_os.engine import Engine

    from memory_os_workers.service import Service

Work = Callable[[Callable[[int, int, str], None]], dict[str, Any]]


async def curation(service: Service, engine: Engine, names: Sequence[str], again: bool) -> Work:
    """What is to be run for this request. Its result says which files are in the queue, and how the others went."""
    from memory_os.wiki.runs import curate

    queued = [] if again else await _queued(service, engine, names)
    if queued:
        return lambda progress: {"files": [], "queued": queued, "units": 0.0, "stopped": None, "waiting": len(queued)}
    return lambda progress: curate(engine, names, again, progress)


async def _queued(service: Service, engine: Engine, names: Sequence[str]) -> list[str]:
    """Put them into the queue. Empty if there is no worker or no model, or if a named one does not wait: it failed, say,
    and is to be tried again now."""
    from memory_os.wiki import curates

    pipeline = service.pipeline
    if pipeline is None or not pipeline.usable or not curates(service.settings):
        return []
    waiting = await asyncio.get_running_loop().run_in_executor(service.executors.tools, engine.wiki.waiting)
    wanted = [one for one in waiting if not names or one.name in names]
    if not wanted or len(wanted) < len(set(names)):
        return []
    try:
        await pipeline.curate([(one.name, f"{one.size}-{one.mtime_ns}") for one in wanted])
    except QueueError:
        return []
    return [one.name for one in wanted]
