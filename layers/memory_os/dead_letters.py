"""Jobs that failed for good: kept with their payload in memory.db until somebody requeues or drops them.

A letter carries names and hashes, never what was said.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memory_os.errors import BadRequest
from memory_os.store import Row, Store
from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["DeadLetter", "DeadLetters", "dead_letters"]

_MESSAGE_MAX = 500

dead_letters = Migrations("dead_letters")


@dead_letters()
def m001_dead_letters(db: Database) -> None:
    """`job`: the job's deterministic id, so that one that fails again is the same letter."""
    db.conn.execute(
        """
        CREATE TABLE dead_letters(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            job TEXT NOT NULL UNIQUE,
            function TEXT NOT NULL,
            payload TEXT NOT NULL,
            error TEXT NOT NULL,
            message TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            first_at REAL NOT NULL,
            last_at REAL NOT NULL
        )
        """
    )


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One failed job. `payload`: its arguments; `error`: the class; times in epoch seconds."""

    id: int
    job: str
    function: str
    payload: list[Any]
    error: str
    message: str
    attempts: int
    first_at: float
    last_at: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class DeadLetters:
    """Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, job: str, function: str, payload: Sequence[Any], error: str, message: str, attempts: int) -> int:
        """Keep a job that failed for good. Returns its number; the same job again moves its attempts and its time."""
        now = time.time()
        with self._store.write() as db:
            db.execute(
                "INSERT INTO dead_letters(job, function, payload, error, message, attempts, first_at, last_at)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(job) DO UPDATE SET error = excluded.error,"
                " message = excluded.message, attempts = attempts + excluded.attempts, last_at = excluded.last_at",
                (job, function, json.dumps(list(payload)), error, message[:_MESSAGE_MAX], attempts, now, now),
            )
            (number,) = db.execute("SELECT id FROM dead_letters WHERE job = ?", (job,)).fetchone()
            self._store.count("jobs_dead", reason=f"{function}: {error}: {message}")
        return int(number)

    def all(self) -> list[DeadLetter]:
        """Oldest first."""
        return [_letter(row) for row in self._store.rows("SELECT * FROM dead_letters ORDER BY id")]

    def one(self, number: int) -> DeadLetter:
        """Raises BadRequest if there is none of that number."""
        row = self._store.row("SELECT * FROM dead_letters WHERE id = ?", (number,))
        if row is None:
            raise BadRequest(f"There is no dead letter {number}.", cure="`memory-os dlq list` shows them.")
        return _letter(row)

    def remove(self, number: int) -> DeadLetter:
        """Take one out. Raises BadRequest if there is none of that number."""
        letter = self.one(number)
        with self._store.write() as db:
            db.execute("DELETE FROM dead_letters WHERE id = ?", (number,))
        return letter

    def supersede(self, function: str, subject: str) -> None:
        """The subject (a job's first argument, e.g. a file's name) was dealt with in a later state: its letters go."""
        # The payload as `add` writes it: the quotation mark that ends the subject makes the beginning tell it from others.
        begins = json.dumps([subject])[:-1]
        settled = "function = ? AND substr(payload, 1, length(?)) = ?"
        wanted = (function, begins, begins)
        # Asked for each document that is taken in; there seldom is one, and a write waits for its turn.
        if self._store.row(f"SELECT 1 FROM dead_letters WHERE {settled} LIMIT 1", wanted) is not None:
            with self._store.write() as db:
                db.execute(f"DELETE FROM dead_letters WHERE {settled}", wanted)

    def hashes(self) -> frozenset[str]:
        """The texts whose embedding failed for good; nobody tries them again until their letter is gone."""
        rows = self._store.rows("SELECT payload FROM dead_letters WHERE function = 'embed'")
        return frozenset(one for row in rows for payload in json.loads(row["payload"]) for one in payload)

    def count(self) -> int:
        return int(self._store.value("SELECT count(*) FROM dead_letters"))


def _letter(row: Row) -> DeadLetter:
    return DeadLetter(
        id=row["id"], job=row["job"], function=row["function"], payload=json.loads(row["payload"]), error=row["error"],
        message=row["message"], attempts=row["attempts"], first_at=row["first_at"], last_at=row["last_at"],
    )  # fmt: skip
