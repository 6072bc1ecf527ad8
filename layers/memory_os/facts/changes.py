"""The log of steps that can be taken back. One row a step, with what it changed as it was before."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from memory_os.facts.fact import Fact, Statement


@dataclass(frozen=True, slots=True)
class Change:
    """One step on `fact_id` (and `other_id`, what took its place).

    `action` is add, merge, supersede, edit, remove or feedback; `detail` is what undoing it needs.
    """

    action: str
    fact_id: int
    other_id: int | None = None
    turn: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    id: int = 0
    at: float = 0.0


def log_change(db: sqlite3.Connection, change: Change, now: float) -> None:
    db.execute(
        "INSERT INTO fact_changes(at, action, fact_id, other_id, turn, detail) VALUES(?, ?, ?, ?, ?, ?)",
        (now, change.action, change.fact_id, change.other_id, change.turn, json.dumps(change.detail, sort_keys=True)),
    )


def last_change(db: sqlite3.Connection, fact_id: int) -> Change | None:
    """The latest step that concerned this fact and still stands."""
    row = db.execute(
        "SELECT * FROM fact_changes WHERE (fact_id = ? OR other_id = ?) AND undone_at IS NULL ORDER BY id DESC LIMIT 1",
        (fact_id, fact_id),
    ).fetchone()
    if row is None:
        return None
    return Change(
        row["action"], row["fact_id"], row["other_id"], row["turn"], json.loads(row["detail"]), row["id"], row["at"]
    )


def mark_undone(db: sqlite3.Connection, change: Change, now: float) -> None:
    db.execute("UPDATE fact_changes SET undone_at = ? WHERE id = ?", (now, change.id))


def same_occasion(db: sqlite3.Connection, fact: Fact, statement: Statement, now: float) -> bool:
    """Whether the fact was already stated in this turn, or at this moment by this way: a replay, not new evidence."""
    if statement.evidence and fact.evidence == statement.evidence:
        return True
    if fact.created_at == now and fact.origin == statement.origin:
        return True
    found = db.execute(
        "SELECT 1 FROM fact_changes WHERE fact_id = ? AND action IN ('merge', 'supersede') AND undone_at IS NULL"
        " AND ((? <> '' AND turn = ?) OR (at = ? AND json_extract(detail, '$.origin') = ?))",
        (fact.id, statement.evidence, statement.evidence, now, statement.origin),
    ).fetchone()
    return found is not None


def same_verdict(db: sqlite3.Connection, fact_id: int, turn: str, detail: dict[str, Any]) -> bool:
    """Whether this turn gave this verdict already."""
    found = db.execute(
        "SELECT 1 FROM fact_changes WHERE fact_id = ? AND action = 'feedback' AND ? <> '' AND turn = ? AND detail = ?"
        " AND undone_at IS NULL",
        (fact_id, turn, turn, json.dumps(detail, sort_keys=True)),
    ).fetchone()
    return found is not None


def restated_texts(db: sqlite3.Connection, fact_id: int) -> list[str]:
    """The wordings that were merged into a fact."""
    rows = db.execute("SELECT detail FROM fact_changes WHERE fact_id = ? AND action = 'merge'", (fact_id,))
    return [str(json.loads(row["detail"])["text"]) for row in rows]
