"""The messages table and the passages made from it. Every function here runs inside the caller's write transaction."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_os.index import Index
from memory_os.memory import Author, Layer, Passage
from memory_os.store import Row, Store
from memory_os.text.chunks import chunk_text
from memory_os.text.smalltalk import is_small_talk

# A pasted log has thousands of chunks; recall profits from the first ones. The archive keeps the whole text.
CHUNKS_MOST = 60
# How much of the neighbouring message goes with a passage: about what an encoder of 512 tokens has room for.
CONTEXT_CHARS = 300
# An answer shorter than this to small talk is small talk too.
BRIEF_ANSWER_CHARS = 80
# An imported message is taken from another scope only if said within this time of the turn: the longest turns.
TURN_LONGEST_S = 3600.0
# Times before this are a clock that was never set; times past the other can't be rendered as a date.
_EARLIEST, _LATEST = 0.0, 32_503_680_000.0

INDEXED, REPEAT, TRIVIAL, NARRATION, WITHDRAWN = "indexed", "repeat", "trivial", "narration", "withdrawn"


@dataclass(frozen=True, slots=True)
class HostRow:
    """Where a message stands in Hermes's state.db."""

    id: int
    timestamp: float
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A cleaned message on its way into the archive. `context` is the neighbour it answers or is answered by."""

    session_id: str
    lineage: str
    role: str
    text: str
    hash: str
    said_at: float
    scope: str
    platform: str = ""
    project: str = ""
    model: str = ""
    turn_id: str = ""
    context: str = ""
    standing: str = INDEXED
    host: HostRow | None = None


class Archive:
    """Rows in, passages out. A message's passages have the source `message:<id>`."""

    def __init__(self, store: Store, index: Index) -> None:
        self.store = store
        self.index = index

    def add(self, db: sqlite3.Connection, message: Message) -> int:
        """Archive a message and make it searchable unless it is trivial or its owner's same text already is, in this session."""
        standing = message.standing
        if standing == INDEXED and self._same_text_indexed(
            db, message.session_id, message.role, message.hash, message.scope
        ):
            standing = REPEAT
        host = message.host
        cursor = db.execute(
            "INSERT INTO messages(session_id, lineage, role, text, content_hash, said_at, turn_id, host_id, host_ts,"
            " host_uid, scope, platform, project, model, context, standing) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                message.session_id, message.lineage, message.role, message.text, message.hash, sane_time(message.said_at),
                message.turn_id, host.id if host else None, host.timestamp if host else None, host.uid if host else None,
                message.scope, message.platform, message.project, message.model, message.context, standing,
            ),
        )  # fmt: skip
        assert cursor.lastrowid is not None
        if standing == INDEXED:
            self.reindex(db, cursor.lastrowid)
        return cursor.lastrowid

    def reindex(self, db: sqlite3.Connection, message_id: int) -> None:
        """Make the passages of one message what its row says."""
        row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        if row is None or row["standing"] != INDEXED:
            self.index.remove(source_of(message_id))
            return
        passages, left_out = passages_of(row)
        self.index.replace(source_of(message_id), passages)
        if self._is_archived(db, row["session_id"]):
            for passage in passages:
                self.index.update(passage.id, archived=True)
        if left_out:
            self.store.count("message_chunks_left_out", left_out, reason=source_of(message_id))

    def _is_archived(self, db: sqlite3.Connection, session_id: str) -> bool:
        """Whether the user put the session away in the host: what is added to it later is put away too."""
        found = db.execute("SELECT archived FROM conversations WHERE session_id = ?", (session_id,)).fetchone()
        return found is not None and bool(found["archived"])

    def set_standing(self, db: sqlite3.Connection, message_id: int, standing: str) -> None:
        db.execute("UPDATE messages SET standing = ? WHERE id = ?", (standing, message_id))
        self.reindex(db, message_id)

    def delete(self, db: sqlite3.Connection, rows: Iterable[Row]) -> int:
        """Take messages out of the archive and the index; a repeat of a deleted text takes its place there."""
        gone = list(rows)
        for row in gone:
            db.execute("DELETE FROM messages WHERE id = ?", (row["id"],))
            self.index.remove(source_of(row["id"]))
        for row in gone:
            if row["standing"] == INDEXED:
                self.promote_repeat(db, row)
        return len(gone)

    def withdraw(self, db: sqlite3.Connection, rows: Iterable[Row]) -> int:
        """Leave the index but stay archived: what the user took back in the host is not quoted."""
        taken = [row for row in rows if row["standing"] != WITHDRAWN]
        for row in taken:
            self.set_standing(db, row["id"], WITHDRAWN)
            if row["standing"] == INDEXED:
                self.promote_repeat(db, row)
        return len(taken)

    def promote_repeat(self, db: sqlite3.Connection, row: Row) -> None:
        repeat = db.execute(
            "SELECT id FROM messages WHERE session_id = ? AND role = ? AND content_hash = ? AND scope = ? AND standing = ?"
            " ORDER BY id LIMIT 1",
            (row["session_id"], row["role"], row["content_hash"], row["scope"], REPEAT),
        ).fetchone()
        if repeat is not None:
            self.set_standing(db, repeat["id"], INDEXED)

    def _same_text_indexed(
        self, db: sqlite3.Connection, session_id: str, role: str, text_hash: str, scope: str
    ) -> bool:  # fmt: skip
        found = db.execute(
            "SELECT 1 FROM messages WHERE session_id = ? AND role = ? AND content_hash = ? AND scope = ? AND standing = ? LIMIT 1",
            (session_id, role, text_hash, scope, INDEXED),
        ).fetchone()
        return found is not None

    # -- one message, seen twice -----------------------------------------------------------------------------------

    def unclaimed_by_host(self, db: sqlite3.Connection, lineage: str, role: str, text_hash: str) -> Row | None:
        """The oldest captured message with this text that no row of state.db has been matched with."""
        found: Row | None = db.execute(
            "SELECT * FROM messages WHERE lineage = ? AND role = ? AND content_hash = ? AND host_id IS NULL"
            " AND host_ts IS NULL AND turn_id <> '' ORDER BY id LIMIT 1",
            (lineage, role, text_hash),
        ).fetchone()
        return found

    def unclaimed_by_turn(
        self, db: sqlite3.Connection, lineage: str, role: str, text_hash: str, at: float, scope: str
    ) -> Row | None:  # fmt: skip
        """The imported message with this text, nearest in time, that no captured turn has been matched with.

        The host names one owner for a whole session, so what a member of a group has just said is imported as that
        owner's; the turn takes it. What another said at another time is theirs and stays.
        """
        found: Row | None = db.execute(
            "SELECT * FROM messages WHERE lineage = ? AND role = ? AND content_hash = ? AND turn_id = ''"
            " AND standing <> ? AND (scope = ? OR abs(said_at - ?) <= ?) ORDER BY abs(said_at - ?), id LIMIT 1",
            (lineage, role, text_hash, WITHDRAWN, scope, at, TURN_LONGEST_S, at),
        ).fetchone()
        return found

    def claim_by_turn(self, db: sqlite3.Connection, row: Row, message: Message) -> None:
        """An imported message turns out to be this turn's: the hook knows better whose it is and where it was said."""
        db.execute(
            "UPDATE messages SET turn_id = ?, scope = ?, platform = ?, project = ?, model = ? WHERE id = ?",
            (message.turn_id, message.scope, message.platform, message.project, message.model, row["id"]),
        )
        if row["scope"] != message.scope:
            self._change_owner(db, row, message)

    def _change_owner(self, db: sqlite3.Connection, row: Row, message: Message) -> None:
        """The neighbour and the place in the index are the new owner's; the old owner's repeat gets the old place."""
        standing = row["standing"]
        if standing in (INDEXED, REPEAT):
            again = db.execute(
                "SELECT 1 FROM messages WHERE session_id = ? AND role = ? AND content_hash = ? AND scope = ?"
                " AND standing = ? AND id <> ? LIMIT 1",
                (row["session_id"], row["role"], row["content_hash"], message.scope, INDEXED, row["id"]),
            ).fetchone()
            standing = REPEAT if again else INDEXED
        db.execute("UPDATE messages SET context = ? WHERE id = ?", (message.context, row["id"]))
        self.set_standing(db, row["id"], standing)
        if row["standing"] == INDEXED:
            self.promote_repeat(db, row)

    def claim_by_host(self, db: sqlite3.Connection, message_id: int, host: HostRow) -> None:
        db.execute(
            "UPDATE messages SET host_id = ?, host_ts = ?, host_uid = coalesce(?, host_uid) WHERE id = ?",
            (host.id, host.timestamp, host.uid, message_id),
        )

    # -- conversations ---------------------------------------------------------------------------------------------

    def lineage_of(self, db: sqlite3.Connection, session_id: str, parent_session_id: str = "") -> str:
        """The conversation a session belongs to, noted when it is new."""
        known = db.execute("SELECT lineage FROM conversations WHERE session_id = ?", (session_id,)).fetchone()
        if known is not None:
            return str(known["lineage"])
        lineage = session_id
        if parent_session_id and parent_session_id != session_id:
            parent = db.execute("SELECT lineage FROM conversations WHERE session_id = ?", (parent_session_id,)).fetchone()
            lineage = str(parent["lineage"]) if parent is not None else parent_session_id
        db.execute("INSERT INTO conversations(session_id, lineage) VALUES(?, ?)", (session_id, lineage))
        return lineage

    def set_lineage(self, db: sqlite3.Connection, session_id: str, lineage: str) -> None:
        """What the host says of a session's descent; messages captured before we knew are matched with imported ones."""
        if self.lineage_of(db, session_id) == lineage:
            return
        db.execute("UPDATE conversations SET lineage = ? WHERE session_id = ?", (lineage, session_id))
        db.execute("UPDATE messages SET lineage = ? WHERE session_id = ?", (lineage, session_id))
        captured = db.execute(
            "SELECT * FROM messages WHERE session_id = ? AND host_id IS NULL AND turn_id <> '' ORDER BY id", (session_id,)
        ).fetchall()
        for row in captured:
            twin = self.unclaimed_by_turn(db, lineage, row["role"], row["content_hash"], row["said_at"], row["scope"])
            if twin is not None and twin["host_id"] is not None:
                self.delete(db, [twin])
                self.claim_by_host(db, row["id"], HostRow(twin["host_id"], twin["host_ts"], twin["host_uid"]))
                if row["standing"] == REPEAT and not self._same_text_indexed(
                    db, row["session_id"], row["role"], row["content_hash"], row["scope"]
                ):
                    self.set_standing(db, row["id"], INDEXED)


