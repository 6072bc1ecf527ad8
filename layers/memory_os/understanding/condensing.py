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
    """Facts that were stated or read in this session and still hold, entries and lines that were read in it: the newest,
    oldest first; "" when there are none.

    `passages` gives those of a ref that is no fact's.
    """
    facts = store.rows(
        f"SELECT f.id, f.text, f.created_at FROM facts f WHERE f.scope = :scope AND f.session_id = :session AND {CURRENT}"
        " ORDER BY f.id DESC LIMIT :limit",
        {"scope": scope.key, "session": session_id, "now": now, "limit": LINES},
    )
    items = store.rows(
        "SELECT ref FROM understood_items WHERE scope = :scope AND session_id = :session AND ref NOT LIKE 'fact:%'"
        " GROUP BY ref ORDER BY max(id) DESC LIMIT :limit",
        {"scope": scope.key, "session": session_id, "limit": LINES},
    )
    others = [one for row in items for one in passages(row["ref"])[:1]]
    lines = [
        *((row["created_at"], _line(handle_for(row["id"], scope), row["created_at"], row["text"])) for row in facts),
        *((one.created_at, _line(one.handle, one.created_at, one.text)) for one in others),
    ]
    newest = sorted(lines)[-LINES:]
    return "\n".join([_HEAD, *(line for _, line in newest)]) if newest else ""


def _line(handle: str, at: float, text: str) -> str:
    plain = " ".join(text.split())
    return f'- ({handle}) {day_of(at)}: "{plain if len(plain) <= _CHARS else plain[:_CHARS].rstrip() + "…"}"'
