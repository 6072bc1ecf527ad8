"""One row a file that was ever ingested: what it held then, and how it went; what is followed, and what is refused there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

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


@documents()
def m002_followed(db: Database) -> None:
    """Folders that are followed: what is new in them is taken in, what is gone from them leaves.

    `device` is the file system a folder stood on when it was last looked at: an empty folder on another one is the place
    where a drive is not mounted.
    """
    db.conn.execute(
        """
        CREATE TABLE followed(
            path TEXT PRIMARY KEY,  -- as in documents
            added_at REAL NOT NULL,
            device INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID
        """
    )


@documents()
def m003_refused(db: Database) -> None:
    """What is never read (a link, a folder that can't be listed), with the reason it was counted under: once, not at each start."""
    db.conn.execute(
        """
        CREATE TABLE refused(
            path TEXT PRIMARY KEY,  -- as in documents; a name that is not UTF-8 as people are shown it
            reason TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )
