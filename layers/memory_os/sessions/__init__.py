"""Layer 2: everything said, kept by us, and searchable by words and by meaning.

Two ways in, one archive: each captured turn (`add_turn`), and Hermes's own state.db (`import_history`). A message seen
both ways is stored once, whichever comes first; what was really said three times is archived three times.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memory_os.config import Settings
from memory_os.index import Index
from memory_os.memory import Health, Layer, Scope, State
from memory_os.sessions.archive import (
    NARRATION,
    Archive,
    Message,
    marks,
    neighbour,
    same_answer,
    sane_time,
    source_of,
    standing_of,
)
from memory_os.sessions.cleaning import Cleaned, clean
from memory_os.sessions.history import RECHECKED, Batch, History, Imported, Known, read_batch
from memory_os.sessions.off import OffSwitch
from memory_os.sessions.quotes import Quotes
from memory_os.sessions.scopes import scope_for
from memory_os.sessions.state_db import TESTED_SCHEMA, StateDbUnavailable, open_state_db
from memory_os.store import Row, Store, tombstones

__all__ = ["CapturedTurn", "Imported", "Sessions"]

_MARK = "sessions.host_mark"
# The host prunes sessions only after months without activity; one that vanishes sooner was deleted by the user.
DELETED_WITHIN_S = 7 * 86_400.0
# Messages written in one transaction (about 20 ms), and the pause in which a waiting turn gets the lock.
STEP = 20
STEP_PAUSE_S = 0.002


@dataclass(frozen=True, slots=True)
class CapturedTurn:
    """One finished turn as the host's hook reported it; the texts are as the host has them."""

    turn_id: str
    session_id: str
    user_text: str
    assistant_text: str
    at: float
    parent_session_id: str = ""
    platform: str = ""
    user: str = "local"
    profile: str = "default"
    project: str = ""
    model: str = ""


