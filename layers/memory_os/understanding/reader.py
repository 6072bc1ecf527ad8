"""Which turns wait to be read, and what a model is given of them. Reads memory.db only."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from memory_os.config import UnderstandingSettings
from memory_os.sessions.delegation import IS_DELEGATION
from memory_os.store import Row, Store
from memory_os.text.smalltalk import is_small_talk
from memory_os.text.withdrawal import takes_back
from memory_os.understanding.transcript import Turn

# Handed out at a time; two questions hold fewer of all but the shortest.
TURNS_MAX = 200
# A message that was imported first and claimed by a turn later has an old number: all are looked at this often.
_FULL_LOOK_S = 600.0
_WAITING = (
    f"(m.role = 'user' OR {IS_DELEGATION.format(alias='m')}) AND m.turn_id <> '' AND m.standing <> 'withdrawn' AND m.id >= :mark"
    " AND NOT EXISTS(SELECT 1 FROM understood_turns u WHERE u.scope = m.scope AND u.turn_id = m.turn_id)"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Turns of one session that nobody has read. `watermark`: the number of the latest; times in epoch seconds."""

    scope: str
    session_id: str
    turns: int
    watermark: int
    first_at: float
    last_at: float
    ended_at: float | None
    retry_at: float
    problem: str

    def is_due(self, now: float, settings: UnderstandingSettings) -> bool:
        """After idleness, enough turns, or the end of the session; not before a failure's time is over."""
        if now < self.retry_at:
            return False
        ended = self.ended_at is not None and self.ended_at >= self.last_at
        return ended or self.turns >= settings.turns or now - self.last_at >= settings.idle_minutes * 60


class Reader:
    """Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        # Below this number no turn waits, as far as the last full look could tell.
        self._mark = 0
        self._looked_at = 0.0

    def waiting(self, now: float) -> list[Waiting]:
        """Every session with unread turns, the one that waits longest first."""
        with self._lock:
            mark = 0 if abs(now - self._looked_at) >= _FULL_LOOK_S else self._mark
        # Before the look: what is written meanwhile is above it.
        newest = int(self._store.value("SELECT coalesce(max(id), 0) FROM messages"))
        rows = self._store.rows(
            "SELECT m.scope, m.session_id, count(*) AS n, min(m.id) AS first, max(m.id) AS last, min(m.said_at) AS first_at,"
            " max(m.said_at) AS last_at, e.ended_at, coalesce(s.retry_at, 0) AS retry_at, coalesce(s.problem, '') AS problem"
            " FROM messages m LEFT JOIN understanding_sessions s ON s.scope = m.scope AND s.session_id = m.session_id"
            " LEFT JOIN understanding_sessions e ON e.scope = '' AND e.session_id = m.session_id"
            f" WHERE {_WAITING} GROUP BY m.scope, m.session_id ORDER BY first_at",
            {"mark": mark},
        )
        with self._lock:
            if not mark:
                self._looked_at = now
            self._mark = min((row["first"] for row in rows), default=newest + 1)
        return [
            Waiting(
                row["scope"], row["session_id"], row["n"], row["last"], row["first_at"], row["last_at"], row["ended_at"],
                row["retry_at"], row["problem"],
            )
            for row in rows
        ]  # fmt: skip

    def look_at_all(self) -> None:
        """Messages below the mark have become turns."""
        with self._lock:
            self._mark = 0

    def turns(self, scope: str, session_id: str, watermark: int) -> list[Turn]:
        """The unread turns of a session up to a message's number, oldest first, at most TURNS_MAX."""
        rows = self._store.rows(
            "SELECT m.turn_id, m.said_at, iif(m.role = 'user', m.text, '') AS text,"
            " coalesce((SELECT a.text FROM messages a WHERE a.turn_id = m.turn_id AND a.scope = m.scope"
            " AND a.role = 'assistant' AND a.standing <> 'withdrawn' ORDER BY a.id DESC LIMIT 1), '') AS answer"
            f" FROM messages m WHERE {_WAITING} AND m.scope = :scope AND m.session_id = :session AND m.id <= :last"
            " ORDER BY m.id LIMIT :limit",
            {"mark": 0, "scope": scope, "session": session_id, "last": watermark, "limit": TURNS_MAX},
        )
        return [_turn(row) for row in rows]


def sorted_out(turns: Sequence[Turn]) -> tuple[list[Turn], dict[str, str]]:
    """(what is worth a model's time, the others by id with why not): small talk, and what the person took back."""
    left: dict[str, str] = {}
    for number, one in enumerate(turns):
        if takes_back(one.question):
            left[one.id] = "withdrawn"
            if number:
                left[turns[number - 1].id] = "withdrawn"
        elif one.question and is_small_talk(one.question):
            left.setdefault(one.id, "small talk")
    return [one for one in turns if one.id not in left], left


def injected_lines(db: sqlite3.Connection, turn_id: str) -> list[str]:
    """What recall gave to a turn."""
    rows = db.execute(
        "SELECT p.text FROM recall_lines l JOIN passages p ON p.id = l.passage_id WHERE l.turn_id = ? AND l.shown = 1",
        (turn_id,),
    )
    return [str(row["text"]) for row in rows]


def _turn(row: Row) -> Turn:
    return Turn(row["turn_id"], row["said_at"], row["text"], row["answer"])
