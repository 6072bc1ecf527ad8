"""Which passages have no point in the vector collection: those that are archived, or whose time is over.

A search by meaning takes the nearest points before memory.db says which of them a reader may see now: hundreds of archived
messages would take the places of the one that still stands. So they leave the collection, and come back from their stored
embeddings when they are brought back. What begins later has its point before its day; the search itself leaves it out till then.
"""

from __future__ import annotations

from memory_os.store import Store

__all__ = ["CLOSED", "take_points_along"]

# Of `passages.indexed`: 0 waits for its point, 1 has it.
CLOSED = 2

# In the words of the partial indexes (store/schema.py), which hold what is to be done and what is closed by its time only.
_ARCHIVED = "SELECT pk FROM passages INDEXED BY passages_archived WHERE archived = 1 AND indexed < 2"
_OVER = "SELECT pk FROM passages INDEXED BY passages_ending WHERE valid_to IS NOT NULL AND indexed < 2 AND valid_to <= :now"
_OPEN_AGAIN = (
    "SELECT pk FROM passages INDEXED BY passages_closed WHERE indexed = 2 AND archived = 0"
    " AND (valid_to IS NULL OR valid_to > :now)"
)
# A transaction's worth: a turn that writes meanwhile waits for no more.
_PAGE = 2000


def take_points_along(store: Store, now: float) -> int:
    """Mark what was archived or is over by `now` (epoch seconds) as closed, its point to be deleted; and what is neither any
    more as waiting for its point. Returns how many passages were marked; nothing is written where nothing changed.

    Whoever archives need not think of it, and a time that passes without anybody's doing is seen as well.
    """
    marked = 0
    while changed := _page(store, now):
        marked += changed
    return marked


def _page(store: Store, now: float) -> int:
    values = {"now": now, "most": _PAGE}
    closing = [row["pk"] for row in store.rows(f"{_ARCHIVED} UNION {_OVER} LIMIT :most", values)]
    opening = [row["pk"] for row in store.rows(f"{_OPEN_AGAIN} LIMIT :most", values)]
    if not closing and not opening:
        return 0
    with store.write() as db:
        # The id by the pk: a passage that was replaced since has another, and an id of its own to look after.
        db.executemany(
            "INSERT OR IGNORE INTO deleted_points(id) SELECT id FROM passages WHERE pk = ?", [(pk,) for pk in closing]
        )
        db.executemany(f"UPDATE passages SET indexed = {CLOSED} WHERE pk = ?", [(pk,) for pk in closing])
        db.executemany(
            "DELETE FROM deleted_points WHERE id = (SELECT id FROM passages WHERE pk = ?)", [(pk,) for pk in opening]
        )
        db.executemany("UPDATE passages SET indexed = 0 WHERE pk = ?", [(pk,) for pk in opening])
    return len(closing) + len(opening)
