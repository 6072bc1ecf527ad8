"""Hermes's state.db, read only and briefly, in both of its schemas (22 of Hermes 0.19, 31 of 0.22).

Columns are named after asking which there are; rows are taken in the order of their ids. `content` is what was said;
`api_content` also holds what we injected, and is never read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_os.errors import HostError
from memory_os.text import plain_text

# The newest schema this reader was run against. A newer one is read as long as it has the columns.
TESTED_SCHEMA = 31
# Hermes's writers retry for seconds; we come again in a minute instead.
BUSY_TIMEOUT_S = 0.25

_JSON_PREFIX = "\x00json:"
_NEEDED = {"messages": ("id", "session_id", "role", "content", "timestamp"), "sessions": ("id", "source")}
_WANTED = {
    "messages": ("active", "compacted", "observed", "tool_calls", "message_uid", "display_kind", "_compressed_summary"),
    "sessions": (
        "user_id", "session_key", "parent_session_id", "end_reason", "model", "model_config", "cwd", "git_repo_root",
        "rewind_count", "archived", "auto_archived",
    ),
}  # fmt: skip


class StateDbUnavailable(HostError):
    """state.db can't be read now. `reason`: missing, locked, unfinished, corrupt, schema or unreadable."""

    code = "state_db"

    def __init__(self, reason: str, message: str, *, cure: str = "") -> None:
        super().__init__(message, cure=cure)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class HostSession:
    """One row of `sessions`, as far as it says whose the conversation is and where it comes from."""

    id: str
    source: str
    user_id: str = ""
    session_key: str = ""
    parent: str = ""
    end_reason: str = ""
    model: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    rewinds: int = 0
    archived: bool = False

    @property
    def is_subagent(self) -> bool:
        return bool(self.config.get("_delegate_from"))


@dataclass(frozen=True, slots=True)
class HostMessage:
    """One row of `messages` whose text counts as said. `narration`: said between tool calls of one turn."""

    id: int
    session_id: str
    role: str
    text: str
    timestamp: float
    uid: str | None
    narration: bool
    hidden: bool


