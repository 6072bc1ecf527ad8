"""Full text: the best by BM25, and of them those that the reader may see."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_os.index.rows import marks, padded
from memory_os.store import Store
from memory_os.text.terms import stored_query

# A neighbour's words count less than the passage's own: measured best near this on dialogue turns.
NEIGHBOUR_WEIGHT = 0.3

# So many passages are looked up by one statement at least, where some are missing, and at most: SQLite takes 32,766 values.
_PAGE_LEAST, _PAGE_MAX = 8, 4000
# Full-text hits looked up for each one wanted, before all of them are.
_LEADING = 8
# Of very many with one of the terms, so many are scored for each one wanted: of 60 questions of 100,000 passages the best 144 were
# the same as with all.
_WEIGHTIEST = 3
_AMONG = "AND +rowid IN (SELECT value FROM json_each(?))"
_WITH_TERM = "SELECT group_concat(rowid) FROM passages_fts WHERE passages_fts MATCH ?"

# pk, score (higher is better), the row of the pk and what was wanted.
Scored = tuple[int, float, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of a hit beside its pk: columns and the tables they are of, `passages p` among them; `bound` are its values."""

    columns: str
    bound: tuple[object, ...] = ()


def best_of(
    store: Store,
    terms: list[str],
    wanted: Wanted,
    where: str,
    values: tuple[object, ...],
    limit: int,
    weights: Sequence[float] = (),
) -> list[Scored]:
    """The best `limit` by a passage's words and, lighter, its neighbours', of those for which `where` holds. Best first.

    `weights`, of the terms, where very many passages have one of them: then only the leading by those are scored at first.
    """
    if not terms:
        return []
    statement = f"SELECT p.pk, {wanted.columns} WHERE {where} AND p.pk IN"
    for among, bound, most in _passes(store, terms, weights, limit):
        scored = store.tuples(
            f"SELECT rowid, -bm25(passages_fts, 1.0, {NEIGHBOUR_WEIGHT}) AS score FROM passages_fts"
            f" WHERE passages_fts MATCH ? {among} ORDER BY score DESC, rowid DESC LIMIT ?",
            (stored_query(terms), *bound, most),
        )
        with closing(scored):
            hits, seen = _own(store, scored, statement, (*wanted.bound, *values), limit)
        if len(hits) == limit or (not among and seen < most):
            break
    return hits


def _passes(
    store: Store, terms: list[str], weights: Sequence[float], limit: int
) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """(condition, its values, how many rows at most): the best by words first, then whose they are, for looking up every
    passage with a common word costs more than the search. Where too few are the reader's own, all are looked up."""
    if weights:
        yield _AMONG, (_leading(store, terms, weights, _WEIGHTIEST * limit),), -1
    yield "", (), _LEADING * limit
    yield "", (), -1


def _leading(store: Store, terms: list[str], weights: Sequence[float], most: int) -> str:
    """The passages that have the weightiest terms together, of equals the newest, as a JSON list of their pks.

    BM25 of a passage takes a hundred times as long as finding that it has a term, and differs little from these sums.
    """
    found = [store.value(_WITH_TERM, (stored_query([term]),)) or "" for term in terms]
    pks = [np.fromstring(listed, np.int64, sep=",") for listed in found]
    every, place = np.unique(np.concatenate(pks), return_inverse=True)
    sums = np.bincount(place, np.repeat(weights, [len(one) for one in pks]), minlength=len(every))
    return json.dumps(every[np.lexsort((every, sums))[-most:]].tolist())


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
