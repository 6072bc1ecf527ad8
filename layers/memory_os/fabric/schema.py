"""The fabric's tables: what each file of FABRIC_DIR said when it was last read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

fabric = Migrations("fabric")


@fabric()
def m001_entries(db: Database) -> None:
    """`key` names the entry in the index (`fabric:<key>`); `ref` is `agent:id`, which a copy of a file repeats.
    `tier` is ours; `modified_ns` is -1 while a file is too young for its time to tell two states of it apart."""
    db.conn.execute(
        """
        CREATE TABLE fabric_entries(
            path TEXT PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            ref TEXT NOT NULL,
            id TEXT NOT NULL,
            agent TEXT NOT NULL,
            platform TEXT NOT NULL,
            type TEXT NOT NULL,
            summary TEXT NOT NULL,
            status TEXT NOT NULL,
            outcome TEXT NOT NULL,
            tier TEXT NOT NULL,
            tags TEXT NOT NULL,
            project TEXT NOT NULL,
            session_id TEXT NOT NULL,
            review_of TEXT NOT NULL,
            revises TEXT NOT NULL,
            curates TEXT NOT NULL,
            customer_id TEXT NOT NULL,
            assigned_to TEXT NOT NULL,
            training_value TEXT NOT NULL,
            verified TEXT NOT NULL,
            source_tool TEXT NOT NULL,
            created_at REAL NOT NULL,
            body_hash TEXT NOT NULL,
            problem TEXT NOT NULL,
            size INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            sha256 TEXT NOT NULL
        )
        """
    )
    db.conn.execute("CREATE INDEX fabric_entries_ref ON fabric_entries(ref)")
    db.conn.execute("CREATE INDEX fabric_entries_id ON fabric_entries(id)")
    db.conn.execute("CREATE INDEX fabric_entries_review_of ON fabric_entries(review_of) WHERE review_of != ''")
    db.conn.execute("CREATE INDEX fabric_entries_revises ON fabric_entries(revises) WHERE revises != ''")
    db.conn.execute("CREATE INDEX fabric_entries_curates ON fabric_entries(curates) WHERE curates != ''")


@fabric()
def m002_skipped(db: Database) -> None:
    """Files that hold no entry for us, each counted once for each state it is in."""
    db.conn.execute(
        """
        CREATE TABLE fabric_skipped(
            path TEXT PRIMARY KEY,
            reason TEXT NOT NULL,
            size INTEGER NOT NULL DEFAULT -1,
            modified_ns INTEGER NOT NULL DEFAULT -1
        )
        """
    )
    # What was forgotten here doesn't come back from another instance's copy.
    db.conn.execute("CREATE TABLE fabric_forgotten(ref TEXT PRIMARY KEY, at REAL NOT NULL)")