class StateDb:
    """An open connection within one read transaction: everything asked of it is one moment's truth."""

    def __init__(self, connection: sqlite3.Connection, columns: Mapping[str, frozenset[str]], schema: int) -> None:
        self._connection = connection
        self._columns = columns
        self.schema = schema

    def messages(self, after: int, limit: int) -> list[HostMessage]:
        """Live and compacted messages of users and assistants with an id beyond `after`, by id."""
        where = " AND role IN ('user', 'assistant')" + self._said()
        return self._messages(f"id > ?{where} ORDER BY id LIMIT ?", (after, limit))

    def question_before(self, session_id: str, message_id: int) -> HostMessage | None:
        """The user's message that an assistant's row answers."""
        where = f"session_id = ? AND role = 'user' AND id < ?{self._said()} ORDER BY id DESC LIMIT 1"
        found = self._messages(where, (session_id, message_id))
        return found[0] if found else None

    def rewound(self, session_id: str) -> list[HostMessage]:
        """What the user took back in a session."""
        if "active" not in self._columns["messages"]:
            return []
        taken_back = f"{self._flag('active', 1)} = 0 AND {self._flag('compacted', 0)} = 0"
        return self._messages(f"session_id = ? AND role IN ('user', 'assistant') AND {taken_back} ORDER BY id", (session_id,))

    def last_id(self) -> int:
        return int(self._connection.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0])

    def highest_id_ever(self) -> int:
        """What AUTOINCREMENT has given out; a smaller number than before means another file."""
        try:
            row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()
        except sqlite3.OperationalError:  # a schema without AUTOINCREMENT has no such table
            row = None
        return int(row[0]) if row is not None else self.last_id()

    def places(self, ids: Sequence[int]) -> dict[int, tuple[str, bool]]:
        """Of these rows, those that still exist: their session, and whether they still count as said."""
        found: dict[int, tuple[str, bool]] = {}
        active, compacted = self._flag("active", 1), self._flag("compacted", 0)
        for part in _parts(ids):
            rows = self._connection.execute(
                f"SELECT id, session_id, ({active} OR {compacted}) AS said FROM messages"
                f" WHERE id IN ({','.join('?' * len(part))})",
                part,
            )
            found.update({row["id"]: (row["session_id"], bool(row["said"])) for row in rows})
        return found

    def sessions(self, ids: Sequence[str]) -> dict[str, HostSession]:
        """These sessions, and every ancestor their lineage needs."""
        found: dict[str, HostSession] = {}
        wanted = list(dict.fromkeys(ids))
        while wanted:
            for part in _parts(wanted):
                clause = f"id IN ({','.join('?' * len(part))})"
                found.update({one.id: one for one in self._sessions(clause, part)})
            parents = {parent for one in found.values() if (parent := parent_of(one))}
            wanted = [parent for parent in parents if parent not in found and parent not in wanted]
        return found

    def every_session(self) -> Iterator[tuple[str, int, bool]]:
        """(id, rewind count, archived by the user) of all sessions."""
        rewinds, archived = self._session_flag("rewind_count"), self._session_flag("archived")
        automatic = self._session_flag("auto_archived")
        sql = f"SELECT id, {rewinds} AS rewinds, {archived} AS archived, {automatic} AS automatic FROM sessions"
        for row in self._connection.execute(sql):
            yield row["id"], int(row["rewinds"] or 0), bool(row["archived"]) and not row["automatic"]

    def _messages(self, clause: str, values: Sequence[Any]) -> list[HostMessage]:
        chosen = ", ".join(_chosen("messages", self._columns["messages"]))
        rows = self._connection.execute(f"SELECT {chosen} FROM messages WHERE {clause}", values)
        return [_message(row) for row in rows]

    def _sessions(self, clause: str, values: Sequence[Any]) -> list[HostSession]:
        chosen = ", ".join(_chosen("sessions", self._columns["sessions"]))
        rows = self._connection.execute(f"SELECT {chosen} FROM sessions WHERE {clause}", values)
        return [_session(row) for row in rows]

    def _said(self) -> str:
        """Live, or archived by compaction; what was rewound (0, 0) or only overheard in a group is neither."""
        observed = self._flag("observed", 0)
        return f" AND ({self._flag('active', 1)} OR {self._flag('compacted', 0)}) AND NOT {observed}"

    def _flag(self, column: str, default: int) -> str:
        return f"coalesce({column}, {default})" if column in self._columns["messages"] else str(default)

    def _session_flag(self, column: str) -> str:
        return column if column in self._columns["sessions"] else "0"


@contextmanager
def open_state_db(path: Path) -> Iterator[StateDb]:
    """state.db for the length of a `with`. Raises StateDbUnavailable, also when reading meets a lock or damage."""
    if not path.is_file():
        raise StateDbUnavailable("missing", f"{path} does not exist: Hermes has not been used with this home yet.")
    connection: sqlite3.Connection | None = None
    try:
        uri = f"file:{quote(str(path))}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        yield StateDb(connection, _columns_of(connection, path), _schema_of(connection))
    except sqlite3.DatabaseError as error:
        raise _unavailable(path, error) from error
    finally:
        if connection is not None:
            connection.close()


def parent_of(session: HostSession) -> str:
    """The session a branch was taken from, or the parent; whether that continues it, `lineage_root` decides."""
    branched = session.config.get("_branched_from")
    return str(branched) if branched else session.parent


def lineage_root(session_id: str, sessions: Mapping[str, HostSession]) -> str:
    """The conversation's first session: back over compactions (the parent ended by one) and branches."""
    seen = {session_id}
    current = sessions.get(session_id)
    while current is not None:
        parent = sessions.get(parent_of(current))
        continues = parent is not None and (parent.end_reason == "compression" or bool(current.config.get("_branched_from")))
        if parent is None or not continues or parent.id in seen:
            return current.id
        seen.add(parent.id)
        current = parent
    return session_id


