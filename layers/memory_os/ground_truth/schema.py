"""What layer 7 keeps: look-ups with their verdicts, what became of each injected line, misses, trust, facts to review.

Ids only, beside the redacted question of a look-up and a redacted piece of the tool's output that spoke against a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

ground_truth = Migrations("ground_truth")


@ground_truth()
def m001_measuring(db: Database) -> None:
    for column in (
        "action TEXT NOT NULL DEFAULT ''",  # '', pointed, held
        "handle TEXT NOT NULL DEFAULT ''",  # the injected line that answers it
        "reason TEXT NOT NULL DEFAULT ''",
        "call_key TEXT NOT NULL DEFAULT ''",  # hash of tool and arguments
        "result_tokens INTEGER NOT NULL DEFAULT 0",
        "check_ms REAL",
    ):
        db.conn.execute(f"ALTER TABLE tool_calls ADD COLUMN {column}")
    db.conn.execute("CREATE INDEX tool_calls_turn ON tool_calls(turn_id)")
    db.conn.execute(
        """
        CREATE TABLE line_uses(
            turn_id TEXT NOT NULL REFERENCES recalls(turn_id) ON DELETE CASCADE,
            passage_id TEXT NOT NULL,
            at REAL NOT NULL,
            layer TEXT NOT NULL,
            outcome TEXT NOT NULL,               -- used, ignored, contradicted
            method TEXT NOT NULL DEFAULT '',
            PRIMARY KEY(turn_id, passage_id)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX line_uses_at ON line_uses(at)")
    db.conn.execute("CREATE INDEX line_uses_passage ON line_uses(passage_id)")
    db.conn.execute(
        """
        CREATE TABLE misses(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            turn_id TEXT NOT NULL,
            call_id INTEGER NOT NULL REFERENCES tool_calls(id) ON DELETE CASCADE,
            passage_id TEXT NOT NULL
        )
        """
    )
    db.conn.execute("CREATE INDEX misses_at ON misses(at)")
    db.conn.execute("CREATE INDEX misses_call ON misses(call_id)")
    db.conn.execute(
        """
        CREATE TABLE trust_moves(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            turn_id TEXT NOT NULL,
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            outcome TEXT NOT NULL,               -- used, contradicted
            weight REAL NOT NULL,
            mean_before REAL NOT NULL,
            mean_after REAL NOT NULL,
            UNIQUE(turn_id, fact_id)
        )
        """
    )
    db.conn.execute("CREATE INDEX trust_moves_fact ON trust_moves(fact_id, at)")
    db.conn.execute(
        """
        CREATE TABLE fact_reviews(
            fact_id INTEGER PRIMARY KEY REFERENCES facts(id) ON DELETE CASCADE,
            at REAL NOT NULL,
            turn_id TEXT NOT NULL,
            tool TEXT NOT NULL,
            evidence TEXT NOT NULL               -- a redacted piece of what the tool said
        )
        """
    )
