"""Earlier sessions from Hermes's state.db into the archive: a batch at a time, each message once.

First everything is read (`read_batch`), in one short transaction on the host's file; then it is written to ours
(`History`). So the host is never held while we work, and a fault in one is never taken for one in the other.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory_os.sessions.archive import (
    INDEXED,
    NARRATION,
    Archive,
    HostRow,
    Message,
    neighbour,
    same_answer,
    sane_time,
    standing_of,
)
from memory_os.sessions.cleaning import Cleaned, clean, is_background
from memory_os.sessions.off import OffSwitch
from memory_os.sessions.scopes import host_user, project_of, scope_for
from memory_os.sessions.state_db import HostMessage, HostSession, StateDb, lineage_root
from memory_os.store import Row, tombstones
from memory_os.text.optout import wants_no_memory

# A turn's own record comes from the hook, with its turn id, within seconds of its end; leave it that long.
SETTLING_S = 60.0
# A time further ahead than this was written by another clock: its age is unknown, and waiting for it could take years.
CLOCK_SLACK_S = 5.0
# Rows looked at again each round, the newest: what was taken back is nearly always among them.
RECHECKED = 400
# Rows compared to see whether this still is the file we know.
SAMPLED = 20


@dataclass(slots=True)
class Imported:
    """What one round did. `outcome`: ok, empty (nothing there), off, or degraded (with the reason)."""

    outcome: str = "ok"
    reason: str = ""
    added: int = 0
    claimed: int = 0
    withdrawn: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    more: bool = False

    @property
    def taken(self) -> int:
        return self.added + self.claimed


@dataclass(frozen=True, slots=True)
class Known:
    """What we already know of the host's file, for the reader to compare with."""

    mark: int
    recent: Mapping[int, str]  # our newest host ids, and the session of each
    rewinds: Mapping[str, int]  # our conversations, and the host's rewind count of each when last seen


@dataclass(slots=True)
class Batch:
    """Everything one round needs from state.db."""

    another_file: bool = False
    mark: int = 0
    more: bool = False
    messages: list[HostMessage] = field(default_factory=list)
    questions: dict[int, HostMessage] = field(default_factory=dict)
    sessions: dict[str, HostSession] = field(default_factory=dict)
    standing: dict[int, tuple[str, bool]] = field(default_factory=dict)
    rewound: dict[str, list[HostMessage]] = field(default_factory=dict)
    every_session: dict[str, tuple[int, bool]] = field(default_factory=dict)


def read_batch(db: StateDb, known: Known, limit: int, now: float) -> Batch:
    """The next messages beyond the mark, what they belong to, and what became of those we have."""
    batch = Batch(another_file=_is_another_file(db, known))
    after = 0 if batch.another_file else known.mark
    found = db.messages(after, limit)
    batch.messages = settled(found, now)
    batch.more = len(found) == limit and len(batch.messages) == limit
    if len(batch.messages) < len(found):
        batch.mark = found[len(batch.messages)].id - 1
    elif len(found) == limit:
        batch.mark = found[-1].id
    else:
        batch.mark = max(after, db.last_id())
    batch.sessions = db.sessions([message.session_id for message in batch.messages])
    batch.questions = _questions(db, batch.messages)
    batch.every_session = {name: (rewinds, archived) for name, rewinds, archived in db.every_session()}
    if not batch.another_file:
        batch.standing = db.places(list(known.recent))
        changed = [name for name, count in known.rewinds.items() if batch.every_session.get(name, (count,))[0] != count]
        batch.rewound = {name: db.rewound(name) for name in changed}
    return batch


def settled(messages: list[HostMessage], now: float) -> list[HostMessage]:
    """The leading messages whose turn has had the time to report itself. Rows are never overtaken."""
    ready: list[HostMessage] = []
    for message in messages:
        if now - SETTLING_S < message.timestamp <= now + CLOCK_SLACK_S:
            break
        ready.append(message)
    return ready


def _is_another_file(db: StateDb, known: Known) -> bool:
    """Whether state.db was replaced: its ids start again, or stand for other sessions."""
    if known.mark and db.highest_id_ever() < known.mark:
        return True
    sample = list(known.recent)[:SAMPLED]
    return any(session != known.recent[row] for row, (session, _) in db.places(sample).items())


def _questions(db: StateDb, messages: list[HostMessage]) -> dict[int, HostMessage]:
    """For each assistant's message, the user's message it answers."""
    latest: dict[str, HostMessage | None] = {}
    questions: dict[int, HostMessage] = {}
    for message in messages:
        name = message.session_id
        if message.role == "user":
            latest[name] = message
            continue
        if name not in latest:
            latest[name] = db.question_before(name, message.id)
        question = latest[name]
        if question is not None:
            questions[message.id] = question
    return questions


