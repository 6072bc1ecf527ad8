"""What is kept of a session so far, in a few lines: the host's own summary is given them before it compacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory_os.facts.fact import CURRENT, handle_for
from memory_os.memory import Passage, Scope
from memory_os.recall.rendering import day_of
from memory_os.store import Store

LINES = 12
_CHARS = 240
_HEAD = "What memory-os keeps of this conversation, with ids by which it is found again. Quoted notes:"


def condensed(
    store: Store, passages: Callable[[str], Sequence[Passage]], session_id: str, scope: Scope, now: float
) -> str:
    """The newest items that rest on turns of this session and still hold, oldest first; "" when there are none.

    `passages` gives those of a ref that is no fact's.
    """
    rows = store.rows(
        f"SELECT i.ref, i.at, f.id AS fact, f.text FROM understood_items i LEFT JOIN facts f ON i.ref = 'fact:' || f.id"
        f" AND {CURRENT} WHERE i.scope = :scope AND i.session_id = :session"
        " AND (f.id IS NOT NULL OR i.ref NOT LIKE 'fact:%') GROUP BY i.ref ORDER BY max(i.id) DESC LIMIT :limit",
        {"scope": scope.key, "session": session_id, "now": now, "limit": 2 * LINES},
    )
    lines: list[str] = []
    for row in rows:
        if row["fact"] is not None:
            lines.append(_line(handle_for(row["fact"], scope), row["at"], row["text"]))
        else:
            lines += [_line(one.handle, one.created_at, one.text) for one in passages(row["ref"])[:1]]
    return "\n".join([_HEAD, *reversed(lines[:LINES])]) if lines else ""


def _line(handle: str, at: float, text: str) -> str:
    plain = " ".join(text.split())
    return f'- ({handle}) {day_of(at)}: "{plain if len(plain) <= _CHARS else plain[:_CHARS].rstrip() + "…"}"'
