"""How a fact is written: one row, its entities, its passage, its counts; what merges, what is compared.

Everything here runs inside the caller's transaction and reads on its connection.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from memory_os.errors import BadRequest
from memory_os.facts import trust
from memory_os.facts.changes import Change, log_change, same_occasion, same_verdict
from memory_os.facts.entities import detect_entities, distinct, entity_key, mentions
from memory_os.facts.fact import (
    CURRENT,
    FACT_SELECT,
    Fact,
    Statement,
    checked_category,
    checked_text,
    fact_of,
    passage_for,
    source_of,
    storable,
)
from memory_os.facts.likeness import (
    leading_term,
    may_conflict,
    near_equal,
    near_key,
    normal_form,
    overlap,
    same_outside_text,
)
from memory_os.facts.reading import FactReader
from memory_os.facts.trust import Evidence
from memory_os.redact import redact

# How many facts on the same subject a new one is compared with, newest first.
COMPARED = 100
# How many candidates it is paired with, closest first: a list of similar rows (ports, versions) isn't one of disputes.
NOTED = 3


class FactWriter(FactReader):
    """The rows behind the verbs."""

    # -- stating ---------------------------------------------------------------------------------------------------

    def _prepared(self, statement: Statement) -> tuple[Statement, int]:
        """Checked and redacted. Raises BadRequest, and counts what was refused or redacted."""
        try:
            text, redacted = redact(checked_text(statement.text))
            category = checked_category(statement.category)
        except BadRequest as error:
            self.store.count("facts_rejected", reason=error.message)
            raise
        if redacted:
            self.store.count("facts_redacted", redacted)
        named = [redact(storable(name))[0] for name in statement.entities]
        tags = [redact(storable(tag))[0].strip() for tag in statement.tags]
        clean = replace(
            statement, text=text, category=category, entities=tuple(distinct(named)),
            tags=tuple(dict.fromkeys(filter(None, tags))), evidence=storable(statement.evidence),
            origin=storable(statement.origin), session_id=storable(statement.session_id),
        )  # fmt: skip
        return clean, redacted

    def _restated(self, db: sqlite3.Connection, statement: Statement, now: float, other_than: int = 0) -> Fact | None:
        """The live fact this statement says again: same words, same subject, same time."""
        rows = db.execute(
            f"{FACT_SELECT} WHERE f.scope = ? AND f.near_key = ? AND f.id <> ? AND f.superseded_by IS NULL"
            " AND f.removed_at IS NULL AND (f.valid_to IS NULL OR f.valid_to > ?) ORDER BY f.normal = ? DESC, f.id",
            (statement.scope.key, near_key(statement.text), other_than, now, normal_form(statement.text)),
        )
        named = [entity_key(name) for name in statement.entities]
        for row in rows:
            fact = fact_of(row)
            same_time = all(
                stated is None or stated == held
                for stated, held in ((statement.valid_from, fact.valid_from), (statement.valid_to, fact.valid_to))
            )
            keys = [entity_key(name) for name in fact.entities]
            if same_time and near_equal(fact.text, statement.text) and same_outside_text(fact.text, named, keys):
                return fact
        return None

    def _strengthen(
        self, db: sqlite3.Connection, fact: Fact, statement: Statement, now: float, *, log: bool = True
    ) -> tuple[Fact, float]:
        """Count a restatement, unless it is the same occasion told twice. Returns the fact and the weight."""
        if same_occasion(db, fact, statement, now):
            return fact, 0.0
        stronger = self._counted(db, fact, trust.RESTATEMENT, 0.0, now)
        if log:
            said = {**asdict(statement), "weight": trust.RESTATEMENT, "said_at": now}
            said["scope"].pop("others")
            log_change(db, Change("merge", fact.id, turn=statement.evidence, detail=said), now)
        return stronger, trust.RESTATEMENT

    def _insert(
        self, db: sqlite3.Connection, statement: Statement, now: float, evidence: Evidence | None = None
    ) -> Fact:
        counts = evidence or Evidence(at=now)
        mean = trust.posterior(counts, now, self.half_life_days).mean
        cursor = db.execute(
            "INSERT INTO facts(scope, text, category, tags, author, evidence, origin, session_id, normal, near_key,"
            " subject, created_at, valid_from, valid_to, support, against, evidence_at, shown_trust)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                statement.scope.key, statement.text, statement.category, json.dumps(statement.tags),
                statement.author.value, statement.evidence, statement.origin, statement.session_id,
                normal_form(statement.text), near_key(statement.text), leading_term(statement.text), now,
                statement.valid_from, statement.valid_to, counts.support, counts.against, counts.at, mean,
            ),
        )  # fmt: skip
        fact_id = int(cursor.lastrowid or 0)
        _link(db, fact_id, self._named(db, statement))
        fact = self._reindexed(db, fact_id, now)
        db.execute("UPDATE facts SET handle = ? WHERE id = ?", (fact.handle, fact_id))
        return fact

    def _named(self, db: sqlite3.Connection, statement: Statement) -> list[str]:
        """The fact's entities: those given, else those marked in the text; then known names that it mentions.

        A name known to this scope is what capitals can't tell in every script. What isn't given stands in the order of
        the text, since the first is taken for the subject.
        """
        said = entity_key(statement.text)
        rows = db.execute(
            "SELECT e.key, min(e.name) AS name FROM fact_entities e JOIN facts f ON f.id = e.fact_id"
            " WHERE f.scope = ? AND instr(?, e.key) > 0 GROUP BY e.key",
            (statement.scope.key, said),
        )
        known = [row["name"] for row in rows if mentions(statement.text, row["key"])]
        marked = [] if statement.entities else detect_entities(statement.text)
        found = sorted([*marked, *known], key=lambda name: (said.find(entity_key(name)), entity_key(name)))
        return distinct([*statement.entities, *found])

    def _compared(self, db: sqlite3.Connection, fact: Fact, now: float) -> tuple[Fact, ...]:
        """Note the facts on the same subject that say nearly the same and yet differ; both sides stay."""
        first = entity_key(fact.entities[0]) if fact.entities else ""
        rows = db.execute(
            f"{FACT_SELECT} WHERE f.scope = :scope AND f.id <> :id AND {CURRENT}"
            " AND (f.subject = :subject"
            " OR f.id IN (SELECT fact_id FROM fact_entities WHERE key = :first AND position = 0))"
            " ORDER BY f.created_at DESC, f.id DESC LIMIT :limit",
            {
                "scope": fact.scope, "id": fact.id, "now": now, "subject": leading_term(fact.text) or None,
                "first": first, "limit": COMPARED,
            },
        ).fetchall()  # fmt: skip
        alike = [other for other in map(fact_of, rows) if may_conflict(other.text, fact.text)]
        found = tuple(sorted(alike, key=lambda other: -overlap(other.text, fact.text))[:NOTED])
        db.executemany(
            "INSERT OR IGNORE INTO fact_conflicts(a, b, found_at) VALUES(?, ?, ?)",
            [(min(fact.id, other.id), max(fact.id, other.id), now) for other in found],
        )
        return found

    # -- rows ------------------------------------------------------------------------------------------------------

    def _row(self, db: sqlite3.Connection, fact_id: int) -> Fact | None:
        row = db.execute(f"{FACT_SELECT} WHERE f.id = ?", (fact_id,)).fetchone()
        return None if row is None else fact_of(row)

    def _fresh(self, db: sqlite3.Connection, fact: Fact) -> Fact:
        """The fact as it is now. Raises BadRequest if it was forgotten meanwhile."""
        found = self._row(db, fact.id)
        if found is None:
            raise BadRequest(f"{fact.handle} was forgotten.")
        return found

    def _live(self, db: sqlite3.Connection, fact: Fact) -> Fact:
        found = self._fresh(db, fact)
        if found.superseded_by is not None:
            newer = self._row(db, found.superseded_by)
            raise BadRequest(
                f"{fact.handle} was corrected already.", cure=f"Use {newer.handle}, or undo." if newer else ""
            )
        if not found.live:
            raise BadRequest(f"{fact.handle} was removed.", cure="Undo the removal first.")
        return found

    def _changed(self, db: sqlite3.Connection, fact_id: int, changes: dict[str, Any], now: float) -> Fact:
        for key in ("category", "valid_from", "valid_to"):
            if key in changes:
                db.execute(f"UPDATE facts SET {key} = ? WHERE id = ?", (changes[key], fact_id))
        if "tags" in changes:
            db.execute("UPDATE facts SET tags = ? WHERE id = ?", (json.dumps(list(changes["tags"])), fact_id))
        if "entities" in changes:
            db.execute("DELETE FROM fact_entities WHERE fact_id = ?", (fact_id,))
            _link(db, fact_id, distinct(list(changes["entities"])))
        return self._reindexed(db, fact_id, now)

    def _retired(self, db: sqlite3.Connection, fact_id: int, now: float) -> Fact:
        db.execute("UPDATE facts SET removed_at = ?, valid_to = ? WHERE id = ?", (now, now, fact_id))
        self.index.update(self._required(db, fact_id).passage_id, valid_to=now, archived=True)
        return self._required(db, fact_id)

    def _reindexed(self, db: sqlite3.Connection, fact_id: int, now: float) -> Fact:
        """Make the passage say what the row says; it is shown again if it was archived."""
        fact = self._required(db, fact_id)
        mean = self.posterior(fact, now).mean
        self.index.replace(fact.source, [passage_for(fact, mean)])
        self.index.update(fact.passage_id, archived=False)
        db.execute("UPDATE facts SET shown_trust = ? WHERE id = ?", (mean, fact_id))
        return fact

    def _weigh(self, fact: Fact, support: float, against: float, now: float, *, turn: str) -> Fact:
        detail = {"support": support, "against": against}
        with self.store.write() as db:
            fresh = self._fresh(db, fact)
            if same_verdict(db, fact.id, turn, detail) or not (support or against):
                return fresh
            log_change(db, Change("feedback", fact.id, turn=turn, detail=detail), now)
            return self._counted(db, fresh, support, against, now)

    def _counted(self, db: sqlite3.Connection, fact: Fact, support: float, against: float, now: float) -> Fact:
        counts = trust.observed(
            fact.counts, support=support, against=against, now=now, half_life_days=self.half_life_days
        )  # fmt: skip
        return self._with_counts(db, fact, counts, now)

    def _uncounted(self, db: sqlite3.Connection, fact_id: int, change: Change, now: float) -> Fact:
        fact = self._required(db, fact_id)
        support = change.detail.get("support", change.detail.get("weight", 0.0))
        counts = trust.withdrawn(
            fact.counts, support=support, against=change.detail.get("against", 0.0), given_at=change.at, now=now,
            half_life_days=self.half_life_days,
        )  # fmt: skip
        return self._with_counts(db, fact, counts, now)

    def _with_counts(self, db: sqlite3.Connection, fact: Fact, counts: Evidence, now: float) -> Fact:
        db.execute(
            "UPDATE facts SET support = ?, against = ?, evidence_at = ? WHERE id = ?",
            (counts.support, counts.against, counts.at, fact.id),
        )
        return self._show_trust(db, replace(fact, counts=counts), now)

    def _show_trust(self, db: sqlite3.Connection, fact: Fact, now: float) -> Fact:
        mean = self.posterior(fact, now).mean
        self.index.update(fact.passage_id, trust=mean)
        db.execute("UPDATE facts SET shown_trust = ? WHERE id = ?", (mean, fact.id))
        return fact

    def _required(self, db: sqlite3.Connection, fact_id: int) -> Fact:
        found = self._row(db, fact_id)
        if found is None:
            raise BadRequest(f"{source_of(fact_id)} was forgotten.")
        return found


def _link(db: sqlite3.Connection, fact_id: int, names: Sequence[str]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO fact_entities(fact_id, position, key, name) VALUES(?, ?, ?, ?)",
        [(fact_id, position, entity_key(name), name) for position, name in enumerate(names)],
    )
