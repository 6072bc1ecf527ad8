"""Where a forgotten message is still quoted: its neighbours keep its beginning beside their own words."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from memory_os.memory import Scope
from memory_os.sessions.archive import neighbour
from memory_os.store import Row, Store

_CHOSEN = "context IN (SELECT value FROM json_each(?))"
_QUOTING = f"FROM messages WHERE {_CHOSEN} AND (scope IN (SELECT value FROM json_each(?)) OR lineage IN (SELECT value FROM json_each(?)))"
_INDEXED = (
    f"FROM passages WHERE layer = 'sessions' AND {_CHOSEN} AND (scope IN (SELECT value FROM json_each(?)) OR session_id IN"
    " (SELECT session_id FROM conversations WHERE lineage IN (SELECT value FROM json_each(?))))"
)


@dataclass(slots=True)
class Quotes:
    """How some messages of one person are quoted, and the conversations in which anyone's message may quote them."""

    scope: Scope
    contexts: set[str] = field(default_factory=set)
    lineages: set[str] = field(default_factory=set)

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.contexts |= {neighbour(row["role"], row["text"])} - {""}
            self.lineages.add(row["lineage"])

    def messages(self, db: sqlite3.Connection) -> list[int]:
        """The messages that quote them. One pass over the table, however many they are."""
        if not self.contexts:
            return []
        return [row["id"] for row in db.execute(f"SELECT id {_QUOTING}", self._values()).fetchall()]

    def left(self, store: Store) -> int:
        """How many messages and passages quote them."""
        if not self.contexts:
            return 0
        return sum(int(store.value(f"SELECT count(*) {where}", self._values())) for where in (_QUOTING, _INDEXED))

    def _values(self) -> tuple[str, str, str]:
        return json.dumps(sorted(self.contexts)), self.scope.own_listed, json.dumps(sorted(self.lineages))
