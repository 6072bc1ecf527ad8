"""The traces of what went: lines of the recall ledger, uses and misses, recorded tool calls, records in the spool."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from memory_os.forgetting.likeness import share, words
from memory_os.forgetting.meaning import COVERAGE
from memory_os.forgetting.spool import Forgotten, remove_traces
from memory_os.forgetting.targets import Gone, Targets
from memory_os.memory import Scope
from memory_os.store import Store
from memory_os.text import query_terms

__all__ = ["forget_lines", "forget_queries", "forget_records"]

_OWN = "scope IN (SELECT value FROM json_each(?))"


def forget_lines(db: sqlite3.Connection, targets: Targets, scope: Scope, gone: Gone) -> None:
    """Lines of the injection ledger; of a whole session or person, all records of its recalls and tool calls."""
    db.executemany("DELETE FROM duty_steps WHERE passage_id = ?", [(one,) for one in gone.passage_ids])
    for passage_id in gone.passage_ids:
        lines = db.execute("DELETE FROM recall_lines WHERE passage_id = ?", (passage_id,))
        gone.counts["ledger lines"] += lines.rowcount
        for table in ("line_uses", "misses"):
            db.execute(f"DELETE FROM {table} WHERE passage_id = ?", (passage_id,))
    if targets.everything:
        db.execute(f"DELETE FROM recalls WHERE {_OWN}", (scope.own_listed,))
        gone.counts["telemetry"] += db.execute(f"DELETE FROM tool_calls WHERE {_OWN}", (scope.own_listed,)).rowcount
    elif targets.session_id:
        whose = (targets.session_id, scope.own_listed)
        db.execute(f"DELETE FROM recalls WHERE session_id = ? AND {_OWN}", whose)
        calls = db.execute(f"DELETE FROM tool_calls WHERE session_id = ? AND {_OWN}", whose)
        gone.counts["telemetry"] += calls.rowcount


def forget_queries(store: Store, scope: Scope, gone: Gone) -> None:
    """Recorded tool calls of the turns that went, or whose query has the words. Compared outside a transaction."""
    said = [words(text) for text in gone.texts]
    about = []
    for row in store.rows(f"SELECT id, turn_id, query FROM tool_calls WHERE {_OWN}", (scope.own_listed,)):
        asked = query_terms(row["query"])
        if row["turn_id"] in gone.turns or any(share(asked, one) >= COVERAGE for one in said):
            about.append((row["id"],))
    with store.write() as db:
        db.executemany("DELETE FROM tool_calls WHERE id = ?", about)
    gone.counts["telemetry"] += len(about)


def forget_records(spool: Path, aliases: Mapping[str, str], targets: Targets, scope: Scope, gone: Gone) -> None:
    """Captured records that were rejected, or wait for a retry."""
    forgotten = Forgotten(scope, list(dict.fromkeys(gone.texts)), targets.session_id, targets.everything)
    gone.counts["spool records"] = remove_traces(spool, forgotten, aliases)