def decode_content(content: Any) -> str:
    """A stored content as text: lists of parts are kept as JSON behind a NUL."""
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if isinstance(content, str) and content.startswith(_JSON_PREFIX):
        try:
            return plain_text(json.loads(content[len(_JSON_PREFIX) :]))
        except ValueError:
            return ""
    return plain_text(content)


def _message(row: sqlite3.Row) -> HostMessage:
    timestamp = row["timestamp"]
    return HostMessage(
        id=row["id"],
        session_id=str(row["session_id"]),
        role=str(row["role"]),
        text=decode_content(row["content"]),
        timestamp=float(timestamp) if isinstance(timestamp, (int, float)) else 0.0,
        uid=str(row["message_uid"]) if row["message_uid"] else None,
        narration=row["role"] == "assistant" and row["tool_calls"] not in (None, "", "[]", "null"),
        hidden=row["display_kind"] == "hidden" or bool(row["_compressed_summary"]),
    )


def _session(row: sqlite3.Row) -> HostSession:
    def text(name: str) -> str:
        return "" if row[name] is None else str(row[name])

    return HostSession(
        id=text("id"),
        source=text("source"),
        user_id=text("user_id"),
        session_key=text("session_key"),
        parent=text("parent_session_id"),
        end_reason=text("end_reason"),
        model=text("model"),
        config=_config(row["model_config"]),
        folder=text("git_repo_root") or text("cwd"),
        rewinds=int(row["rewind_count"] or 0),
        archived=bool(row["archived"]) and not row["auto_archived"],
    )


def _config(stored: Any) -> Mapping[str, Any]:
    try:
        loaded = json.loads(stored) if stored else {}
    except (ValueError, TypeError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _chosen(table: str, present: frozenset[str]) -> Iterator[str]:
    """Every column we know, those this schema lacks as NULL."""
    yield from _NEEDED[table]
    for column in _WANTED[table]:
        yield column if column in present else f"NULL AS {column}"


def _columns_of(connection: sqlite3.Connection, path: Path) -> dict[str, frozenset[str]]:
    columns = {
        table: frozenset(row["name"] for row in connection.execute(f"PRAGMA table_info({table})")) for table in _NEEDED
    }
    missing = [f"{table}.{name}" for table, names in _NEEDED.items() for name in names if name not in columns[table]]
    if missing:
        raise StateDbUnavailable(
            "schema",
            f"{path} has a layout this version can't read (no {', '.join(missing[:3])}).",
            cure="Upgrade memory-os; new turns are remembered all the same.",
        )
    return columns


def _schema_of(connection: sqlite3.Connection) -> int:
    try:
        row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    except sqlite3.OperationalError:
        return 0
    return int(row[0] or 0)


def _unavailable(path: Path, error: sqlite3.DatabaseError) -> StateDbUnavailable:
    text = str(error)
    if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
        # Hermes 0.22 keeps a rollback journal (no WAL) where SQLite is old, and may leave in the middle of a write: its
        # next start rolls that back. We never write to its file, so we wait for that.
        return StateDbUnavailable("unfinished", f"{path} holds a write that Hermes did not finish; its next start mends that.")
    if "locked" in text or "busy" in text:
        return StateDbUnavailable("locked", f"{path} is locked by Hermes; the next round tries again.")
    if "not a database" in text or "malformed" in text or "corrupt" in text:
        return StateDbUnavailable("corrupt", f"{path} is damaged ({text}).", cure="`hermes doctor` knows how to mend it.")
    return StateDbUnavailable("unreadable", f"{path} can't be read ({text}).", cure="Check its owner and mode.")


def _parts(values: Sequence[Any], size: int = 500) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
