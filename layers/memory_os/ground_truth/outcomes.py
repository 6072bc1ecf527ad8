"""What became of each injected line, on record; and what that does to the trust in a fact.

A turn is looked at once its answer is archived. What is used, ignored or contradicted is derived from the archive and
the ledger, so a turn that was missed (the service ended) is found again by comparing the two.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import MemoryOSError
from memory_os.facts import Facts, trust
from memory_os.ground_truth.attribution import LineOutcome, Use, attribute
from memory_os.ground_truth.detection import Given
from memory_os.ground_truth.turns import Turn
from memory_os.ground_truth.watch import Watch, given_of
from memory_os.index import passage_of
from memory_os.memory import Layer
from memory_os.recall.rendering import day_of
from memory_os.redact import redact
from memory_os.store import Row, Store

F32 = NDArray[np.float32]

# Older turns are history: nobody's trust moves by them any more.
_WITHIN_S = 7 * 86_400.0
_BATCH = 200
_EVIDENCE_CHARS = 200
# Of one kind, each further observation within this time counts half of the one before: all of them together stay below
# one explicit verdict (0.2 and 0.4, doubled at most, against 1).
REPEAT_S = 30 * 86_400.0
REPEAT_FACTOR = 0.5

_WEIGHTS = {LineOutcome.USED: trust.OBSERVED_USE, LineOutcome.CONTRADICTED: trust.OBSERVED_CONTRADICTION}


def weight_of(outcome: LineOutcome, before: int) -> float:
    """The weight of an observation after `before` others of its kind within `REPEAT_S`."""
    return _WEIGHTS.get(outcome, 0.0) * REPEAT_FACTOR**before


class Outcomes:
    """`embed` encodes statements, shape (n, dimension); None while the model is loading."""

    def __init__(self, store: Store, facts: Facts, watch: Watch) -> None:
        self._store = store
        self._facts = facts
        self._watch = watch
        self.embed: Callable[[Sequence[str]], F32] | None = None
        self.comparable: Callable[[float], float] = float

    def judge_answered(self, now: float) -> int:
        """Look at every answered turn that has not been looked at. Returns how many. Raises sqlite3.Error."""
        rows = self._store.rows(
            "SELECT r.turn_id, r.scope, u.text AS question, a.text AS answer FROM recalls r"
            " JOIN messages u ON u.turn_id = r.turn_id AND u.scope = r.scope AND u.role = 'user'"
            " LEFT JOIN messages a ON a.turn_id = r.turn_id AND a.scope = r.scope AND a.role = 'assistant'"
            " WHERE r.at > ? AND NOT EXISTS(SELECT 1 FROM line_uses l WHERE l.turn_id = r.turn_id)"
            # Of lines that were forgotten since nothing can be said, and nothing would mark the turn as looked at.
            " AND EXISTS(SELECT 1 FROM recall_lines l JOIN passages p ON p.id = l.passage_id"
            " WHERE l.turn_id = r.turn_id AND l.shown = 1)"
            " ORDER BY r.at LIMIT ?",
            (now - _WITHIN_S, _BATCH),
        )
        for row in rows:
            self._judge(row, now)
        self._end_empty()
        return len(rows)

    def _judge(self, row: Row, now: float) -> None:
        turn = self._watch.turns.get(row["turn_id"], row["scope"])
        lines = self._lines(row["turn_id"])
        uses = attribute(
            row["question"], row["answer"] or "", lines, [] if turn is None else turn.actions, likeness=self._likeness
        )
        uses += self._of_the_window(turn, row)
        with self._store.write() as db:
            for use in uses:
                db.execute(
                    "INSERT OR IGNORE INTO line_uses(turn_id, passage_id, at, layer, outcome, method) VALUES(?, ?, ?, ?, ?, ?)",
                    (row["turn_id"], use.given.passage_id, now, use.given.layer, use.outcome.value, use.method),
                )
                if use.given.layer == Layer.FACTS.value:
                    self._move_trust(db, use, row["turn_id"], now)
        self._watch.turns.end(row["turn_id"])

    def _end_empty(self) -> None:
        """Answered turns that nothing was shown to are never looked at: what found nothing, and what came too late. Of a machine
        that is too slow for recall's deadline that is every turn."""
        running = self._watch.turns.running()
        if not running:
            return
        rows = self._store.rows(
            "SELECT r.turn_id FROM recalls r JOIN messages a ON a.turn_id = r.turn_id AND a.scope = r.scope AND a.role = 'assistant'"
            " WHERE r.turn_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS(SELECT 1 FROM recall_lines l"
            " JOIN passages p ON p.id = l.passage_id WHERE l.turn_id = r.turn_id AND l.shown = 1)",
            (json.dumps(running),),
        )
        for row in rows:
            self._watch.turns.end(row["turn_id"])

    def _lines(self, turn_id: str) -> list[Given]:
        rows = self._store.rows(
            "SELECT p.* FROM recall_lines l JOIN passages p ON p.id = l.passage_id WHERE l.turn_id = ? AND l.shown = 1"
            " ORDER BY l.rank",
            (turn_id,),
        )
        return [given_of(passage_of(row), row["text"]) for row in rows]

    def _of_the_window(self, turn: Turn | None, row: Row) -> list[Use]:
        """Lines of earlier turns: used or contradicted in this one as well, but nobody ignores what wasn't offered."""
        earlier = [line for line in (turn.given or ()) if line.visible_only] if turn is not None else []
        if turn is None or not earlier:
            return []
        uses = attribute(row["question"], row["answer"] or "", earlier, turn.actions)
        return [use for use in uses if use.outcome is not LineOutcome.IGNORED]

    def _likeness(self, line: Given, sentences: Sequence[str]) -> float | None:
        if self.embed is None or not sentences:
            return None
        try:
            vectors = self.embed([line.text, *sentences])
        except MemoryOSError:
            return None
        return self.comparable(float(np.max(vectors[1:] @ vectors[0])))

    # -- trust -----------------------------------------------------------------------------------------------------

    def _move_trust(self, db: sqlite3.Connection, use: Use, turn_id: str, now: float) -> None:
        if use.outcome is LineOutcome.IGNORED:
            return
        fact = db.execute(
            "SELECT f.id FROM facts f JOIN passages p ON p.source = 'fact:' || f.id WHERE p.id = ?", (use.given.passage_id,)
        ).fetchone()
        if fact is None or self._judged_explicitly(db, fact["id"], turn_id):
            return
        before = db.execute(
            "SELECT count(*) FROM trust_moves WHERE fact_id = ? AND outcome = ? AND at > ?",
            (fact["id"], use.outcome.value, now - REPEAT_S),
        ).fetchone()[0]
        weight = weight_of(use.outcome, before)
        mean = self._mean(db, fact["id"], now)
        self._facts.observe_use(fact["id"], use.outcome is LineOutcome.USED, weight, now)
        db.execute(
            "INSERT OR IGNORE INTO trust_moves(at, turn_id, fact_id, outcome, weight, mean_before, mean_after)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (now, turn_id, fact["id"], use.outcome.value, weight, mean, self._mean(db, fact["id"], now)),
        )
        if use.outcome is LineOutcome.CONTRADICTED:
            self._mark_for_review(db, use, fact["id"], turn_id, now)

    def _judged_explicitly(self, db: sqlite3.Connection, fact_id: int, turn_id: str) -> bool:
        """The agent or the user gave a verdict in this very turn: that is what counts."""
        found = db.execute(
            "SELECT 1 FROM fact_changes WHERE fact_id = ? AND turn = ? AND action = 'feedback' AND undone_at IS NULL",
            (fact_id, turn_id),
        )
        return found.fetchone() is not None

    def _mean(self, db: sqlite3.Connection, fact_id: int, now: float) -> float:
        row = db.execute("SELECT support, against, evidence_at FROM facts WHERE id = ?", (fact_id,)).fetchone()
        evidence = trust.Evidence(row["support"], row["against"], row["evidence_at"])
        return trust.posterior(evidence, now, self._facts.half_life_days).mean

    def _mark_for_review(self, db: sqlite3.Connection, use: Use, fact_id: int, turn_id: str, now: float) -> None:
        db.execute(
            "INSERT OR REPLACE INTO fact_reviews(fact_id, at, turn_id, tool, evidence) VALUES(?, ?, ?, ?, ?)",
            (fact_id, now, turn_id, use.method, redact(use.evidence)[0][:_EVIDENCE_CHARS]),
        )


