"""What is remembered of understanding itself: which turns were read, what each item rests on, what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_os.store.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

understanding = Migrations("understanding")


@understanding()
def m001_ledger(db: Database) -> None:
    """A turn in `understood_turns` is never read again. Items hold no text: it stands where `ref` points."""
    db.conn.execute(
        """
        CREATE TABLE understood_turns(
            scope TEXT NOT NULL,
            turn_id TEXT NOT NULL,
            session_id TEXT NOT NULL,
            at REAL NOT NULL,
            outcome TEXT NOT NULL,               -- read, small talk, withdrawn, given up
            PRIMARY KEY(scope, turn_id)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute(
        """
        CREATE TABLE understood_items(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL,
            turn_id TEXT NOT NULL,
            kind TEXT NOT NULL,                  -- fact, conclusion, entry, learning, question
            outcome TEXT NOT NULL,               -- added, strengthened, superseded, history, proposed, contradiction
            ref TEXT NOT NULL,                   -- fact:<id>, fabric:<key>, or the id of a passage of CREATIVE.md
            confidence REAL NOT NULL
        )
        """
    )
    db.conn.execute("CREATE INDEX understood_items_turn ON understood_items(scope, turn_id)")
    db.conn.execute("CREATE INDEX understood_items_at ON understood_items(at)")
    db.conn.execute(
        """
        CREATE TABLE understanding_sessions(
            scope TEXT NOT NULL,                 -- '' for what is true of all who speak in it: ended_at
            session_id TEXT NOT NULL,
            ended_at REAL,                       -- when the host said that it is over
            failures INTEGER NOT NULL DEFAULT 0, -- in a row, of what the model said; a model that is away is none
            retry_at REAL NOT NULL DEFAULT 0,
            problem TEXT NOT NULL DEFAULT '',
            PRIMARY KEY(scope, session_id)
        ) WITHOUT ROWID
        """
    )


@understanding()
def m002_relations(db: Database) -> None:
    """What a fact says of what: by this a newer fact finds the one it replaces."""
    db.conn.execute(
        """
        CREATE TABLE fact_relations(
            fact_id INTEGER PRIMARY KEY REFERENCES facts(id) ON DELETE CASCADE,
            scope TEXT NOT NULL,
            subject TEXT NOT NULL,               -- entities.entity_key
            relation TEXT NOT NULL,              -- likewise
            several INTEGER NOT NULL             -- 1: it may hold several values at a time (likes, speaks)
        )
        """
    )
    db.conn.execute("CREATE INDEX fact_relations_key ON fact_relations(scope, subject, relation)")


@understanding()
def m003_people(db: Database) -> None:
    """What was reasoned about a person: lines of the card, answers to questions. Each rests on facts, and dies with any of
    them: a line holds words of its parents.
    """
    db.conn.execute(
        """
        CREATE TABLE person_thoughts(
            id INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            question TEXT NOT NULL DEFAULT '',   -- '' for the card
            asked_at REAL NOT NULL,
            made_at REAL,                        -- null while it waits for a model
            depth INTEGER NOT NULL,
            basis TEXT NOT NULL DEFAULT '',      -- hash of the conclusions it was made from
            retry_at REAL NOT NULL DEFAULT 0,
            UNIQUE(scope, question)
        )
        """
    )
    db.conn.execute(
        """
        CREATE TABLE person_lines(
            id INTEGER PRIMARY KEY,
            thought_id INTEGER NOT NULL REFERENCES person_thoughts(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            text TEXT NOT NULL
        )
        """
    )
    db.conn.execute(
        """
        CREATE TABLE person_parents(
            line_id INTEGER NOT NULL REFERENCES person_lines(id) ON DELETE CASCADE,
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            PRIMARY KEY(line_id, fact_id)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX person_parents_fact ON person_parents(fact_id)")
    db.conn.execute(
        "CREATE TRIGGER person_lines_die AFTER DELETE ON person_parents"
        " BEGIN DELETE FROM person_lines WHERE id = OLD.line_id; END"
    )


@understanding()
def m004_reflection(db: Database) -> None:
    """What was looked at together, and what each product rests on."""
    db.conn.execute(
        "CREATE TABLE reflected_facts(fact_id INTEGER PRIMARY KEY REFERENCES facts(id) ON DELETE CASCADE, at REAL NOT NULL)"
    )
    db.conn.execute(
        """
        CREATE TABLE reflection_parents(
            fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
            parent_id INTEGER NOT NULL,  -- stays when the parent is deleted: what rested on it is then retired
            PRIMARY KEY(fact_id, parent_id)
        ) WITHOUT ROWID
        """
    )
    db.conn.execute("CREATE INDEX reflection_parents_parent ON reflection_parents(parent_id)")
    db.conn.execute(
        "CREATE TABLE reflection_state(scope TEXT PRIMARY KEY, retry_at REAL NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '')"
    )
