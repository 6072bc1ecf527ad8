"""What was read and what came of it, what failed, what was given up: the tables of understanding.

`understood_turns` has each turn that needs no reading any more with why, `understood_items` each admitted item with the turn
it rests on, `understanding_sessions` what is known of a session: its end, and the failures of its reading.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_os.index import Index
from memory_os.memory import Passage
from memory_os.store import Row, Store

if TYPE_CHECKING:
    from memory_os.understanding.keeping import Kept

__all__ = ["Understood"]

# What a model said and nobody can use: the turns wait for 10 min, 20, 40 …
_RETRY_S = 600.0
_RETRY_MAX_S = 6 * 3600.0
_SAMPLE_CHARS = 300


class Understood:
    """Thread-safe. What takes `db` writes in the caller's transaction."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index

    # -- turns and sessions --------------------------------------------------------------------------------------------

    def ended(self, session_id: str, at: float) -> None:
        """A session is over, whoever spoke in it."""
        with self._store.write() as db:
            db.execute(
                "INSERT INTO understanding_sessions(scope, session_id, ended_at) VALUES('', ?, ?)"
                " ON CONFLICT(scope, session_id) DO UPDATE SET ended_at = excluded.ended_at",
                (session_id, at),
            )

    def is_done(self, db: sqlite3.Connection, scope: str, turn_id: str) -> bool:
        found = db.execute("SELECT 1 FROM understood_turns WHERE scope = ? AND turn_id = ?", (scope, turn_id)).fetchone()
        return found is not None

    def mark_done(
        self, db: sqlite3.Connection, scope: str, session_id: str, outcomes: Mapping[str, str], now: float
    ) -> None:  # fmt: skip
        """Turns, by id, that need no reading any more, with why."""
        db.executemany(
            "INSERT OR IGNORE INTO understood_turns(scope, turn_id, session_id, at, outcome) VALUES(?, ?, ?, ?, ?)",
            [(scope, turn, session_id, now, outcome) for turn, outcome in outcomes.items()],
        )

    def failed(self, scope: str, session_id: str, problem: str, now: float, *, retry_at: float, final: bool) -> int:
        """Put a session's turns off; returns how many failures in a row count against it (`final` ones do)."""
        with self._store.write() as db:
            db.execute(
                "INSERT OR IGNORE INTO understanding_sessions(scope, session_id) VALUES(?, ?)", (scope, session_id)
            )
            row = db.execute(
                "SELECT failures FROM understanding_sessions WHERE scope = ? AND session_id = ?", (scope, session_id)
            ).fetchone()
            failures = int(row["failures"]) + int(final)
            wait = min(_RETRY_S * 2.0 ** max(failures - 1, 0), _RETRY_MAX_S) if final else _RETRY_S / 10
            db.execute(
                "UPDATE understanding_sessions SET failures = ?, retry_at = ?, problem = ? WHERE scope = ? AND session_id = ?",
                (failures, max(retry_at, now + wait), problem[:300], scope, session_id),
            )
        return failures

    def recovered(self, db: sqlite3.Connection, scope: str, session_id: str) -> None:
        db.execute(
            "UPDATE understanding_sessions SET failures = 0, retry_at = 0, problem = '' WHERE scope = ? AND session_id = ?",
            (scope, session_id),
        )

    def outcomes(self, scope: str = "") -> dict[str, int]:
        """Turns by outcome; of everybody without a scope."""
        rows = self._store.rows(
            "SELECT outcome, count(*) AS n FROM understood_turns WHERE (:scope = '' OR scope = :scope) GROUP BY outcome",
            {"scope": scope},
        )
        return {row["outcome"]: row["n"] for row in rows}

    # -- items ---------------------------------------------------------------------------------------------------------

    def note(self, db: sqlite3.Connection, scope: str, session_id: str, kept: Sequence[Kept], now: float) -> None:
        """Admitted items, with what each became."""
        db.executemany(
            "INSERT INTO understood_items(at, scope, session_id, turn_id, kind, outcome, ref, confidence)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            [(now, scope, session_id, one.turn_id, one.kind, one.outcome, one.ref, one.confidence) for one in kept],
        )

    def items(self) -> int:
        return int(self._store.value("SELECT count(*) FROM understood_items"))

    def resting_on(self, turns: Sequence[str], scope: str) -> tuple[list[int], list[Passage]]:
        """(facts, passages of entries and lines) that were extracted from these turns."""
        facts: list[int] = []
        passages: list[Passage] = []
        for turn in turns:
            rows = self._store.rows(
                "SELECT ref FROM understood_items WHERE scope = ? AND turn_id = ? AND outcome <> 'strengthened'",
                (scope, turn),
            )
            for ref in dict.fromkeys(row["ref"] for row in rows):
                if ref.startswith("fact:"):
                    facts.append(int(ref.removeprefix("fact:")))
                else:
                    passages += self.passages(ref)
        return facts, passages

    def passages(self, ref: str) -> list[Passage]:
        """Those of an item that is no fact: an entry of the fabric, or a line of CREATIVE.md."""
        if ref.startswith("fabric:"):
            return self._index.of_source(ref)
        row = self._store.row("SELECT scope FROM passages WHERE id = ?", (ref,))
        found = None if row is None else self._index.by_handle(ref, [row["scope"]])
        return [] if found is None else [found]

    def sample(self, limit: int, scope: str = "", seed: int = 0) -> dict[str, Any]:
        """What was admitted, at random, with the turn each rests on: for a person to say what is junk.

        `seed` 0 draws another sample each time.
        """
        order = "random()" if not seed else f"(id * {int(seed) * 2 + 1}) % 1000003"
        rows = self._store.rows(
            f"SELECT * FROM understood_items WHERE (:scope = '' OR scope = :scope) ORDER BY {order} LIMIT :limit",
            {"scope": scope, "limit": limit},
        )
        counts = self._store.rows(
            "SELECT kind, outcome, count(*) AS n FROM understood_items WHERE (:scope = '' OR scope = :scope) GROUP BY kind, outcome",
            {"scope": scope},
        )
        return {
            "items": [shown for row in rows if (shown := self._shown(row)) is not None],
            "admitted": {f"{row['kind']} {row['outcome']}": row["n"] for row in counts},
            "turns": self.outcomes(scope),
        }

    def _shown(self, row: Row) -> dict[str, Any] | None:
        """One admitted item with its text and the person's words of its turn; None when it is gone."""
        if row["ref"].startswith("fact:"):
            text = self._store.value("SELECT text FROM facts WHERE id = ?", (int(row["ref"][5:]),))
        else:
            text = " ".join(one.text for one in self.passages(row["ref"])) or None
        said = self._store.value(
            "SELECT text FROM messages WHERE turn_id = ? AND scope = ? AND role = 'user'",
            (row["turn_id"], row["scope"]),
        )
        if text is None:
            return None
        return {
            "at": row["at"], "kind": row["kind"], "outcome": row["outcome"], "confidence": row["confidence"],
            "text": str(text)[:_SAMPLE_CHARS], "said": str(said or "")[:_SAMPLE_CHARS], "ref": row["ref"],
        }  # fmt: skip