class History:
    """Writes a batch into the archive. Every method runs inside the caller's write transaction."""

    def __init__(self, archive: Archive, off: OffSwitch, profile: str, aliases: Mapping[str, str]) -> None:
        self.archive = archive
        self.off = off
        self.profile = profile
        self.aliases = aliases

    def begin(self, db: sqlite3.Connection, batch: Batch) -> None:
        """Note whose the batch's sessions are, and what they continue."""
        if batch.another_file:
            self._start_over(db)
        for name in dict.fromkeys(message.session_id for message in batch.messages):
            if name in batch.sessions:
                self._note_session(db, batch, name)

    def take(self, db: sqlite3.Connection, batch: Batch, messages: Sequence[HostMessage], imported: Imported) -> None:
        """Archive some of the batch's messages, in their order."""
        for message in messages:
            skipped = self._take(db, batch, message, imported)
            if skipped:
                imported.skipped[skipped] += 1

    def _start_over(self, db: sqlite3.Connection) -> None:
        """Another state.db in the same place: its numbers mean other rows. What we archived stays."""
        db.execute("UPDATE messages SET host_id = NULL WHERE host_id IS NOT NULL")
        db.execute("UPDATE conversations SET rewinds = 0, host_seen = 0")

    def _note_session(self, db: sqlite3.Connection, batch: Batch, name: str) -> None:
        self.archive.set_lineage(db, name, lineage_root(name, batch.sessions))
        db.execute("UPDATE conversations SET host_seen = 1 WHERE session_id = ?", (name,))

    # -- one message -----------------------------------------------------------------------------------------------

    def _take(self, db: sqlite3.Connection, batch: Batch, message: HostMessage, imported: Imported) -> str:
        """Archive, claim or skip a message; returns why it was skipped, or ""."""
        session = batch.sessions.get(message.session_id)
        if session is None:
            return "orphan"
        if is_background(session.source, session.id) or session.is_subagent:
            return "background"
        if message.hidden or not (cleaned := clean(message.role, message.text)).text:
            return "not said by anyone"
        question = batch.questions.get(message.id)
        asked = clean("user", question.text) if question else None
        if wants_no_memory(cleaned.text if message.role == "user" else asked.text if asked else ""):
            return "asked not to"
        if self.off.is_off(session.id, message.timestamp, key=session.session_key):
            return "switched off"
        user = host_user(session.source, session.user_id, session.session_key, session.id)
        whose = scope_for(user, self.profile, self.aliases)
        if any(tombstones.is_forgotten(db, one, cleaned.hash, message.timestamp) for one in whose.own):
            return "forgotten"
        if self._is_duplicate(db, session.id, message, cleaned.hash):
            return "duplicate"
        if cleaned.secrets:
            self.archive.store.count("secrets_redacted", cleaned.secrets, reason="history")
        self._archive(db, session, message, cleaned, asked, whose.key, imported)
        return ""

    def _archive(
        self, db: sqlite3.Connection, session: HostSession, message: HostMessage, cleaned: Cleaned,
        asked: Cleaned | None, scope: str, imported: Imported,
    ) -> None:  # fmt: skip
        lineage = self.archive.lineage_of(db, session.id)
        host = HostRow(message.id, message.timestamp, message.uid)
        twin = self.archive.unclaimed_by_host(db, lineage, message.role, cleaned.hash)
        if twin is None and message.role == "assistant" and asked and not message.narration:
            twin = _same_turns_answer(db, lineage, asked.hash, cleaned.text)
        if twin is not None:
            self.archive.claim_by_host(db, twin["id"], host)
            imported.claimed += 1
            return
        question = asked.text if asked else ""
        before = question if message.role == "assistant" else _answer_before(db, lineage, scope, message.timestamp)
        standing = NARRATION if message.narration else standing_of(message.role, cleaned.text, question)
        self.archive.add(
            db,
            Message(
                session_id=session.id, lineage=lineage, role=message.role, text=cleaned.text, hash=cleaned.hash,
                said_at=sane_time(message.timestamp), scope=scope, platform=session.source,
                project=project_of(session.source, session.folder), model=session.model, standing=standing, host=host,
                context=neighbour("user" if message.role == "assistant" else "assistant", before),
            ),
        )  # fmt: skip
        imported.added += 1

    def _is_duplicate(self, db: sqlite3.Connection, session_id: str, message: HostMessage, text_hash: str) -> bool:
        """The same row again, or its copy after a compaction; the copy's number is kept, as the one that still lives."""
        if db.execute("SELECT 1 FROM messages WHERE host_id = ?", (message.id,)).fetchone():
            return True
        lineage = self.archive.lineage_of(db, session_id)
        copy: Row | None = None
        if message.uid:
            copy = db.execute(
                "SELECT id FROM messages WHERE host_uid = ? AND lineage = ?", (message.uid, lineage)
            ).fetchone()
        if copy is None:
            copy = db.execute(
                "SELECT id FROM messages WHERE lineage = ? AND role = ? AND content_hash = ? AND abs(host_ts - ?) < 0.001",
                (lineage, message.role, text_hash, message.timestamp),
            ).fetchone()
        if copy is None:
            return False
        self.archive.claim_by_host(db, copy["id"], HostRow(message.id, message.timestamp, message.uid))
        return True

    # -- what the user changed in the host -------------------------------------------------------------------------

    def follow_host(self, db: sqlite3.Connection, batch: Batch) -> int:
        """Take out of the index what was rewound or deleted; put away and bring back what was archived."""
        gone = [row for row, (_, said) in batch.standing.items() if not said]
        withdrawn = self._withdraw(db, "host_id", gone)
        for name, messages in batch.rewound.items():
            withdrawn += self._rewind(db, name, messages)
            db.execute("UPDATE conversations SET rewinds = ? WHERE session_id = ?", (batch.every_session[name][0], name))
        for row in db.execute("SELECT session_id, archived FROM conversations WHERE host_seen = 1").fetchall():
            state = batch.every_session.get(row["session_id"])
            if state is not None and bool(row["archived"]) != state[1]:
                self._set_archived(db, row["session_id"], state[1])
        return withdrawn

    def _rewind(self, db: sqlite3.Connection, session_id: str, messages: Iterable[HostMessage]) -> int:
        """Rows the user took back: those we imported, and those only the hook has told us of."""
        lineage = self.archive.lineage_of(db, session_id)
        known = []
        for message in messages:
            if not db.execute("SELECT 1 FROM messages WHERE host_id = ?", (message.id,)).fetchone():
                cleaned = clean(message.role, message.text)
                captured = self.archive.unclaimed_by_host(db, lineage, message.role, cleaned.hash)
                if captured is None:
                    continue
                self.archive.claim_by_host(db, captured["id"], HostRow(message.id, message.timestamp, message.uid))
            known.append(message.id)
        return self._withdraw(db, "host_id", known)

    def withdraw_deleted(self, db: sqlite3.Connection, session_ids: Iterable[str]) -> int:
        """Sessions the user deleted in the host leave the index."""
        names = list(session_ids)
        for name in names:
            db.execute("UPDATE conversations SET host_seen = 0 WHERE session_id = ?", (name,))
        return self._withdraw(db, "session_id", names)

    def _withdraw(self, db: sqlite3.Connection, column: str, values: Iterable[object]) -> int:
        count = 0
        for value in values:
            rows = db.execute(f"SELECT * FROM messages WHERE {column} = ?", (value,)).fetchall()
            count += self.archive.withdraw(db, rows)
        return count

    def _set_archived(self, db: sqlite3.Connection, session_id: str, archived: bool) -> None:
        db.execute("UPDATE conversations SET archived = ? WHERE session_id = ?", (int(archived), session_id))
        rows = db.execute("SELECT id FROM passages WHERE session_id = ? AND layer = 'sessions'", (session_id,)).fetchall()
        for row in rows:
            self.archive.index.update(row["id"], archived=archived)


def _same_turns_answer(db: sqlite3.Connection, lineage: str, question_hash: str, answer: str) -> Row | None:
    """The captured answer to the same question, when the host stored it with or without a footer."""
    rows = db.execute(
        "SELECT a.* FROM messages u JOIN messages a ON a.turn_id = u.turn_id AND a.scope = u.scope AND a.role = 'assistant'"
        " WHERE u.lineage = ? AND u.role = 'user' AND u.content_hash = ? AND u.turn_id <> ''"
        " AND a.host_id IS NULL AND a.host_ts IS NULL ORDER BY a.id",
        (lineage, question_hash),
    ).fetchall()
    return next((row for row in rows if same_answer(row["text"], answer)), None)


def _answer_before(db: sqlite3.Connection, lineage: str, scope: str, at: float) -> str:
    row = db.execute(
        "SELECT text FROM messages WHERE lineage = ? AND scope = ? AND role = 'assistant' AND said_at <= ?"
        " AND standing = ? ORDER BY said_at DESC, id DESC LIMIT 1",
        (lineage, scope, at, INDEXED),
    ).fetchone()
    return "" if row is None else str(row["text"])
