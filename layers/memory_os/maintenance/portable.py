"""Facts as plain records, out of one memory and into another: what an agent knows of a person, in lines of JSON.

A record has `text`, and may have `category`, `tags`, `entities`, `author`, `created_at`, `valid_from` and `valid_to` (epoch
seconds). Taking records in again changes nothing: a fact that is there is the same fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memory_os.errors import BadRequest
from memory_os.facts import Facts
from memory_os.facts.fact import CURRENT, FACT_SELECT, Statement, fact_of
from memory_os.memory import Author, Scope, content_hash
from memory_os.store import tombstones

ORIGIN = "import"


def exported(facts: Facts, scope: Scope, now: float) -> list[dict[str, Any]]:
    """What one person's memory holds true now, oldest first."""
    rows = facts.store.rows(
        f"{FACT_SELECT} WHERE f.scope IN (SELECT value FROM json_each(:scopes)) AND {CURRENT} ORDER BY f.id",
        {"scopes": scope.own_listed, "now": now},
    )
    return [
        {
            "text": fact.text, "category": fact.category, "tags": list(fact.tags), "entities": list(fact.entities),
            "author": fact.author.value, "created_at": fact.created_at, "valid_from": fact.valid_from,
            "valid_to": fact.valid_to,
        }
        for fact in map(fact_of, rows)
    ]  # fmt: skip


def imported(facts: Facts, scope: Scope, records: Sequence[Any], now: float) -> dict[str, int]:
    """Take records in. Returns how many were `added`, are `known`, were `forgotten` here, or `refused` as no fact."""
    outcomes: Counter[str] = Counter({"added": 0, "known": 0, "forgotten": 0, "refused": 0})
    for record in records:
        try:
            outcomes[_take(facts, scope, record, now)] += 1
        except (BadRequest, ValueError, TypeError):
            outcomes["refused"] += 1
    return dict(outcomes)


def _take(facts: Facts, scope: Scope, record: Any, now: float) -> str:
    statement, created_at = _statement(scope, record), _time(record, "created_at")
    with facts.store.write() as db:
        # At the time it was learned: an import makes nothing new, and no restatement of what is there.
        at = now if created_at is None else min(created_at, now)
        forgotten = tombstones.forgotten_of(db, scope.own, content_hash(statement.text))
        # Stated anew since it was forgotten, it counts; when something undated was stated, nobody knows.
        if forgotten is not None and (created_at is None or at <= forgotten):
            return "forgotten"
        if facts.find_same(db, statement, at) is not None:
            return "known"
        facts.state(statement, at)
    return "added"


def _statement(scope: Scope, record: Any) -> Statement:
    """Raises ValueError or TypeError for what has another shape."""
    if not isinstance(record, Mapping) or not isinstance(record.get("text"), str):
        raise TypeError("a record is an object with `text`")
    return Statement(
        record["text"],
        scope,
        category=str(record.get("category") or "general"),
        tags=tuple(str(one) for one in record.get("tags") or ()),
        entities=tuple(str(one) for one in record.get("entities") or ()),
        author=Author(record.get("author") or Author.USER.value),
        origin=ORIGIN,
        valid_from=_time(record, "valid_from"),
        valid_to=_time(record, "valid_to"),
    )


def _time(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    return None if value is None else float(value)
