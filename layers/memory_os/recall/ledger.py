"""The record of every recall: what was asked for whom, each candidate with its scores, and why it was shown or not.

Written behind the answer, by one thread, so that a turn doesn't wait for it. `explain` reads it. An answer that its turn no
longer waited for is `late`: nothing of it counts as shown, whether that is known before the record is written or after.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from memory_os.errors import BadRequest
from memory_os.index import Index, Retrieval, passage_of
from memory_os.recall.arms import Outcome
from memory_os.recall.query import Query
from memory_os.recall.selection import Decision
from memory_os.store import Store

# Dropped candidates kept for `explain`; the sixtieth best says nothing about a turn.
_DROPPED_KEPT = 12
LATE = "late"
TOO_LATE = "found, but too late for the prompt"
_NO_ANSWER = "no answer in time"
# Turns whose recall may still be running though nobody waits for it; one runs for seconds at most.
_MISSED_KEPT = 500
_GIVEN_KEPT = 500
# The ledger is a diagnosis, not an archive.
LEDGER_DAYS = 90
# A record waits for answers that are on their way, which need the same interpreter; looked at so often, and not for longer.
_BUSY_S, _BUSY_MAX_S = 0.002, 0.05


@dataclass(frozen=True, slots=True)
class Record:
    query: Query
    outcome: str
    reason: str
    milliseconds: float
    tokens: int
    arms: dict[str, Outcome]
    decisions: Sequence[Decision]


@dataclass(frozen=True, slots=True)
class Missed:
    """A recall that its turn did not wait for any longer. `at`: when it gave up (epoch seconds). `reason`: of the plugin's."""

    turn_id: str
    session_id: str
    scope: str
    platform: str
    at: float
    reason: str
    milliseconds: float = 0.0


