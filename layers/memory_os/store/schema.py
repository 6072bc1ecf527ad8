"""The tables that belong to no layer: passages and their embeddings, the ledger of injections, counters.

A layer's own tables stand in its own module (`facts/schema.py`, …), as a `Migrations` set of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

# Raised when a migration makes the file unreadable for the version before.
SCHEMA_VERSION = 1

base = Migrations("base")


@base()
def m001_index(db: Database) -> None:
    """The shared index. `pk` is the FTS rowid; `embed_hash` finds the embedding of exactly this text in its context."""
    db.conn.execute(
        """
        CREATE TABLE passages(
            pk INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: an embedder may still be at work on a replaced row
            id TEXT NOT NULL UNIQUE,
            handle TEXT NOT NULL,
            layer TEXT NOT NULL,
            source TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL DEFAULT '',
            kind TEXT NOT NULL DEFAULT '',
            author TEXT NOT NULL,
            title TEXT NOT NULL DEFAULT '',
            text TEXT NOT NULL,
            context TEXT NOT NULL DEFAULT '',
            content_hash TEXT NOT NULL,
            embed_hash TEXT NOT NULL,
            created_at REAL NOT NULL,
            valid_from REAL,
            valid_to REAL,
            trust REAL,
            importance REAL NOT NULL DEFAULT 0.5,
            flagged TEXT NOT NULL DEFAULT '',
            archived INTEGER NOT NULL DEFAULT 0,
            uses INTEGER NOT NULL DEFAULT 0,
            last_used_at REAL,
            indexed INTEGER NOT NULL DEFAULT 0  -- 1 once its vector stands in the collection; 2: it is to have none (index/closed.py)
        )
        """
    )
    db.conn.execute("CREATE INDEX passages_source ON passages(source, ordinal)")
    db.conn.execute("CREATE INDEX passages_embedding ON passages(embed_hash)")
    db.conn.execute("CREATE INDEX passages_handle ON passages(handle)")
    db.conn.execute("CREATE INDEX passages_session ON passages(session_id, created_at)")
    db.conn.execute("CREATE INDEX passages_scope ON passages(scope, archived, layer)")
    db.conn.execute("CREATE INDEX passages_unindexed ON passages(pk) WHERE indexed = 0")
    db.conn.execute(
        'CREATE VIRTUAL TABLE passages_fts USING fts5(body, neighbours, tokenize = "porter unicode61 remove_diacritics 2")'
    )
    db.conn.execute("CREATE VIRTUAL TABLE passages_terms USING fts5vocab(passages_fts, 'row')")
    db.conn.execute(
        """
        CREATE TABLE embeddings(
            hash TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            vector BLOB NOT NULL,  -- float16, little endian, unit length
            PRIMARY KEY(hash, fingerprint)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE TABLE deleted_points(id TEXT PRIMARY KEY)")
    # What was forgotten stays forgotten: an import from the host's own files skips these hashes.
    db.conn.execute("CREATE TABLE tombstones(hash TEXT PRIMARY KEY, forgotten_at REAL NOT NULL)")


@base()
def m002_ledger(db: Database) -> None:
    db.conn.execute(
        """
        CREATE TABLE recalls(
            turn_id TEXT PRIMARY KEY,
            session_id TEXT NOT NULL,
            scope TEXT NOT NULL,
            platform TEXT NOT NULL DEFAULT '',
            at REAL NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL DEFAULT '',
            milliseconds REAL NOT NULL,
            tokens INTEGER NOT NULL DEFAULT 0,
            arms TEXT NOT NULL DEFAULT '{}'
        )
        """
    )
    db.conn.execute("CREATE INDEX recalls_at ON recalls(at)")
    db.conn.execute("CREATE INDEX recalls_session ON recalls(session_id, at)")
    db.conn.execute(
        """
        CREATE TABLE recall_lines(
            turn_id TEXT NOT NULL REFERENCES recalls(turn_id) ON DELETE CASCADE,
            rank INTEGER NOT NULL,
            passage_id TEXT NOT NULL,
            shown INTEGER NOT NULL,
            reason TEXT NOT NULL DEFAULT '',
            scores TEXT NOT NULL DEFAULT '{}',
            PRIMARY KEY(turn_id, passage_id)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX recall_lines_passage ON recall_lines(passage_id)")


@base()
def m003_figures(db: Database) -> None:
    db.conn.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    db.conn.execute(
        "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL, last_at REAL, last_reason TEXT NOT NULL DEFAULT '')"
    )
    db.conn.execute(
        """
        CREATE TABLE tool_calls(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            session_id TEXT NOT NULL,
            turn_id TEXT NOT NULL DEFAULT '',
            scope TEXT NOT NULL DEFAULT '',
            tool TEXT NOT NULL,
            query TEXT NOT NULL DEFAULT '',
            verdict TEXT NOT NULL DEFAULT '',
            milliseconds REAL
        )
        """
    )
    db.conn.execute("CREATE INDEX tool_calls_at ON tool_calls(at)")


@base()
def m004_stored_form(db: Database) -> None:
    """Full text keeps the vowels of Thai and its neighbours, and Arabic and Russian words without their inflection."""
    if db.conn.execute("SELECT 1 FROM passages LIMIT 1").fetchone() is None:
        return
    from memory_os.text.terms import stored_form

    changed = []
    for row, body, neighbours in db.conn.execute("SELECT rowid, body, neighbours FROM passages_fts"):
        stored = (stored_form(body), stored_form(neighbours))
        if stored != (body, neighbours):
            changed.append((*stored, row))
    db.conn.executemany("UPDATE passages_fts SET body = ?, neighbours = ? WHERE rowid = ?", changed)


@base()
def m005_closed(db: Database) -> None:
    """What is archived or over has no point (`indexed` = 2). The indexes hold what is to change: looked at each second."""
    db.conn.execute("CREATE INDEX passages_archived ON passages(pk) WHERE archived = 1 AND indexed < 2")
    db.conn.execute("CREATE INDEX passages_ending ON passages(valid_to) WHERE valid_to IS NOT NULL AND indexed < 2")
    db.conn.execute("CREATE INDEX passages_closed ON passages(valid_to) WHERE indexed = 2 AND archived = 0")
