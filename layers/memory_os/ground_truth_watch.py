"""Layer 7, watching: whether the agent searches for what already stands in its prompt.

Each retrieval-shaped tool call is recorded with the turn it belongs to; one whose question is answered by a line that
this turn was given counts as a rediscovery. Nothing is blocked or changed.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from memory_os.redact import redact
from memory_os.store import Store
from memory_os.text import plain_text, query_terms

# Tools that look something up in what memory-os also recalls.
RETRIEVAL_TOOLS = frozenset(
    {"session_search", "fact_store", "fabric_recall", "fabric_search", "qdrant_search", "search_files", "read_file"}
)
READING_ACTIONS = frozenset({"", "search", "probe", "related", "reason", "list"})
# Share of the call's words that one injected line has: below it, the line is about something else.
_REDISCOVERY_SHARE = 0.75
_QUESTION_KEYS = ("query", "q", "pattern", "entity", "path", "content")
_QUESTION_MAX_CHARS = 300
_READ_MAX_CHARS = 2000


class Watch:
    def __init__(self, store: Store) -> None:
        self._store = store

    def observe(self, payload: Mapping[str, Any], scope: str) -> str:
        """Record a finished retrieval call. Returns its verdict: `rediscovery`, `new`, or "" for what isn't one."""
        tool = plain_text(payload.get("tool_name") or payload.get("tool"))
        arguments = payload.get("arguments") or payload.get("args") or {}
        if payload.get("event") != "post_tool" or tool not in RETRIEVAL_TOOLS or not isinstance(arguments, Mapping):
            return ""
        if tool == "fact_store" and plain_text(arguments.get("action")) not in READING_ACTIONS:
            return ""
        question = next((plain_text(arguments[key]) for key in _QUESTION_KEYS if arguments.get(key)), "")
        turn_id = plain_text(payload.get("turn_id"))
        verdict = "rediscovery" if self._was_given(turn_id, question) else "new"
        # Redacted before it is cut: half a secret has no shape to be known by.
        kept = redact(question[:_READ_MAX_CHARS])[0][:_QUESTION_MAX_CHARS]
        with self._store.write() as db:
            db.execute(
                "INSERT INTO tool_calls(at, session_id, turn_id, scope, tool, query, verdict) VALUES(?, ?, ?, ?, ?, ?, ?)",
                (time.time(), plain_text(payload.get("session_id")), turn_id, scope, tool, kept, verdict),
            )  # fmt: skip
        if verdict == "rediscovery":
            self._store.count("rediscoveries", reason=tool)
        return verdict

    def _was_given(self, turn_id: str, question: str) -> bool:
        asked = set(query_terms(question))
        return bool(asked) and any(
            len(asked & set(query_terms(row["text"]))) >= _REDISCOVERY_SHARE * len(asked)
            for row in self._given(turn_id)
        )

    def _given(self, turn_id: str) -> list[sqlite3.Row]:
        return self._store.rows(
            "SELECT p.text FROM recall_lines l JOIN passages p ON p.id = l.passage_id WHERE l.turn_id = ? AND l.shown = 1",
            (turn_id,),
        )
