"""The proof of a forgetting: the search made again, and where the words still stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_os.forgetting.likeness import coverage
from memory_os.forgetting.meaning import listed, own_scopes
from memory_os.forgetting.targets import Gone
from memory_os.index import Index
from memory_os.memory import Passage, Scope, content_hash
from memory_os.store import Store
from memory_os.text import query_terms
from memory_os.tooling import Caller

__all__ = ["PROVED", "proved"]

# Texts that are searched for again as proof; each costs a query.
PROVED = 50
# A remaining memory with this share of a forgotten one's words probably says the same (the answer that repeated it).
SIMILAR = 0.75


def proved(store: Store, index: Index, gone: Gone, caller: Caller) -> dict[str, Any]:
    """The tool's answer. `found` must be 0; `similar` are memories left that probably say the same."""
    searched = list(dict.fromkeys(gone.texts))[:PROVED]
    left, similar = _searched_again(index, searched, gone, caller)
    found = left + _rows_left(store, searched, caller.scope) + gone.quotes.left(store)
    result: dict[str, Any] = {
        "status": "incomplete" if found or gone.unfinished else "forgotten",
        "forgotten": {name: count for name, count in gone.counts.items() if count},
        "proof": {"searched_again": len(searched), "found": found},
    }
    if gone.cuts:
        result["documents"] = [{"path": cut.path, "forgotten": cut.gone, "left": cut.left} for cut in gone.cuts]
    if similar:
        result["similar"] = [listed(passage) for passage in similar[:5]]
        result["next"] = "These say nearly the same: call again with their ids to forget them too."
    notes = [*gone.unfinished, *gone.notes]
    if notes:
        result["notes"] = list(dict.fromkeys(notes))
    return result


def _searched_again(index: Index, texts: Sequence[str], gone: Gone, caller: Caller) -> tuple[int, list[Passage]]:
    """How many passages should be gone and are not, and those of the caller's own that are much alike."""
    left: set[str] = set()
    similar: dict[str, Passage] = {}
    for text in texts:
        terms = query_terms(text)
        hits = index.lexical(terms, caller.scope.readable, limit=20, now=caller.now, closed=True)
        for passage in index.passages([hit.pk for hit in hits]).values():
            same = passage.scope in caller.scope.own and passage.content_hash == content_hash(text)
            if passage.id in gone.passage_ids or same:
                left.add(passage.handle)
            elif passage.scope in own_scopes(caller) and coverage(terms, passage.text) >= SIMILAR:
                similar[passage.handle] = passage
    return len(left), list(similar.values())


def _rows_left(store: Store, texts: Sequence[str], scope: Scope) -> int:
    """Rows that still hold one of the texts."""
    count = 0
    for text in texts:
        for table in ("messages", "facts"):
            held = f"SELECT count(*) FROM {table} WHERE scope IN (SELECT value FROM json_each(?)) AND text = ?"
            count += int(store.value(held, (scope.own_listed, text)))
    return count
