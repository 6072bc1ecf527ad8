"""What was forgotten, by hash and whose it was: no import, replay or second ingest brings it back.

Keys have the scope in them: one person's forgetting never blocks another's words. Functions that take `db` run inside
the caller's write transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from memory_os.memory import content_hash

__all__ = ["FORGETTINGS", "bury", "count_forgetting", "forgotten_at", "forgotten_of", "is_forgotten", "key"]


# How often something was forgotten, in `meta`: what was cached before the last time may quote it.
FORGETTINGS = "forgettings"


def key(scope: str, text_hash: str) -> str:
    """What the table holds for a text that was forgotten in a scope (`Scope.key`, or SHARED_SCOPE for documents)."""
    return content_hash(f"{scope}\n{text_hash}")


def bury(db: sqlite3.Connection, scope: str, hashes: Iterable[str], now: float) -> None:
    """Note texts as forgotten at `now`; one that was forgotten before counts as forgotten anew."""
    db.executemany(
        "INSERT INTO tombstones(hash, forgotten_at) VALUES(?, ?)"
        " ON CONFLICT(hash) DO UPDATE SET forgotten_at = max(forgotten_at, excluded.forgotten_at)",
        [(key(scope, one), now) for one in hashes],
    )


def forgotten_at(db: sqlite3.Connection, scope: str, text_hash: str) -> float | None:
    """When a text was last forgotten in this scope, or None."""
    row = db.execute("SELECT forgotten_at FROM tombstones WHERE hash = ?", (key(scope, text_hash),)).fetchone()
    return None if row is None else float(row["forgotten_at"])


def forgotten_of(db: sqlite3.Connection, scopes: Iterable[str], text_hash: str) -> float | None:
    """When a text was last forgotten in any of these scopes (`Scope.own`: all names of a person), or None."""
    return max((at for one in scopes if (at := forgotten_at(db, one, text_hash)) is not None), default=None)


def is_forgotten(db: sqlite3.Connection, scope: str, text_hash: str, said_at: float) -> bool:
    """Whether something was said before its text was forgotten. Said again afterwards, it counts again."""
    forgotten = forgotten_at(db, scope, text_hash)
    return forgotten is not None and said_at <= forgotten


def count_forgetting(db: sqlite3.Connection) -> None:
    """Something has gone: with the same commit every cached answer is out of date."""
    db.execute(
        "INSERT INTO meta(key, value) VALUES(?, '1') ON CONFLICT(key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        (FORGETTINGS,),
    )
