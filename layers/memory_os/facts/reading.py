"""Finding facts: by id, by entity, through entities, by words, and in pairs that disagree.

Every SELECT carries the reader's own scopes; there is no shared fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from memory_os.config import Settings
from memory_os.errors import BadRequest
from memory_os.facts.entities import distinct, entity_key, mentions
from memory_os.facts.fact import (
    CURRENT,
    FACT_SELECT,
    Conflict,
    Fact,
    Linked,
    fact_of,
    passage_for,
    source_of,
    storable,
)
from memory_os.facts.likeness import near_equal, near_key, normal_form
from memory_os.facts.trust import Posterior, posterior
from memory_os.index import Index
from memory_os.memory import Health, Layer, Passage, Scope, State
from memory_os.store import Store
from memory_os.text import index_terms, query_terms
from memory_os.tooling import Caller, Searcher

# Full-text candidates looked at for one entity or one filtered search.
CANDIDATES = 500

_ID = re.compile(r"^(?:fact:|#)?(\d{1,18})$")


class FactReader:
    """The reading half of the layer. Thread-safe: reads run on the store's connection of this thread."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self.store = store
        self.index = index
        self.half_life_days = settings.values.facts.half_life_days
        self.searcher: Searcher | None = None

    def posterior(self, fact: Fact, now: float) -> Posterior:
        return posterior(fact.counts, now, self.half_life_days)

    def get(self, reference: str | int, scope: Scope) -> Fact:
        """The fact behind `7`, `fact:7` or a handle `f:abcdefgh`, corrected and removed ones too.

        Raises BadRequest if this scope has none such; another user's fact is as absent as one that never was.
        """
        text = storable(str(reference)).strip().strip("()")
        number = _ID.match(text)
        where, value = ("f.id = ?", int(number[1])) if number else ("f.handle = ?", text.lower())
        row = self.store.row(f"{FACT_SELECT} WHERE f.scope IN (SELECT value FROM json_each(?)) AND {where}", (scope.own_listed, value))
        if row is None:
            raise BadRequest(
                f"There is no fact {text[:40]!r}.", cure="Take the id (f:…) from a recalled line, search or list."
            )
        return fact_of(row)

    def find(self, text: str, scope: Scope) -> Fact | None:
        """The live fact that states this text, or nearly so; None if there is none."""
        clean = storable(text)
        rows = self.store.rows(
            f"{FACT_SELECT} WHERE f.scope IN (SELECT value FROM json_each(?)) AND f.near_key = ?"
            " AND f.superseded_by IS NULL AND f.removed_at IS NULL"
            " ORDER BY f.normal = ? DESC, f.id",
            (scope.own_listed, near_key(clean), normal_form(clean)),
        )
        return next((fact_of(row) for row in rows if near_equal(row["text"], clean)), None)

    def ids(self, scope: Scope, *, session_id: str = "") -> list[int]:
        """All fact ids of a scope, history included; of one session if named."""
        rows = self.store.rows(
            "SELECT id FROM facts WHERE scope IN (SELECT value FROM json_each(?)) AND (? = '' OR session_id = ?) ORDER BY id",
            (scope.own_listed, session_id, session_id),
        )
        return [row["id"] for row in rows]

    def current(self, scope: Scope, now: float, *, category: str = "") -> list[Fact]:
        """What is held true now, newest first."""
        condition = "AND (:category = '' OR f.category = :category) ORDER BY f.created_at DESC, f.id DESC"
        return self._current(condition, scope, now, category=category)

    def as_of(self, scope: Scope, at: float, *, category: str = "", entity: str = "") -> list[Fact]:
        """What was held true at a time (epoch seconds), newest first: what has been replaced since is among it.

        A fact holds from `valid_from`, or from when it was stated, until it was replaced, removed or ran out.
        """
        rows = self.store.rows(
            f"{FACT_SELECT} WHERE f.scope IN (SELECT value FROM json_each(:scopes))"
            " AND coalesce(f.valid_from, f.created_at) <= :at"
            " AND (f.valid_to IS NULL OR f.valid_to > :at) AND (:category = '' OR f.category = :category)"
            " ORDER BY f.created_at DESC, f.id DESC",
            {"scopes": scope.own_listed, "at": at, "category": category},
        )
        name = storable(entity)
        key = entity_key(name)
        return [
            fact for fact in map(fact_of, rows)
            if not key or mentions(fact.text, name) or key in map(entity_key, fact.entities)
        ]  # fmt: skip

    def search(self, query: str, caller: Caller, limit: int, category: str = "") -> list[Fact]:
        """Facts on the words (and, with the engine's searcher, the meaning) of a query, best first; of one category, or of all."""
        clean = storable(query)
        of_it = [source_of(one) for one in self._ids_of(category, caller)] if category else None
        if self.searcher is not None:
            passages = self.searcher(clean, caller, [Layer.FACTS], limit, of_it)
            return self._by_source([passage.source for passage in passages], caller.scope, caller.now)
        return self._lexical(query_terms(clean), caller.scope, caller.now, limit, of_it)

    def on_entity(self, entity: str, scope: Scope, now: float) -> list[Fact]:
        """All facts on an entity: linked to it, or naming it in their text. Newest first."""
        name = storable(entity)
        key = entity_key(name)
        linked = self._current(
            "AND f.id IN (SELECT fact_id FROM fact_entities WHERE key = :key)", scope, now, key=key
        )
        phrase = index_terms(name).strip()
        named = self._lexical([phrase] if phrase else [], scope, now, CANDIDATES)
        found = {fact.id: fact for fact in linked}
        found |= {fact.id: fact for fact in named if mentions(fact.text, name)}
        return sorted(found.values(), key=lambda fact: (-fact.created_at, -fact.id))

    def related(self, entity: str, scope: Scope, now: float) -> list[Linked]:
        """Facts that share an entity with the facts on `entity`, without being on it themselves; most shared first."""
        own = self.on_entity(entity, scope, now)
        shared = _entity_names(own, without={entity_key(storable(entity))})
        near = self._having(shared, scope, now)
        taken = {fact.id for fact in own}
        linked = [Linked(fact, _shared(fact, shared)) for fact in near if fact.id not in taken]
        return sorted(linked, key=lambda one: -len(one.via))

    def connecting(self, entities: Sequence[str], scope: Scope, now: float) -> list[Linked]:
        """Facts on two or more of the entities, most first; then pairs of facts that meet in a third entity.

        Raises BadRequest for fewer than two entities.
        """
        names = distinct([storable(name) for name in entities])
        if len(names) < 2:
            raise BadRequest("reason needs two or more entities.", cure="Give entities=[…], or use probe for one.")
        sets = {name: {fact.id: fact for fact in self.on_entity(name, scope, now)} for name in names}
        facts = {fact.id: fact for found in sets.values() for fact in found.values()}
        matched = {one: tuple(name for name in names if one in sets[name]) for one in facts}
        direct = [Linked(facts[one], on) for one, on in matched.items() if len(on) > 1]
        lists = {name: list(found.values()) for name, found in sets.items()}
        bridges = _bridges(lists, taken={one.fact.id for one in direct})
        return sorted(direct, key=lambda one: (-len(one.via), -one.fact.created_at)) + bridges

    def conflicts(self, scope: Scope, now: float, entity: str = "") -> list[Conflict]:
        """Pairs of current facts that contradict, recorded ones first; then those that may, unless judged consistent.

        A consistent verdict hides a mere candidate, never a recorded contradiction.
        """
        rows = self.store.rows(
            "SELECT c.* FROM fact_conflicts c JOIN facts f ON f.id = c.a JOIN facts g ON g.id = c.b"
            " WHERE f.scope IN (SELECT value FROM json_each(:scopes)) AND g.scope = f.scope"
            " AND (c.marked_at IS NOT NULL OR c.consistent_at IS NULL)"
            " ORDER BY c.marked_at IS NULL, c.found_at DESC",
            {"scopes": scope.own_listed},
        )
        facts = {one.id: one for one in self._by_id({row[side] for row in rows for side in "ab"}, scope, now)}
        wanted = {one.id for one in self.on_entity(entity, scope, now)} if entity else facts.keys()
        return [
            Conflict(facts[row["a"]], facts[row["b"]], row["found_at"], row["marked_at"], row["consistent_at"])
            for row in rows
            if row["a"] in facts and row["b"] in facts and (row["a"] in wanted or row["b"] in wanted)
        ]

    def contradicted(self, fact_ids: Iterable[int]) -> dict[int, list[int]]:
        """For each of these facts, the live facts it is recorded to contradict. Pairs never cross scopes."""
        wanted = json.dumps(list(fact_ids))
        rows = self.store.rows(
            "SELECT c.a, c.b FROM fact_conflicts c JOIN facts f ON f.id = c.a JOIN facts g ON g.id = c.b"
            " WHERE c.marked_at IS NOT NULL AND f.superseded_by IS NULL AND f.removed_at IS NULL"
            " AND g.superseded_by IS NULL AND g.removed_at IS NULL"
            " AND (c.a IN (SELECT value FROM json_each(:ids)) OR c.b IN (SELECT value FROM json_each(:ids)))",
            {"ids": wanted},
        )
        found: dict[int, list[int]] = {one: [] for one in json.loads(wanted)}
        for row in rows:
            for one, other in ((row["a"], row["b"]), (row["b"], row["a"])):
                if one in found:
                    found[one].append(other)
        return {one: others for one, others in found.items() if others}

    def history(self, fact: Fact) -> list[Fact]:
        """All versions of a fact, oldest first, the given one among them."""
        rows = self.store.rows(
            f"""
            WITH RECURSIVE later(id) AS (
                VALUES(:id) UNION SELECT f.superseded_by FROM facts f JOIN later ON f.id = later.id
                WHERE f.superseded_by IS NOT NULL
            ), versions(id) AS (
                SELECT id FROM later UNION SELECT f.id FROM facts f JOIN versions ON f.superseded_by = versions.id
            )
            {FACT_SELECT} WHERE f.id IN (SELECT id FROM versions) AND f.scope = :scope ORDER BY f.id
            """,
            {"id": fact.id, "scope": fact.scope},
        )
        return [fact_of(row) for row in rows]

    def passage(self, fact: Fact, now: float) -> Passage:
        return passage_for(fact, self.posterior(fact, now).mean)

    def health(self) -> Health:
        """How much is held, over all scopes; full-text search needs no model, so the layer is never degraded by one."""
        row = self.store.row(
            "SELECT count(*) AS kept, coalesce(sum(superseded_by IS NULL AND removed_at IS NULL), 0) AS live,"
            " (SELECT count(DISTINCT key) FROM fact_entities) AS entities,"
            " (SELECT count(*) FROM fact_conflicts WHERE marked_at IS NOT NULL) AS contradictions FROM facts"
        )
        figures: dict[str, float | int | str] = {} if row is None else {key: row[key] for key in row.keys()}  # noqa: SIM118
        if not figures.get("live"):
            return Health(State.EMPTY, "no facts yet", figures=figures)
        detail = f"{figures['live']} facts on {figures['entities']} entities"
        return Health(State.OK, detail, figures=figures)

    # -- rows ------------------------------------------------------------------------------------------------------

    def _current(self, condition: str, scope: Scope, now: float, **values: object) -> list[Fact]:
        rows = self.store.rows(
            f"{FACT_SELECT} WHERE f.scope IN (SELECT value FROM json_each(:scopes)) AND {CURRENT} {condition}",
            {"scopes": scope.own_listed, "now": now, **values},
        )
        return [fact_of(row) for row in rows]

    def _by_id(self, ids: Iterable[int], scope: Scope, now: float) -> list[Fact]:
        condition = "AND f.id IN (SELECT value FROM json_each(:ids))"
        return self._current(condition, scope, now, ids=json.dumps(sorted(ids)))

    def _by_source(self, sources: Sequence[str], scope: Scope, now: float) -> list[Fact]:
        """Facts in the order of their sources."""
        order = list(dict.fromkeys(int(source.removeprefix("fact:")) for source in sources))
        facts = {fact.id: fact for fact in self._by_id(order, scope, now)}
        return [facts[one] for one in order if one in facts]

    def _ids_of(self, category: str, caller: Caller) -> list[int]:
        rows = self.store.rows(
            f"SELECT f.id FROM facts f WHERE f.scope IN (SELECT value FROM json_each(:scopes)) AND f.category = :category AND {CURRENT}",
            {"scopes": caller.scope.own_listed, "category": category, "now": caller.now},
        )
        return [row["id"] for row in rows]

    def _lexical(
        self, terms: list[str], scope: Scope, now: float, limit: int, sources: Sequence[str] | None = None
    ) -> list[Fact]:
        if sources is not None and not sources:
            return []
        hits = self.index.lexical(terms, scope.own, layers=[Layer.FACTS], sources=sources or (), limit=limit, now=now)
        passages = self.index.passages([hit.pk for hit in hits])
        return self._by_source([passages[hit.pk].source for hit in hits if hit.pk in passages], scope, now)

    def _having(self, names: dict[str, str], scope: Scope, now: float) -> list[Fact]:
        """Current facts linked to any of the entities (key -> name), newest first."""
        condition = (
            "AND f.id IN (SELECT fact_id FROM fact_entities WHERE key IN (SELECT value FROM json_each(:keys)))"
            " ORDER BY f.created_at DESC, f.id DESC"
        )
        return self._current(condition, scope, now, keys=json.dumps(list(names)))


def _entity_names(facts: Iterable[Fact], without: set[str]) -> dict[str, str]:
    """Entity key -> name over these facts, in order."""
    names = {entity_key(name): name for fact in facts for name in fact.entities}
    return {key: name for key, name in names.items() if key not in without}


def _shared(fact: Fact, names: dict[str, str]) -> tuple[str, ...]:
    keys = {entity_key(name) for name in fact.entities}
    return tuple(name for key, name in names.items() if key in keys)


def _bridges(found: dict[str, list[Fact]], taken: set[int]) -> list[Linked]:
    """Facts on one entity that share a third with a fact on another; `via` is that third."""
    asked = {entity_key(name) for name in found}
    neighbours = {name: _entity_names(facts, without=asked) for name, facts in found.items()}
    linked: dict[int, Linked] = {}
    for name, facts in found.items():
        elsewhere = {key: via for other, keys in neighbours.items() if other != name for key, via in keys.items()}
        for fact in facts:
            via = _shared(fact, elsewhere)
            if via and fact.id not in taken:
                linked.setdefault(fact.id, Linked(fact, via))
    return sorted(linked.values(), key=lambda one: (-len(one.via), -one.fact.created_at))
