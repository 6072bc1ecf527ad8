"""Where a new fact stands to what is known: beside it, in its place, before it in time, or against it.

A fact replaces those with the same subject and relation, and the one the model named, if what it rests on was said later,
and the model is sure enough. What was said earlier becomes their history. What can't be ordered in time stays on both
sides, marked; an unsure verdict is only a proposal. Every step is one of the facts layer's, and can be undone there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memory_os.facts import Fact, Facts, Statement
from memory_os.facts.entities import entity_key
from memory_os.facts.fact import FACT_SELECT, fact_of
from memory_os.memory import Author, Scope

# Below this a model's word that something has changed is a proposal for a person or the agent to settle.
SURE = 0.7
# Entries of MEMORY.md and USER.md are the host's to change: what speaks against one is marked.
_MIRRORED = "memory:"

Placement = Literal["added", "strengthened", "superseded", "history", "proposed", "contradiction"]
Order = Literal["later", "earlier", "unknown"]


@dataclass(frozen=True, slots=True)
class Relation:
    """What a fact says of what. `several`: there may be several values at a time."""

    subject: str
    relation: str
    several: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return entity_key(self.subject), entity_key(self.relation)

    def __bool__(self) -> bool:
        return all(self.key)


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of a statement."""

    outcome: Placement
    fact: Fact


def place(
    facts: Facts, statement: Statement, relation: Relation, *, at: float, confidence: float, named: int | None = None
) -> Placed:
    """Keep a statement that was said at `at` (epoch seconds). `named`: id of the known fact that the model says it replaces.

    One transaction. Raises BadRequest for bad text.
    """
    with facts.store.write() as db:
        same = facts.find_same(db, statement, at)
        if same is not None:
            kept = facts.state(statement, at).fact
            relate(db, kept, relation)
            return Placed("strengthened", kept)
        olds = _replaced(db, statement.scope, relation, named, at)
        if not olds:
            return Placed("added", _stated(facts, db, statement, relation, at))
        if confidence < SURE:
            new = _stated(facts, db, statement, relation, at)
            for old in olds:
                facts.propose(old, new, at)
            return Placed("proposed", new)
        return _ordered(facts, db, statement, relation, olds, at)


def order(old: Fact, at: float) -> Order:
    """Whether what was said at `at` came after what an old fact says, as far as time can tell."""
    if old.author is Author.USER or old.origin.startswith(_MIRRORED):
        return "unknown"
    since = begun(old)
    return "unknown" if at == since else "later" if at > since else "earlier"


def begun(fact: Fact) -> float:
    """Since when a fact holds, in epoch seconds: as it says itself, else since it was stated."""
    return fact.created_at if fact.valid_from is None else fact.valid_from


def relate(db: sqlite3.Connection, fact: Fact, relation: Relation) -> None:
    """Note what a fact says of what, once."""
    if relation:
        db.execute(
            "INSERT OR IGNORE INTO fact_relations(fact_id, scope, subject, relation, several) VALUES(?, ?, ?, ?, ?)",
            (fact.id, fact.scope, *relation.key, int(relation.several)),
        )


def _ordered(
    facts: Facts, db: sqlite3.Connection, statement: Statement, relation: Relation, olds: Sequence[Fact], at: float
) -> Placed:
    """What was said earlier or can't be ordered decides before what was said later."""
    since = at if statement.valid_from is None else statement.valid_from
    orders = {old.id: order(old, since) for old in olds}
    earlier = [old for old in olds if orders[old.id] == "earlier"]
    unknown = [old for old in olds if orders[old.id] == "unknown"]
    if earlier:
        next_one = min(earlier, key=begun)
        new = _stated(facts, db, statement, relation, at)
        facts.supersede(new, next_one, begun(next_one), turn=statement.evidence)
        return Placed("history", replace(new, superseded_by=next_one.id, valid_to=begun(next_one)))
    if unknown:
        new = _stated(facts, db, statement, relation, at)
        for old in unknown:
            facts.mark(old, new, at)
        return Placed("contradiction", new)
    new = _stated(facts, db, statement, relation, at)
    for number, old in enumerate(olds):
        facts.supersede(old, new, since, turn=statement.evidence, born=number == 0)
    return Placed("superseded", new)


def _stated(facts: Facts, db: sqlite3.Connection, statement: Statement, relation: Relation, at: float) -> Fact:
    kept = facts.state(statement, at).fact
    relate(db, kept, relation)
    return kept


def _replaced(db: sqlite3.Connection, scope: Scope, relation: Relation, named: int | None, at: float) -> list[Fact]:
    """Live facts whose place the new one may take, the latest first."""
    rows: Iterable[sqlite3.Row] = ()
    if relation and not relation.several:
        rows = db.execute(
            f"{FACT_SELECT} JOIN fact_relations r ON r.fact_id = f.id WHERE f.scope = ? AND r.subject = ? AND r.relation = ?"
            " AND r.several = 0 AND f.superseded_by IS NULL AND f.removed_at IS NULL"
            " AND (f.valid_to IS NULL OR f.valid_to > ?)",
            (scope.key, *relation.key, at),
        ).fetchall()
    found = {one.id: one for one in map(fact_of, rows)}
    if named is not None:
        row = db.execute(f"{FACT_SELECT} WHERE f.id = ? AND f.scope = ?", (named, scope.key)).fetchone()
        fresh = None if row is None else fact_of(row)
        if fresh is not None and fresh.live:
            found[fresh.id] = fresh
    return sorted(found.values(), key=begun, reverse=True)