class Sessions:
    """The session archive and its passages. Thread-safe."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.archive = Archive(store, index)
        self._aliases = settings.values.scopes.aliases
        self.off = OffSwitch(store, settings)
        self._history = History(self.archive, self.off, settings.profile, self._aliases)
        self._importing = threading.Lock()
        self._problem: StateDbUnavailable | None = None
        self._schema = 0

    # -- captured turns --------------------------------------------------------------------------------------------

    def add_turn(self, turn: CapturedTurn) -> bool:
        """Archive a turn, once. False when its owner's turn of this id is already there."""
        question, answer = clean("user", turn.user_text), clean("assistant", turn.assistant_text)
        scope = scope_for(turn.user, turn.profile, self._aliases).key
        with self.store.write() as db:
            known = db.execute("SELECT 1 FROM messages WHERE turn_id = ? AND scope = ?", (turn.turn_id, scope)).fetchone()
            if known:
                return False
            lineage = self.archive.lineage_of(db, turn.session_id, turn.parent_session_id)
            before = _last_answer(db, lineage, scope)
            asked = self._add(db, turn, "user", question, lineage, scope, before=before, question="")
            self._add(db, turn, "assistant", answer, lineage, scope, before=question.text, question=question.text, asked=asked)
            if question.secrets or answer.secrets:
                self.store.count("secrets_redacted", question.secrets + answer.secrets, reason="captured turn")
        return True

    def _add(
        self, db: sqlite3.Connection, turn: CapturedTurn, role: str, cleaned: Cleaned, lineage: str, scope: str, *,
        before: str, question: str, asked: int | None = None,
    ) -> int | None:  # fmt: skip
        """Archive one side of a turn, or claim it from what was imported; None when there is nothing to keep."""
        if not cleaned.text or tombstones.is_forgotten(db, scope, cleaned.hash, turn.at):
            return None
        message = Message(
            session_id=turn.session_id, lineage=lineage, role=role, text=cleaned.text, hash=cleaned.hash,
            said_at=sane_time(turn.at), scope=scope, platform=turn.platform, project=turn.project, model=turn.model,
            turn_id=turn.turn_id, standing=standing_of(role, cleaned.text, question),
            context=neighbour("assistant" if role == "user" else "user", before),
        )  # fmt: skip
        twin = self.archive.unclaimed_by_turn(db, lineage, role, cleaned.hash, turn.at, scope)
        if twin is None and asked is not None:
            twin = _imported_answer(db, asked, cleaned.text)
        if twin is None:
            return self.archive.add(db, message)
        self.archive.claim_by_turn(db, twin, message)
        return int(twin["id"])

    # -- the host's own history ------------------------------------------------------------------------------------

    def import_history(self, limit: int = 500, now: float | None = None) -> Imported:
        """Take the next batch over from state.db. Never raises for a fault of that file: see `outcome` and `reason`."""
        now = time.time() if now is None else now
        # Whatever the settings: the next copy of memory.db should know which chats are off.
        self.off.observe(now)
        capture = self.settings.values.capture
        if not (capture.enabled and capture.import_history):
            return Imported(outcome="off", reason="capture.import_history is off")
        if not self._importing.acquire(blocking=False):
            return Imported(reason="an import is running")
        try:
            return self._import(limit, now)
        except StateDbUnavailable as problem:
            return self._unavailable(problem)
        finally:
            self._importing.release()

    def _import(self, limit: int, now: float) -> Imported:
        known = self._known()
        with open_state_db(self.settings.state_db) as host:
            batch = read_batch(host, known, limit, now)
            self._schema = host.schema
        self._problem = None
        imported = Imported(more=batch.more)
        with self.store.write() as db:
            self._history.begin(db, batch)
            if batch.another_file:
                self.store.set_meta(_MARK, "0")
        self._take_in_steps(batch, imported)
        # Read before the transaction: in a large archive this takes longer than a turn should wait.
        deleted = [] if batch.another_file else _deleted(self.store, batch.every_session, now)
        with self.store.write() as db:
            imported.withdrawn += self._history.follow_host(db, batch)
            imported.withdrawn += self._history.withdraw_deleted(db, deleted)
            if batch.mark != known.mark or batch.another_file:
                self.store.set_meta(_MARK, str(batch.mark))
            if imported.skipped:
                reason = ", ".join(f"{name} {count}" for name, count in sorted(imported.skipped.items()))
                self.store.count("history_skipped", imported.skipped.total(), reason=reason)
        return imported

    def _take_in_steps(self, batch: Batch, imported: Imported) -> None:
        """A live turn waits for one step at most, never for the past of years; an interrupted import goes on there."""
        for start in range(0, len(batch.messages), STEP):
            step = batch.messages[start : start + STEP]
            with self.store.write() as db:
                self._history.take(db, batch, step, imported)
                self.store.set_meta(_MARK, str(step[-1].id))
            time.sleep(STEP_PAUSE_S)

    def _known(self) -> Known:
        recent = self.store.rows(
            "SELECT host_id, session_id FROM messages WHERE host_id IS NOT NULL ORDER BY host_id DESC LIMIT ?", (RECHECKED,)
        )
        rewinds = self.store.rows("SELECT session_id, rewinds FROM conversations")
        return Known(
            mark=int(self.store.meta(_MARK, "0")),
            recent={row["host_id"]: row["session_id"] for row in recent},
            rewinds={row["session_id"]: row["rewinds"] for row in rewinds},
        )

    def _unavailable(self, problem: StateDbUnavailable) -> Imported:
        if problem.reason == "missing":
            return Imported(outcome="empty", reason=problem.message)
        self._problem = problem
        self.store.count("history_import_failed", reason=f"{problem.reason}: {problem.message}")
        return Imported(outcome="degraded", reason=problem.reason)

    # -- asked by recall and by forget -----------------------------------------------------------------------------

    def is_off(self, session_id: str) -> bool:
        """Whether the memory of a session is switched off, by the settings or by the user."""
        return self.off.is_off(session_id)

    def sources_of(self, hashes: Sequence[str], session_id: str) -> set[str]:
        """The passage sources of messages that stand in this conversation's window, by their content hashes."""
        if not hashes:
            return set()
        rows = self.store.rows(
            f"SELECT m.id FROM messages m WHERE m.content_hash IN ({marks(hashes)}) AND m.lineage ="
            " coalesce((SELECT lineage FROM conversations WHERE session_id = ?), ?)",
            (*hashes, session_id, session_id),
        )
        return {source_of(row["id"]) for row in rows}

    def knows(self, session_id: str, scope: str, hashes: Sequence[str]) -> bool:
        """Whether a turn of one of these texts was captured in this conversation, or one of them was forgotten at any time."""
        with self.store.write() as db:
            if any(tombstones.forgotten_at(db, scope, one) is not None for one in hashes):
                return True
            lineage = self.archive.lineage_of(db, session_id)
            return bool(
                db.execute(
                    "SELECT 1 FROM messages WHERE lineage = ? AND turn_id <> '' AND role = 'user' AND content_hash = ? LIMIT 1",
                    (lineage, hashes[0]),
                ).fetchone()
            )

    def of_session(self, session_id: str, scope: Scope) -> list[Row]:
        """The archived messages of a session, in the order they came; only the caller's own."""
        return self.store.rows(
            "SELECT * FROM messages WHERE session_id = ? AND scope IN (SELECT value FROM json_each(?)) ORDER BY id",
            (session_id, scope.own_listed),
        )

    def of_scope(self, scope: Scope) -> list[Row]:
        return self.store.rows(
            "SELECT * FROM messages WHERE scope IN (SELECT value FROM json_each(?)) ORDER BY id", (scope.own_listed,)
        )

    def forget(self, message_ids: Sequence[int], scope: Scope, now: float, *, alone: Collection[int] = ()) -> int:
        """Delete messages of this scope, with every repeat of their text, and let no import bring them back.

        The repeats of those that are named in `alone` stay.
        """
        deleted = 0
        quotes = Quotes(scope)
        with self.store.write() as db:
            for message_id in message_ids:
                row = db.execute(
                    "SELECT * FROM messages WHERE id = ? AND scope IN (SELECT value FROM json_each(?))",
                    (message_id, scope.own_listed),
                ).fetchone()
                if row is None:
                    continue
                same = db.execute(
                    "SELECT * FROM messages WHERE content_hash = ? AND scope IN (SELECT value FROM json_each(?))",
                    (row["content_hash"], scope.own_listed),
                ).fetchall()
                same = [row] if message_id in alone else same
                quotes.add(same)
                deleted += self.archive.delete(db, same)
                # A clock that was set back must not make it seem said anew since.
                when = max([now, *(one["said_at"] for one in same)])
                for one in scope.own:
                    tombstones.bury(db, one, [row["content_hash"]], when)
            self._forget_context(db, quotes)
        return deleted

    def _forget_context(self, db: sqlite3.Connection, quotes: Quotes) -> None:
        """The neighbours quote the beginning of a forgotten message beside their own words; that goes too."""
        for message_id in quotes.messages(db):
            db.execute("UPDATE messages SET context = '' WHERE id = ?", (message_id,))
            self.archive.reindex(db, message_id)

    def health(self) -> Health:
        """Degraded while state.db can't be read; captured turns are kept all the same."""
        messages = int(self.store.value("SELECT count(*) FROM messages"))
        passages = self.archive.index.count(Layer.SESSIONS)
        figures: dict[str, float | int | str] = {"messages": messages, "passages": passages, "host_schema": self._schema}
        if self._problem is not None and self._problem.reason != "unfinished":
            detail = f"Earlier sessions can't be taken over: {self._problem.message}"
            return Health(State.DEGRADED, detail, self._problem.cure, figures)
        if not messages:
            return Health(State.EMPTY, "Nothing has been said yet.", figures=figures)
        newer = f"; state.db has schema {self._schema}, newer than the tested {TESTED_SCHEMA}"
        detail = f"{messages} messages, {passages} passages" + (newer if self._schema > TESTED_SCHEMA else "")
        if self._problem is not None:
            detail += f"; {self._problem.message}"
        return Health(State.OK, detail, figures=figures)