class Ledger:
    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._writer = ThreadPoolExecutor(1, "ledger")
        self._missed: OrderedDict[str, Missed] = OrderedDict()
        # What the latest turns retrieved, should it turn out that they were not given it. The writer's alone.
        self._retrieved: OrderedDict[str, Retrieval] = OrderedDict()
        # The latest sessions that were given a block, and the turn that was: what is queued is not on record yet.
        self._given: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        # Whether a turn waits for its answer now.
        self.busy: Callable[[], bool] = lambda: False

    def write(self, record: Record) -> None:
        """Queue the record; a failure to write it is counted and breaks nothing."""
        if record.tokens and record.arms:
            with self._lock:
                self._given.setdefault(record.query.session_id, record.query.turn_id)
                while len(self._given) > _GIVEN_KEPT:
                    self._given.popitem(last=False)
        self._writer.submit(self._write, record, time.monotonic() + _BUSY_MAX_S)

    def too_late(self, missed: Missed) -> None:
        """What the turn's recall found, or still finds, reached nobody. Returns once that is on record; twice is once.

        A turn that is asked again afterwards is a recall of its own. Raises sqlite3.Error, StoreError.
        """
        with self._lock:
            known = self._missed.get(missed.turn_id)
            self._missed[missed.turn_id] = missed if known is None or known.at < missed.at else known
            self._missed.move_to_end(missed.turn_id)
            while len(self._missed) > _MISSED_KEPT:
                self._missed.popitem(last=False)
            self._given.pop(missed.session_id, None)
        self._writer.submit(self._correct, missed).result()

    def missed(self, query: Query) -> Missed | None:
        """That the turn gave this very question up, if it did."""
        with self._lock:
            found = self._missed.get(query.turn_id)
        return found if found is not None and put_at(query) <= found.at else None

    def gave_block(self, session_id: str, now: str) -> bool:
        """Whether a turn of the session other than `now` was given a block of recalled lines, as far as is known."""
        with self._lock:
            if self._given.get(session_id, now) != now:
                return True
        # What is said of something taken back was not searched: it has no arms.
        given = "SELECT 1 FROM recalls WHERE session_id = ? AND turn_id <> ? AND tokens > 0 AND arms <> '{}' LIMIT 1"
        return self._store.row(given, (session_id, now)) is not None

    def wait_written(self) -> None:
        """Wait until everything queued so far is written."""
        self._writer.submit(lambda: None).result()

    def close(self) -> None:
        self._writer.shutdown(wait=True)

    def explain(self, turn: str) -> dict[str, Any]:
        """One turn's record with its lines, best first. `turn` is an id or `last`. Raises BadRequest when unknown."""
        self.wait_written()
        if turn == "last":
            row = self._store.row("SELECT * FROM recalls ORDER BY rowid DESC LIMIT 1")
        else:
            row = self._store.row("SELECT * FROM recalls WHERE turn_id = ?", (turn,))
        if row is None:
            raise BadRequest(
                f"No recall of turn {turn!r} is on record." if turn != "last" else "No recall is on record yet.",
                cure="`memory-os status` shows whether the plugin reaches the service.",
            )
        lines = self._store.rows(
            "SELECT * FROM recall_lines WHERE turn_id = ? ORDER BY shown DESC, rank", (row["turn_id"],)
        )
        return {
            **{key: row[key] for key in ("turn_id", "session_id", "scope", "platform", "at", "outcome", "reason")},
            "milliseconds": round(row["milliseconds"], 1),
            "tokens": row["tokens"],
            "arms": json.loads(row["arms"]),
            "lines": [self._line(line) for line in lines],
        }

    def rotate(self, now: float) -> int:
        """Drop records older than 90 days. Returns how many."""
        with self._store.write() as db:
            db.execute("DELETE FROM tool_calls WHERE at < ?", (now - LEDGER_DAYS * 86_400,))
            return db.execute("DELETE FROM recalls WHERE at < ?", (now - LEDGER_DAYS * 86_400,)).rowcount

    def expired(self, now: float) -> int:
        """How many records `rotate` would drop."""
        return int(self._store.value("SELECT count(*) FROM recalls WHERE at < ?", (now - LEDGER_DAYS * 86_400,)))

    def _line(self, line: sqlite3.Row) -> dict[str, Any]:
        row = self._store.row("SELECT * FROM passages WHERE id = ?", (line["passage_id"],))
        passage = None if row is None else passage_of(row)
        return {
            "handle": passage.handle if passage else "",
            "layer": passage.layer.value if passage else "",
            "text": passage.text[:200] if passage else "(no longer there)",
            "shown": bool(line["shown"]),
            "reason": line["reason"],
            "scores": json.loads(line["scores"]),
        }

    def _write(self, record: Record, latest: float) -> None:
        while self.busy() and time.monotonic() < latest:
            time.sleep(_BUSY_S)
        try:
            self._insert(record)
        except sqlite3.Error as error:
            try:
                self._store.count("ledger_failed", reason=str(error))
            except sqlite3.Error:
                # The disk is full or the file is gone: the same fault is reported by whoever writes next.
                return

    def _insert(self, record: Record) -> None:
        query = record.query
        turn_id = query.turn_id or f"{query.session_id}:{time.time_ns()}"
        arms = {
            name: {"state": arm.state.value, "reason": arm.reason, "milliseconds": round(arm.milliseconds, 1)}
            for name, arm in record.arms.items()
        }
        kept = best_first(record.decisions)[: _DROPPED_KEPT + sum(one.shown for one in record.decisions)]
        missed = self.missed(query) if record.tokens else None
        outcome, reason, tokens = record.outcome, record.reason, record.tokens
        if missed is not None:
            outcome, reason, tokens = LATE, _late_reason(missed, reason), 0
            kept = [replace(one, shown=False, reason=TOO_LATE) if one.shown else one for one in kept]
        with self._store.write() as db:
            db.execute("DELETE FROM recalls WHERE turn_id = ?", (turn_id,))
            db.execute(
                "INSERT INTO recalls VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (turn_id, query.session_id, query.scope.key, query.platform, put_at(query), outcome, reason,
                 record.milliseconds, tokens, json.dumps(arms)),
            )  # fmt: skip
            db.executemany(
                "INSERT OR REPLACE INTO recall_lines VALUES(?, ?, ?, ?, ?, ?)",
                [
                    (turn_id, rank, one.scored.passage.id, int(one.shown), one.reason, json.dumps(scores_of(one)))
                    for rank, one in enumerate(kept)
                ],
            )
            retrieved = self._index.used(decision.scored.passage.id for decision in kept if decision.shown)
        self._remember(turn_id, retrieved)

    def _remember(self, turn_id: str, retrieved: Retrieval) -> None:
        if retrieved.before:
            self._retrieved[turn_id] = retrieved
            while len(self._retrieved) > _MISSED_KEPT:
                self._retrieved.popitem(last=False)

    def _correct(self, missed: Missed) -> None:
        """Take back what a record claims to have given; a recall that left none gets one that says so."""
        turn = (missed.turn_id,)
        with self._store.write() as db:
            row = db.execute("SELECT at, tokens, reason FROM recalls WHERE turn_id = ?", turn).fetchone()
            if row is None:
                db.execute(
                    "INSERT INTO recalls VALUES(?, ?, ?, ?, ?, ?, ?, ?, 0, '{}')",
                    (missed.turn_id, missed.session_id, missed.scope, missed.platform, missed.at, LATE,
                     f"{_NO_ANSWER}: {missed.reason}", missed.milliseconds),
                )  # fmt: skip
            elif row["tokens"] and row["at"] <= missed.at:
                shown = db.execute("SELECT passage_id FROM recall_lines WHERE turn_id = ? AND shown = 1", turn).fetchall()
                db.execute(
                    "UPDATE recalls SET outcome = ?, reason = ?, tokens = 0 WHERE turn_id = ?",
                    (LATE, _late_reason(missed, row["reason"]), *turn),
                )
                db.execute(
                    "UPDATE recall_lines SET shown = 0, reason = ? WHERE turn_id = ? AND shown = 1", (TOO_LATE, *turn)
                )
                retrieved = self._retrieved.pop(missed.turn_id, None)
                self._index.unused([one["passage_id"] for one in shown], retrieved)


def put_at(query: Query) -> float:
    """When the question was put: by the asking process's clock, which also says when it gave up."""
    return query.asked_at or query.now


def _late_reason(missed: Missed, before: str) -> str:
    return f"{TOO_LATE}: {missed.reason}{f'; {before}' if before else ''}"


def best_first(decisions: Sequence[Decision]) -> list[Decision]:
    """Shown ones in the block's order, then the dropped ones, the nearest to being shown first."""
    return sorted(decisions, key=lambda one: (not one.shown, 0.0 if one.shown else -one.scored.probability))


def scores_of(decision: Decision) -> dict[str, float]:
    scored = decision.scored
    return {
        "probability": round(scored.probability, 3),
        "rank": round(scored.rank, 3),
        "prior": round(scored.prior, 3),
        "cosine": round(scored.candidate.cosine, 3),
        "bm25": round(scored.candidate.bm25, 2),
        "coverage": round(scored.candidate.coverage, 3),
    }
