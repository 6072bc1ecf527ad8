"""Turns of earlier sessions, from Hermes's own history: read a few a day, the newest session first and the oldest last.

What was imported has no turn of its own. Those that are to be read get one (`history:<message>`), and from then on they are
turns like captured ones: read once, by the same gate, forgotten with what rests on them.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from memory_os.config import Settings
from memory_os.sessions import Sessions
from memory_os.store import Row, Store
from memory_os.text import token_estimate

PREFIX = "history:"
# A budget below this (model units a day) is for what is said today.
BUDGET_LEAST = 100.0
# A session at rest for so long is an earlier one: its turns were captured, or never will be.
EARLIER_S = 86_400.0
# With nothing left to read, or the day's share spent, it is looked again after so long.
_LOOK_S = 900.0
_TURNS_MOST = 100
_SPENT = "understanding.history"
# Of a group the host names one owner for what all have said: only at this machine it is sure who spoke.
_UNREAD = (
    "m.role = 'user' AND m.turn_id = '' AND m.host_id IS NOT NULL AND m.standing IN ('indexed', 'repeat')"
    " AND m.scope LIKE '%/local'"
)


class Earlier:
    """Called by one thread at a time."""

    def __init__(self, store: Store, sessions: Sessions, settings: Settings) -> None:
        self._store = store
        self._sessions = sessions
        self._settings = settings
        self._next_at = 0.0

    @property
    def share(self) -> int:
        """Tokens a day; 0 where it is switched off, or the whole budget is small."""
        values = self._settings.values
        return values.understanding.history_tokens if values.models.budget_per_day >= BUDGET_LEAST else 0

    def hand_out(self, now: float) -> int:
        """Make turns of the newest session that has unread messages, within what is left of the day. Returns how many."""
        left = self.share - self._spent(now)
        if left <= 0 or now < self._next_at:
            return 0
        session = self._newest(now)
        made = 0 if session is None else self._make_turns(*session, left, now)
        if not made:
            self._next_at = now + _LOOK_S
        return made

    def status(self, now: float) -> dict[str, Any]:
        """What waits, and what may be read today. Raises sqlite3.Error."""
        waiting = int(self._store.value(f"SELECT count(*) FROM messages m WHERE {_UNREAD}")) if self.share else 0
        return {"waiting_messages": waiting, "tokens_a_day": self.share, "tokens_today": self._spent(now)}

    def _newest(self, now: float) -> tuple[str, str] | None:
        rows = self._store.rows(
            f"SELECT m.scope, m.session_id, max(m.said_at) AS last FROM messages m LEFT JOIN conversations c"
            f" ON c.session_id = m.session_id WHERE {_UNREAD} AND coalesce(c.archived, 0) = 0"
            " GROUP BY m.scope, m.session_id HAVING last < ? ORDER BY last DESC LIMIT 20",
            (now - EARLIER_S,),
        )
        found = (row for row in rows if not self._sessions.is_off(row["session_id"]))
        return next(((row["scope"], row["session_id"]) for row in found), None)

    def _make_turns(self, scope: str, session_id: str, left: int, now: float) -> int:
        """The oldest unread ones of a session. The first is taken whatever it costs: none is too long for ever."""
        asked = self._store.rows(
            f"SELECT m.id, m.host_id, m.text FROM messages m WHERE {_UNREAD} AND m.scope = ? AND m.session_id = ?"
            " ORDER BY m.host_id LIMIT ?", (scope, session_id, _TURNS_MOST),
        )  # fmt: skip
        made = spent = 0
        with self._store.write() as db:
            for one in asked:
                answer = _answer(db, scope, session_id, one["host_id"])
                cost = token_estimate(one["text"]) + (token_estimate(answer["text"]) if answer is not None else 0)
                if made and spent + cost > left:
                    break
                ids = [one["id"], *([answer["id"]] if answer is not None else [])]
                db.executemany("UPDATE messages SET turn_id = ? WHERE id = ?", [(f"{PREFIX}{one['id']}", each) for each in ids])
                made, spent = made + 1, spent + cost
            self._note(db, self._spent(now) + spent, now)
        return made

    def _spent(self, now: float) -> int:
        day, _, tokens = self._store.meta(_SPENT).partition(" ")
        return int(tokens) if day == _day(now) and tokens.isdigit() else 0

    def _note(self, db: sqlite3.Connection, tokens: int, now: float) -> None:
        db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (_SPENT, f"{_day(now)} {tokens}"))


def _answer(db: sqlite3.Connection, scope: str, session_id: str, asked: int) -> Row | None:
    """The last thing that was answered before the person spoke again; what the agent said between its tools is narration."""
    found: Row | None = db.execute(
        "SELECT id, text FROM messages WHERE session_id = ? AND scope = ? AND role = 'assistant' AND turn_id = ''"
        " AND standing NOT IN ('narration', 'withdrawn') AND host_id > ? AND host_id < coalesce((SELECT min(host_id)"
        " FROM messages WHERE session_id = ? AND role = 'user' AND host_id > ?), 9e18) ORDER BY host_id DESC LIMIT 1",
        (session_id, scope, asked, session_id, asked),
    ).fetchone()
    return found


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))