def _last_answer(db: sqlite3.Connection, lineage: str, scope: str) -> str:
    """The last answer this person got: in a group, what another was told is not theirs to find."""
    row = db.execute(
        "SELECT text FROM messages WHERE lineage = ? AND scope = ? AND role = 'assistant' AND standing <> ?"
        " ORDER BY id DESC LIMIT 1",
        (lineage, scope, NARRATION),
    ).fetchone()
    return "" if row is None else str(row["text"])


def _imported_answer(db: sqlite3.Connection, question_id: int, answer: str) -> Row | None:
    """The imported answer to the same question, when the host stored it without the footer that the hook saw."""
    question = db.execute("SELECT * FROM messages WHERE id = ?", (question_id,)).fetchone()
    following = db.execute(
        "SELECT * FROM messages WHERE session_id = ? AND id > ? ORDER BY id LIMIT 50", (question["session_id"], question_id)
    ).fetchall()
    for row in following:
        if row["role"] == "user":
            return None
        if row["turn_id"] == "" and row["standing"] != NARRATION and same_answer(row["text"], answer):
            found: Row = row
            return found
    return None


def _deleted(store: Store, existing: Mapping[str, tuple[int, bool]], now: float) -> list[str]:
    """Sessions that stood in state.db lately and are gone, too early for the host's own pruning."""
    seen = [row["session_id"] for row in store.rows("SELECT session_id FROM conversations WHERE host_seen = 1")]
    latest = {
        name: store.value("SELECT max(said_at) FROM messages WHERE session_id = ?", (name,))
        for name in seen
        if name not in existing
    }
    return [name for name, at in latest.items() if at is not None and at > now - DELETED_WITHIN_S]
