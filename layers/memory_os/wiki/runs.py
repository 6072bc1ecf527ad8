"""A run of the wiki's curation inside the service: the files that wait, one after the other, within one ceiling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from memory_os.errors import ContextTooLong, ModelContent, ModelError, WikiError
from memory_os.store import Store
from memory_os.wiki.curated import Curated, Neighbour

if TYPE_CHECKING:
    from memory_os.engine import Engine
    from memory_os.llm import ModelClient

__all__ = ["count_outcome", "curate"]

# Called before each file with (files done, files in all, name).
Progress = Callable[[int, int, str], None]


def curate(engine: Engine, names: Sequence[str], again: bool, progress: Progress) -> dict[str, Any]:
    """Curate these raw files, or all that wait. One file's failure is in the result; what stops the run is in `stopped`.

    Blocks for minutes: not on a thread that anybody waits for. Raises WikiError if there is no wiki, ModelOff without a
    model.
    """
    engine.wiki.schema()
    return asyncio.run(_curate(engine, list(names), again, progress))


async def _curate(engine: Engine, names: list[str], again: bool, progress: Progress) -> dict[str, Any]:
    from memory_os.llm import ModelClient, StoreUsage

    model = ModelClient.open(engine.settings, StoreUsage(engine.store))
    wanted = [(name, again) for name in names] or _all(engine, again)
    result: dict[str, Any] = {"files": [], "queued": [], "units": 0.0, "stopped": None}
    try:
        for done, (name, anew) in enumerate(wanted):
            progress(done, len(wanted), name)
            allowance = engine.settings.values.wiki.units_per_run - result["units"]
            try:
                told = (await _one(engine, name, model, anew, allowance)).as_dict()
            except (ModelContent, ContextTooLong, WikiError) as error:
                told = {"raw": name, "status": "failed", "reason": str(error)}
            except ModelError as error:
                result["stopped"] = {"error": error.message, "cure": error.cure, "code": error.code}
                break
            result["units"] = round(result["units"] + told.get("units", 0.0), 3)
            result["files"].append(told)
            count_outcome(engine.store, told)
    finally:
        await model.close()
    progress(len(wanted), len(wanted), "")
    result["waiting"] = len(engine.wiki.waiting())
    return result


def _all(engine: Engine, again: bool) -> list[tuple[str, bool]]:
    """What is to be curated, by name, and whether it is done anew."""
    return engine.wiki.to_do_again() if again else [(one.name, False) for one in engine.wiki.waiting()]


async def _one(engine: Engine, name: str, model: ModelClient, again: bool, allowance: float) -> Curated:
    async def near(text: str) -> list[Neighbour]:
        return await asyncio.to_thread(engine.wiki_neighbours.near, text)

    return await engine.wiki.curate(name, model, near, again=again, allowance=allowance)


def count_outcome(store: Store, told: dict[str, Any]) -> None:
    """Count what a user should know of one file's curation. `told`: Curated as a dictionary. A file that is no text, or
    gone, is no fault of curation's."""
    if told["status"] in ("failed", "ceiling"):
        store.count("wiki_not_curated", reason=f"{told['raw']}: {told['reason']}")
    if told.get("flagged"):
        store.count("wiki_flagged", reason=told["raw"])
    for name in ("orders_left_out", "orders_quoted"):
        if told.get(name):
            store.count(f"wiki_{name}", told[name], reason=told["raw"])


