"""What `memory-os status` shows: every layer's health, all counters, what waits, what leaves the machine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory_os import __version__
from memory_os.config import Settings
from memory_os.errors import MemoryOSError
from memory_os.loopback import is_loopback
from memory_os.maintenance.full_backup import why_kept
from memory_os.memory import Health, State
from memory_os.store import Store, damage, is_damage
from memory_os.vectors.outgrown import outgrown
from memory_os.wiki import curates

if TYPE_CHECKING:
    from memory_os.engine import Engine

__all__ = ["status_of"]

_T = TypeVar("_T")
_M = TypeVar("_M")


def status_of(engine: Engine) -> dict[str, Any]:
    """Where memory.db can't be read, that figure is missing."""
    layers = {
        "1 workspace": engine.workspace.health,
        "2 sessions": engine.sessions.health,
        "3 facts": engine.facts.health,
        "4 fabric": engine.fabric.health,
        "5 vectors": engine.indexing.health,
        "5 documents": engine.documents.health,
        "6 wiki": lambda: engine.wiki.health(model=curates(engine.settings)),
        "7 ground truth": engine.ground_truth.health,
    }
    return {
        "version": __version__,
        "ready": engine.ready,
        "layers": {name: _health_of(engine.store, health) for name, health in layers.items()},
        "counters": _read(partial(_counters, engine), dict[str, Any]()),
        "recalls": _read(partial(_recall_figures, engine), dict[str, Any]()),
        "spool": {"waiting": len(engine.intake.waiting()), "rejected": engine.intake.rejected()},
        "embedding_model": _read(lambda: _embedding_model(engine.settings), ""),
        "embedding_cache": engine.embedder.cache.figures() if engine.embedder is not None else {"state": "off"},
        "pending_embeddings": _read(engine.index.embeddings.pending_count, None),
        "passages": _read(engine.index.count, None),
        "maintenance": _read(engine.maintenance.status, dict[str, Any]()),
        "models": _read(partial(_models, engine), dict[str, Any]()),
        "understanding": _read(lambda: engine.understanding.status(time.time()), dict[str, Any]()),
        "egress": [*_egress(engine.settings), *engine.maintenance.alerts.egress],
        "ground_truth": _read(lambda: engine.ground_truth.status(time.time()), dict[str, Any]()),
        "notes": _notes(engine),
    }


def _notes(engine: Engine) -> list[str]:
    """What a user should know and no layer says."""
    left, servers = _read(lambda: engine.indexing.left_behind, ""), engine.settings.values.servers
    notes = []
    if left:
        notes.append(f"points of this memory (home {engine.store.home_id}) are still on {left}: see docs/layers/5-vectors.md")
    if servers.qdrant_url.startswith("http:") and not is_loopback(servers.qdrant_url):
        notes.append(f"vectors and any API key travel unencrypted to {servers.qdrant_url}: give it an https address")
    p95_ms = float(_read(partial(_recall_figures, engine), dict[str, Any]()).get("p95_ms", 0.0))
    if slow := outgrown(_read(engine.index.count, 0), p95_ms, servers.qdrant_url):
        notes.append(slow)
    kept = _read(engine.maintenance.full.holding, list[str]())
    return [*notes, *(f"{path} still holds something that was forgotten: {why_kept(Path(path))}" for path in kept)]


def _egress(settings: Settings) -> list[str]:
    """What leaves this machine, and where it goes."""
    from memory_os.embedding.naming import model_egress
    from memory_os.llm.report import models_egress

    address = settings.values.servers.qdrant_url
    vectors = [f"vectors and sources, no text, to {address}"] if address and not is_loopback(address) else []
    texts = model_egress(settings)
    return [*vectors, *([texts] if texts else []), *models_egress(settings)]


def _embedding_model(settings: Settings) -> str:
    from memory_os.embedding.naming import model_line

    return model_line(settings)


def _models(engine: Engine) -> dict[str, Any]:
    # Imported when somebody asks: models have no part in the start.
    from memory_os.llm.report import models_status

    return models_status(engine.settings, engine.store, time.time())


def _health_of(store: Store, health: Callable[[], Health]) -> dict[str, Any]:
    """One layer's health; a layer that can't say it is degraded, and the others go on saying theirs."""
    try:
        return _health_dict(health())
    except (sqlite3.Error, OSError, MemoryOSError) as error:
        told = damage(store.path, error) if is_damage(error) else error
        cure = told.cure if isinstance(told, MemoryOSError) else "See logs/service.log."
        return _health_dict(Health(State.DEGRADED, getattr(told, "message", str(told)), cure))


def _counters(engine: Engine) -> dict[str, Any]:
    return {
        row["name"]: {"value": row["value"], "last_at": row["last_at"], "last_reason": row["last_reason"]}
        for row in engine.store.rows("SELECT * FROM counters ORDER BY name")
    }


def _recall_figures(engine: Engine) -> dict[str, Any]:
    """Of the last seven days: recalls by outcome, and the percentiles of their time in the service."""
    since = time.time() - 7 * 86_400
    outcomes = engine.store.rows("SELECT outcome, count(*) AS n FROM recalls WHERE at > ? GROUP BY outcome", (since,))
    times = sorted(
        row["milliseconds"]
        for row in engine.store.rows(
            "SELECT milliseconds FROM recalls WHERE outcome IN ('injected', 'nothing') OR (outcome = 'late' AND arms != '{}')"
            " ORDER BY at DESC LIMIT 1000"
        )
    )
    figures: dict[str, Any] = {row["outcome"]: row["n"] for row in outcomes}
    if times:
        figures["p50_ms"] = round(times[len(times) // 2], 1)
        figures["p95_ms"] = round(times[min(int(len(times) * 0.95), len(times) - 1)], 1)
    return figures


def _read(work: Callable[[], _T], missing: _M) -> _T | _M:
    try:
        return work()
    except sqlite3.Error:
        return missing


def _health_dict(health: Health) -> dict[str, Any]:
    return {"state": health.state.value, "detail": health.detail, "cure": health.cure, "figures": dict(health.figures)}
