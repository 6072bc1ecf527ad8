"""One row a file that was ever ingested: what it held then, and how it went."""

from __future__ import annotations

from sqlite_utils import Database, Migrations

__all__ = ["documents"]

documents = Migrations("documents")


@documents()
def m001_documents(db: Database) -> None:
    """`path` is relative to the vault if the file lies there, else absolute; `document:<path>` is its source."""
    db.conn.execute(
        """
        CREATE TABLE documents(
            path TEXT PRIMARY KEY,
            sha256 TEXT NOT NULL,
            chunker TEXT NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            title TEXT NOT NULL,
            status TEXT NOT NULL,  -- ok, skipped
            reason TEXT NOT NULL DEFAULT '',
            chunks INTEGER NOT NULL,
            ingested_at REAL NOT NULL
        ) WITHOUT ROWID
        """
    )
