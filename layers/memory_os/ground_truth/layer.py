"""Layer 7 as the engine knows it: the block's state, the watch, the outcomes, the report."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memory_os.config import Settings
from memory_os.embedding import Embedder
from memory_os.errors import HostError, MemoryOSError
from memory_os.facts import Facts
from memory_os.ground_truth.block import BlockState, block_state
from memory_os.ground_truth.outcomes import Outcomes, review_notes, under_review
from memory_os.ground_truth.report import Report
from memory_os.ground_truth.watch import Watch
from memory_os.index import Index
from memory_os.memory import Health, State
from memory_os.recall import Query, Recalled
from memory_os.store import Store

_WEEK_S = 7 * 86_400.0


class GroundTruth:
    """Constructed once by the engine; safe to call from many threads."""

    def __init__(self, settings: Settings, store: Store, index: Index, facts: Facts) -> None:
        self._settings = settings
        self._store = store
        self.watch = Watch(store, index, settings)
        self.outcomes = Outcomes(store, facts, self.watch)
        self.report = Report(store, settings.values.ground_truth.mode)

    def connect(self, embedder: Embedder) -> None:
        """What `Engine.load_models` brings: likeness by meaning."""
        self.watch.embed = embedder.embed_query
        self.outcomes.embed = embedder.embed_passages
        self.watch.comparable = self.outcomes.comparable = embedder.comparable

    def began(self, query: Query, recalled: Recalled) -> None:
        self.watch.began(query, recalled)

    def came_late(self, turn_id: str) -> None:
        """A turn went on without what recall found for it: nothing is held back for that, and nothing was ignored."""
        self.watch.turns.not_given(turn_id)

    def judge_answered(self, now: float | None = None) -> int:
        """Look at the answered turns; a fault is counted, and they are looked at again."""
        try:
            self.watch.wait_written()
            return self.outcomes.judge_answered(time.time() if now is None else now)
        except (sqlite3.Error, MemoryOSError, RuntimeError) as error:
            self.watch.fault(error)
            return 0

    def forgotten(self) -> None:
        """Something was forgotten: no line of it stays in this process."""
        self.watch.turns.forget()

    def figures(self, payload: Mapping[str, Any], scope: str, now: float) -> dict[str, Any]:
        """The report since `since` (epoch seconds; default a week)."""
        self.watch.wait_written()
        since = payload.get("since")
        return self.report.figures(float(since) if isinstance(since, (int, float)) else now - _WEEK_S, now, scope)

    def status(self, now: float) -> dict[str, Any]:
        """The last week in short, for `status`."""
        found = self.report.figures(now - _WEEK_S, now)
        keys = ("mode", "mode_since", "proposal")
        return {**{key: found[key] for key in keys}, "total": found["total"], "reviews": len(found["reviews"])}

    def health(self) -> Health:
        return self._with_reviews(self._carried())

    def _carried(self) -> Health:
        if self._settings.values.ground_truth.carrier == "section":
            return Health(State.OK, "the rules stand in a prompt section of the plugin")
        try:
            state = block_state(self._settings.soul_file.read_bytes())
        except FileNotFoundError:
            state = BlockState.ABSENT
        except (OSError, HostError) as error:
            return Health(State.DEGRADED, str(error), "memory-os soul check")
        if state is BlockState.APPLIED:
            return Health(State.OK, "the block stands in SOUL.md")
        return Health(State.DEGRADED, f"the block in SOUL.md is {state.value}", "memory-os soul apply")

    def notes(self, passage_ids: Sequence[str]) -> dict[str, str]:
        """What stands beside a line whose fact a tool spoke against, until somebody judges it. By passage id."""
        try:
            return review_notes(self._store, passage_ids)
        except sqlite3.Error as error:
            self.watch.fault(error)
            return {}

    def close(self) -> None:
        self.watch.close()

    def _with_reviews(self, health: Health) -> Health:
        waiting = len(under_review(self._store))
        if not waiting:
            return health
        facts = "fact waits" if waiting == 1 else "facts wait"
        return Health(health.state, f"{health.detail}; {waiting} {facts} for a review", health.cure or "memory-os report")


