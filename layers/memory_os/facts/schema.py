"""The tables of the facts layer.

A fact row is never rewritten in its text: a correction is a new row that the old one points to (`superseded_by`), a
removal sets `removed_at`. `fact_changes` holds what is needed to take each step back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

facts = Migrations("facts")


@facts()
def m001_facts(db: Database) -> None:
    # AUTOINCREMENT: the id of a forgotten fact is never given to another, ledger lines and handles refer to it.
    db.conn.execute(
        """
        CREATE TABLE facts(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            handle TEXT NOT NULL DEFAULT '',
            scope TEXT NOT NULL,
            text TEXT NOT NULL,
            category TEXT NOT NULL,
            tags TEXT NOT NULL DEFAULT '[]',     -- JSON list
            author TEXT NOT NULL,
            evidence TEXT NOT NULL DEFAULT '',   -- the turn it was learned in
            origin TEXT NOT NULL DEFAULT '',     -- the tool, file or database it came by
            session_id TEXT NOT NULL DEFAULT '',
            normal TEXT NOT NULL,                -- likeness.normal_form
            near_key TEXT NOT NULL,              -- likeness.near_key
            subject TEXT NOT NULL DEFAULT '',    -- likeness.leading_term
            created_at REAL NOT NULL,
            valid_from REAL,
            valid_to REAL,
            superseded_by INTEGER REFERENCES facts(id),
            removed_at REAL,
            support REAL NOT NULL DEFAULT 0,     -- evidence as of `evidence_at`, see trust.py
            against REAL NOT NULL DEFAULT 0,
            evidence_at REAL NOT NULL,
            shown_trust REAL NOT NULL            -- the mean its passage carries
        )
        """
    )
    db.conn.execute("CREATE INDEX facts_scope ON facts(scope, created_at)")
    db.conn.execute("CREATE INDEX facts_near ON facts(scope, near_key)")
    db.conn.execute("CREATE INDEX facts_subject ON facts(scope, subject)")
    db.conn.execute("CREATE INDEX facts_handle ON facts(handle)")
    db.conn.execute("CREATE INDEX facts_superseded ON facts(superseded_by)")
    db.conn.execute(
        """
        CREATE TABLE fact_entities(
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,           -- 0 is what the fact is about, as far as it can be told
            key TEXT NOT NULL,                   -- entities.entity_key
            name TEXT NOT NULL,
            PRIMARY KEY(fact_id, key)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX fact_entities_key ON fact_entities(key, fact_id)")


@facts()
def m002_history(db: Database) -> None:
    db.conn.execute(
        """
        CREATE TABLE fact_changes(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            action TEXT NOT NULL,                -- add, merge, supersede, edit, remove, feedback
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            other_id INTEGER REFERENCES facts(id) ON DELETE CASCADE,
            turn TEXT NOT NULL DEFAULT '',
            detail TEXT NOT NULL DEFAULT '{}',   -- JSON: what the step changed, as it was before
            undone_at REAL
        )
        """
    )
    db.conn.execute("CREATE INDEX fact_changes_fact ON fact_changes(fact_id)")
    db.conn.execute("CREATE INDEX fact_changes_other ON fact_changes(other_id)")
    # A pair is found by overlap (`found_at`), marked as contradicting (`marked_at`, for good), or judged consistent.
    db.conn.execute(
        """
        CREATE TABLE fact_conflicts(
            a INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            b INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            found_at REAL NOT NULL,
            marked_at REAL,
            consistent_at REAL,
            PRIMARY KEY(a, b),
            CHECK(a < b)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX fact_conflicts_b ON fact_conflicts(b)")
    db.conn.execute(
        """
        CREATE TABLE fact_imports(
            scope TEXT NOT NULL,
            hash TEXT NOT NULL,                  -- content_hash of the text as the other database had it
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            PRIMARY KEY(scope, hash)
        ) WITHOUT ROWID
        """
    )
