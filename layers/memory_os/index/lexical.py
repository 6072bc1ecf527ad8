"""Full text: the best by BM25, and of them those that the reader may see."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from memory_os.index.rows import marks, padded
from memory_os.store import Store
from memory_os.text.terms import stored_query

# A neighbour's words count less than the passage's own: measured best near this on dialogue turns.
NEIGHBOUR_WEIGHT = 0.3

# So many passages are looked up by one statement at least, where some are missing, and at most: SQLite takes 32,766 values.
_PAGE_LEAST, _PAGE_MAX = 8, 4000
# Full-text hits looked up for each one wanted, before all of them are.
_LEADING = 8

# pk, score (higher is better), the row of the pk and what was wanted.
Scored = tuple[int, float, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of a hit beside its pk: columns and the tables they are of, `passages p` among them; `bound` are its values."""

    columns: str
    bound: tuple[object, ...] = ()


def best_of(
    store: Store, terms: list[str], wanted: Wanted, where: str, values: tuple[object, ...], limit: int
) -> list[Scored]:
    """The best `limit` by a passage's words and, lighter, its neighbours', of those for which `where` holds. Best first."""
    if not terms:
        return []
    statement = f"SELECT p.pk, {wanted.columns} WHERE {where} AND p.pk IN"
    # The best by words first, then whose they are: looking up every passage with a common word costs more than the
    # search. Where too few of the best are the reader's own, all are looked up.
    for best in (_LEADING * limit, -1):
        scored = store.tuples(
            f"SELECT rowid, -bm25(passages_fts, 1.0, {NEIGHBOUR_WEIGHT}) AS score FROM passages_fts"
            " WHERE passages_fts MATCH ? ORDER BY score DESC, rowid DESC LIMIT ?",
            (stored_query(terms), best),
        )
        with closing(scored):
            hits, seen = _own(store, scored, statement, (*wanted.bound, *values), limit)
        if len(hits) == limit or seen < best or best < 0:
            break
    return hits


def _own(
    store: Store, scored: sqlite3.Cursor, statement: str, values: tuple[object, ...], limit: int
) -> tuple[list[Scored], int]:
    """The first `limit` of (pk, score) rows that the reader may see, and how many were looked at: most may be seen."""
    hits: list[Scored] = []
    seen, step = 0, limit
    while page := scored.fetchmany(step):
        seen += len(page)
        pks = [pk for pk, _ in page]
        rows = store.tuples(f"{statement} ({marks(pks)})", (*values, *padded(pks))).fetchall()
        own = {row[0]: row for row in rows}
        hits += [(pk, score, own[pk]) for pk, score in page if pk in own]
        if len(hits) >= limit:
            break
        # So many that the rest is among them if as few of them may be seen as of those before.
        step = min((limit - len(hits)) * seen * 5 // (max(len(hits), 1) * 4) + _PAGE_LEAST, _PAGE_MAX)
    return hits[:limit], seen
