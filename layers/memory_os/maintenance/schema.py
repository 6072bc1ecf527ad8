"""The tables of maintenance: the state of every duty, what its runs changed, pairs for review, the canary's history.

They hold ids and figures, nobody's words: what is forgotten elsewhere takes its rows here along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

maintenance = Migrations("maintenance")


@maintenance()
def m001_duties(db: Database) -> None:
    db.conn.execute(
        """
        CREATE TABLE duties(
            name TEXT PRIMARY KEY,
            last_at REAL,                        -- the last run that was meant to act
            due_at REAL NOT NULL,
            state TEXT NOT NULL DEFAULT '',      -- ok, degraded, failed
            result TEXT NOT NULL DEFAULT '',
            error TEXT NOT NULL DEFAULT '',
            milliseconds REAL,
            failures INTEGER NOT NULL DEFAULT 0, -- in a row
            alerted INTEGER NOT NULL DEFAULT 0   -- 1 while a failure that was told has not ended
        ) WITHOUT ROWID
        """
    )
    db.conn.execute(
        """
        CREATE TABLE duty_runs(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            duty TEXT NOT NULL,
            at REAL NOT NULL,
            state TEXT NOT NULL,
            result TEXT NOT NULL DEFAULT '',
            undone_at REAL
        )
        """
    )
    db.conn.execute("CREATE INDEX duty_runs_at ON duty_runs(duty, at)")
    # What a run changed: a passage that was archived, or a fact (`fact_id`) that gave way to another (`other_id`).
    db.conn.execute(
        """
        CREATE TABLE duty_steps(
            run_id INTEGER NOT NULL REFERENCES duty_runs(id) ON DELETE CASCADE,
            passage_id TEXT NOT NULL DEFAULT '',
            fact_id INTEGER REFERENCES facts(id) ON DELETE CASCADE,
            other_id INTEGER REFERENCES facts(id) ON DELETE CASCADE
        )
        """
    )
    db.conn.execute("CREATE INDEX duty_steps_run ON duty_steps(run_id)")
    db.conn.execute("CREATE INDEX duty_steps_passage ON duty_steps(passage_id)")
    db.conn.execute("CREATE INDEX duty_steps_fact ON duty_steps(fact_id)")
    db.conn.execute("CREATE INDEX duty_steps_other ON duty_steps(other_id)")


@maintenance()
def m002_reviews(db: Database) -> None:
    """Pairs of facts that may say the same. `decision` is '' (open), merged, or apart (for good)."""
    db.conn.execute(
        """
        CREATE TABLE reviews(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            a INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            b INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            found_at REAL NOT NULL,
            likeness REAL NOT NULL,
            decision TEXT NOT NULL DEFAULT '',
            decided_at REAL,
            UNIQUE(a, b),
            CHECK(a < b)
        )
        """
    )
    db.conn.execute("CREATE INDEX reviews_b ON reviews(b)")


@maintenance()
def m003_proofs(db: Database) -> None:
    db.conn.execute(
        """
        CREATE TABLE canary_runs(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            state TEXT NOT NULL,
            detail TEXT NOT NULL,
            milliseconds REAL NOT NULL
        )
        """
    )
    db.conn.execute("CREATE INDEX canary_runs_at ON canary_runs(at)")
    # Full backups by folder, those outside the home too: forgetting must reach them, or say that it can't.
    db.conn.execute(
        """
        CREATE TABLE backup_sets(
            path TEXT PRIMARY KEY,
            at REAL NOT NULL,
            bytes INTEGER NOT NULL,
            verified TEXT NOT NULL DEFAULT ''
        ) WITHOUT ROWID
        """
    )
