"""A state.db as Hermes writes it: schema 22 (0.19) or 31 (0.22), with the columns and indexes that matter to a reader."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

_SESSIONS_22 = """
CREATE TABLE sessions(
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT,
    model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL,
    ended_at REAL, end_reason TEXT, cwd TEXT, git_branch TEXT, git_repo_root TEXT, title TEXT, profile_name TEXT,
    rewind_count INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0 {more})
"""
_MESSAGES_22 = """
CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, observed INTEGER DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT {more})
"""
_SESSIONS_31 = ", auto_archived INTEGER NOT NULL DEFAULT 0, system_prompt_hash TEXT, pinned INTEGER NOT NULL DEFAULT 0"
_MESSAGES_31 = ", _compressed_summary INTEGER NOT NULL DEFAULT 0, display_kind TEXT, message_uid TEXT"


_LEFT_UNFINISHED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=DELETE")
db.execute("PRAGMA cache_size=1")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE filler(text)")
db.executemany("INSERT INTO filler VALUES(?)", [("x" * 3000,)] * 200)
os._exit(0)
"""


def leave_unfinished(path: Path) -> None:
    """End a process in the middle of its write to state.db, as Hermes 0.22 may where it keeps no WAL."""
    subprocess.run([sys.executable, "-c", _LEFT_UNFINISHED, str(path)], check=True, timeout=60)
    assert Path(f"{path}-journal").stat().st_size > 0


class HostDb:
    """The host's side: sessions and messages, written as Hermes would."""

    def __init__(self, path: Path, schema: int = 22) -> None:
        self.path = path
        self.schema = schema
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        newer = schema >= 31
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("CREATE TABLE schema_version(version INTEGER NOT NULL)")
        self.connection.execute("INSERT INTO schema_version VALUES(?)", (schema,))
        self.connection.execute(_SESSIONS_22.format(more=_SESSIONS_31 if newer else ""))
        self.connection.execute(_MESSAGES_22.format(more=_MESSAGES_31 if newer else ""))

    def session(self, name: str, source: str = "cli", **columns: Any) -> str:
        if isinstance(columns.get("model_config"), dict):
            columns["model_config"] = json.dumps(columns["model_config"])
        return str(self._insert("sessions", {"id": name, "source": source, "started_at": 1.0, **columns}) and name)

    def message(self, session: str, role: str, content: Any, at: float, **columns: Any) -> int:
        if isinstance(content, list):
            content = "\x00json:" + json.dumps(content)
        return self._insert(
            "messages", {"session_id": session, "role": role, "content": content, "timestamp": at, **columns}
        )

    def update(self, table: str, key: Any, **columns: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self.connection.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*columns.values(), key))

    def compact_in_place(self, session: str, keep: int) -> None:
        """Archive every live row and insert the last `keep` again, as the host's in-place compaction does."""
        live = self.connection.execute(
            "SELECT id, role, content, timestamp FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", (session,)
        ).fetchall()
        self.connection.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ?", (session,))
        self.message(session, "assistant", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.", live[-1][3])
        for _, role, content, at in live[-keep:]:
            self.message(session, role, content, at)

    def rewind(self, session: str, from_id: int) -> None:
        self.connection.execute("UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ?", (session, from_id))
        self.connection.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session,))

    def close(self) -> None:
        self.connection.close()

    def _insert(self, table: str, columns: dict[str, Any]) -> int:
        names, marks = ", ".join(columns), ",".join("?" * len(columns))
        cursor = self.connection.execute(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(columns.values()))
        assert cursor.lastrowid is not None
        return cursor.lastrowid