def source_of(message_id: int) -> str:
    return f"message:{message_id}"


def passages_of(row: Row) -> tuple[list[Passage], int]:
    """The passages of an archived message, and how many chunks beyond the limit were left out."""
    chunks = chunk_text(row["text"])
    said = row["role"] == "user"
    passages = [
        Passage(
            layer=Layer.SESSIONS, source=source_of(row["id"]), text=chunk, scope=row["scope"],
            author=Author.USER if said else Author.AGENT, kind="said" if said else "answered", ordinal=ordinal,
            context=row["context"], session_id=row["session_id"], created_at=row["said_at"],
        )
        for ordinal, chunk in enumerate(chunks[:CHUNKS_MOST])
    ]  # fmt: skip
    return passages, max(0, len(chunks) - CHUNKS_MOST)


def neighbour(role: str, text: str) -> str:
    """How the message before is quoted beside a passage: who spoke, and the beginning of it."""
    excerpt = " ".join(text[: 4 * CONTEXT_CHARS].split())[:CONTEXT_CHARS]
    return f"{role}: {excerpt}" if excerpt else ""


def standing_of(role: str, text: str, question: str) -> str:
    """Whether a message is worth finding again."""
    if is_small_talk(text):
        return TRIVIAL
    if role == "assistant" and question and len(text) < BRIEF_ANSWER_CHARS and is_small_talk(question):
        return TRIVIAL
    return INDEXED


def same_answer(one: str, other: str) -> bool:
    """Whether two texts are one answer, of which one has a footer or a header that the host added or took off."""
    first, second = sorted((" ".join(one.split()), " ".join(other.split())), key=len)
    return len(first) >= 20 and (second.startswith(first[:200]) or first in second)


def sane_time(at: float) -> float:
    """A time that can be stored and shown: a missing or impossible one becomes now."""
    return at if math.isfinite(at) and _EARLIEST < at < _LATEST else time.time()


def marks(values: Sequence[object]) -> str:
    """Question marks for an SQL list."""
    return ",".join("?" * len(values))
