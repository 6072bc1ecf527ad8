"""The archive of what was said. It outlives the host's own sessions, which newer hosts prune."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

sessions = Migrations("sessions")


@sessions()
def m001_messages(db: Database) -> None:
    """`host_*` name the row of Hermes's state.db, `turn_id` the captured turn; a message seen both ways has both.

    AUTOINCREMENT: a forgotten message's number, and so its `message:<id>`, is never given to another.
    """
    db.conn.execute(
        """
        CREATE TABLE messages(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL,
            lineage TEXT NOT NULL,       -- the conversation's first session id
            role TEXT NOT NULL CHECK(role IN ('user', 'assistant')),
            text TEXT NOT NULL,          -- cleaned and redacted
            content_hash TEXT NOT NULL,  -- of the message as the host has it
            said_at REAL NOT NULL,
            turn_id TEXT NOT NULL DEFAULT '',
            host_id INTEGER,
            host_ts REAL,
            host_uid TEXT,
            scope TEXT NOT NULL,
            platform TEXT NOT NULL DEFAULT '',
            project TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '',
            context TEXT NOT NULL DEFAULT '',
            standing TEXT NOT NULL       -- indexed, repeat, trivial, narration, withdrawn
        )
        """
    )
    db.conn.execute("CREATE UNIQUE INDEX messages_turn ON messages(turn_id, role) WHERE turn_id <> ''")
    db.conn.execute("CREATE UNIQUE INDEX messages_host ON messages(host_id) WHERE host_id IS NOT NULL")
    db.conn.execute("CREATE INDEX messages_same ON messages(lineage, role, content_hash)")
    db.conn.execute("CREATE INDEX messages_latest ON messages(lineage, role)")
    db.conn.execute("CREATE INDEX messages_order ON messages(lineage, role, said_at)")
    db.conn.execute("CREATE INDEX messages_session ON messages(session_id, id)")
    db.conn.execute("CREATE INDEX messages_hash ON messages(content_hash)")
    db.conn.execute("CREATE INDEX messages_uid ON messages(host_uid) WHERE host_uid IS NOT NULL")


@sessions()
def m002_conversations(db: Database) -> None:
    """What is known of each session id, and when its memory was switched off."""
    db.conn.execute(
        """
        CREATE TABLE conversations(
            session_id TEXT PRIMARY KEY,
            lineage TEXT NOT NULL,
            rewinds INTEGER NOT NULL DEFAULT 0,   -- the host's rewind_count when we last looked
            archived INTEGER NOT NULL DEFAULT 0,  -- put away by the user in the host
            host_seen INTEGER NOT NULL DEFAULT 0  -- 1: it stood in state.db when we last looked
        )
        """
    )
    db.conn.execute("CREATE INDEX conversations_lineage ON conversations(lineage)")
    db.conn.execute("CREATE TABLE off_periods(digest TEXT NOT NULL, since REAL NOT NULL, until REAL)")
    db.conn.execute("CREATE INDEX off_periods_digest ON off_periods(digest)")


@sessions()
def m003_turns_of_each(db: Database) -> None:
    """A turn id is the host's word; two people's turns may have the same one."""
    db.conn.execute("DROP INDEX messages_turn")
    db.conn.execute("CREATE UNIQUE INDEX messages_turn ON messages(turn_id, scope, role) WHERE turn_id <> ''")


@sessions()
def m004_taken_back(db: Database) -> None:
    """Turns that their person took back and that are yet to be forgotten everywhere. They hold no text."""
    db.conn.execute(
        "CREATE TABLE taken_back(scope TEXT NOT NULL, turn_id TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY(scope, turn_id))"
        " WITHOUT ROWID"
    )