def under_review(store: Store, scope: str = "") -> list[Row]:
    """Live facts that a tool spoke against and nobody has judged since, newest first; of one scope if named."""
    return store.rows(
        "SELECT r.*, f.handle, f.text, f.scope FROM fact_reviews r JOIN facts f ON f.id = r.fact_id"
        " WHERE f.superseded_by IS NULL AND f.removed_at IS NULL AND (? = '' OR f.scope = ?)"
        " AND NOT EXISTS(SELECT 1 FROM fact_changes c WHERE c.fact_id = f.id AND c.at > r.at AND c.undone_at IS NULL)"
        " ORDER BY r.at DESC",
        (scope, scope),
    )


def review_notes(store: Store, passage_ids: Sequence[str]) -> dict[str, str]:
    """`terminal said otherwise on 2026-11-30`, by the passage of each live fact that waits for a review."""
    waiting = {f"fact:{row['fact_id']}": row for row in under_review(store)}
    if not waiting:
        return {}
    marks = ",".join("?" * len(passage_ids))
    rows = store.rows(f"SELECT id, source FROM passages WHERE id IN ({marks})", tuple(passage_ids))
    return {
        row["id"]: f"{waiting[row['source']]['tool']} said otherwise on {day_of(waiting[row['source']]['at'])}"
        for row in rows
        if row["source"] in waiting
    }
