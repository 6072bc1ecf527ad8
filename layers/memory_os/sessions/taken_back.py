"""What a person took back in mid-session ("forget that"): it leaves the index at once, and is forgotten in the background.

Which turn is meant is never guessed: only the one that stood directly before the order in the host's own window, by the
hash of its words, and that is the last one captured there of this person.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory_os.memory import Scope
from memory_os.sessions.archive import WITHDRAWN, Archive
from memory_os.store import Row, Store, tombstones

RowOf = Callable[[str, Sequence[str]], Row | None]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A turn that is to be forgotten."""

    scope: str
    turn_id: str


def preceding(row: RowOf, session_id: str, scope: str, before: str) -> Row | None:
    """The user message of the turn whose words have the hash `before`, if no other came after it in this conversation.

    The last one by the time it was said, or by the order in which they came: a clock may have been set back meanwhile.
    `row` gives the first row of a SELECT: of the caller's transaction, or of a reader that waits for no write.
    """
    for order in ("said_at DESC, id DESC", "id DESC"):
        last = row(
            "SELECT * FROM messages WHERE lineage = coalesce((SELECT lineage FROM conversations WHERE session_id = ?), ?)"
            f" AND role = 'user' AND scope = ? AND turn_id <> '' ORDER BY {order} LIMIT 1",
            (session_id, session_id, scope),
        )
        if last is not None and before and last["content_hash"] == before:
            return last if last["standing"] != WITHDRAWN else None
    return None


def take_back(
    archive: Archive, db: sqlite3.Connection, session_id: str, scope: Scope, before: str, order: tuple[str, str], now: float
) -> bool:
    """Withdraw the turn before an order, in the caller's transaction. False when it is not surely the one that is meant.

    `order`: hashes of the order and of its answer, which may say again what was taken back; neither is imported later.
    """
    meant = preceding(lambda sql, values: db.execute(sql, values).fetchone(), session_id, scope.key, before)
    if meant is None:
        return False
    rows = db.execute("SELECT * FROM messages WHERE turn_id = ? AND scope = ?", (meant["turn_id"], scope.key)).fetchall()
    archive.withdraw(db, rows)
    db.execute(
        "INSERT OR IGNORE INTO taken_back(scope, turn_id, at) VALUES(?, ?, ?)", (scope.key, meant["turn_id"], now)
    )
    tombstones.bury(db, scope.key, order, now)
    return True


def waiting(store: Store) -> list[TakenBack]:
    """What is yet to be forgotten, oldest first."""
    return [TakenBack(row["scope"], row["turn_id"]) for row in store.rows("SELECT * FROM taken_back ORDER BY at")]


def done(store: Store, one: TakenBack) -> None:
    with store.write() as db:
        db.execute("DELETE FROM taken_back WHERE scope = ? AND turn_id = ?", (one.scope, one.turn_id))
