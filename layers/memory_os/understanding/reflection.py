"""Reflection: when nobody is talking, and within an hourly budget, a model looks at memories that it has not seen together.

Its products are facts marked derived. They cite their parents, are retired when one of them no longer holds, are deleted
when one is forgotten, and are never reflected on. A contradiction is marked, or below a confidence only proposed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memory_os.config import Settings
from memory_os.errors import BadRequest
from memory_os.facts import Facts, Statement
from memory_os.facts.fact import CURRENT, FACT_SELECT, fact_of
from memory_os.memory import Author
from memory_os.store import Store
from memory_os.understanding.change import SURE
from memory_os.understanding.scopes import scope_of_key
from memory_os.understanding.thinking import Memories

ORIGIN = "reflection"
# Fewer show nothing together; more are too many for one question.
LEAST, MOST = 6, 40
_HOUR_S = 3600.0
_RETRY_S = 1800.0
_UNSEEN = (
    f"FROM facts f WHERE {CURRENT} AND f.author <> 'derived'"
    " AND NOT EXISTS(SELECT 1 FROM reflected_facts r WHERE r.fact_id = f.id)"
)


class Reflection:
    """Thread-safe."""

    def __init__(self, store: Store, facts: Facts, settings: Settings) -> None:
        self._store = store
        self._facts = facts
        self._settings = settings
        self._values = settings.values.understanding

    def due(self, now: float) -> list[str]:
        """Scopes whose memories are to be looked at now: nobody has spoken for a while, and this hour's units are left."""
        if not self._wanted() or not self._has_units(now):
            return []
        last = self._store.value("SELECT max(said_at) FROM messages WHERE turn_id <> ''")
        if last is not None and now - last < self._values.reflection_idle_minutes * 60:
            return []
        rows = self._store.rows(
            f"SELECT f.scope, count(*) AS n {_UNSEEN} AND NOT EXISTS(SELECT 1 FROM reflection_state s WHERE s.scope = f.scope"
            " AND s.retry_at > :now) GROUP BY f.scope HAVING n >= :least ORDER BY min(f.created_at)",
            {"now": now, "least": LEAST},
        )
        return [row["scope"] for row in rows]

    def memories(self, scope: str, now: float) -> Memories | None:
        """The oldest memories of a scope that were not looked at yet; None when they are too few."""
        rows = self._store.rows(
            f"SELECT f.id, f.created_at, f.text {_UNSEEN} AND f.scope = :scope ORDER BY f.created_at, f.id LIMIT :most",
            {"now": now, "scope": scope, "most": MOST},
        )
        if len(rows) < LEAST:
            return None
        facts = tuple(
            (row["id"], time.strftime("%Y-%m-%d", time.gmtime(row["created_at"])), row["text"]) for row in rows
        )
        return Memories(scope, facts)

    def keep(self, told: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Take what was seen (`{"scope", "seen": [ids], "products"}`), or a failure. An answer that no one can read is an
        abstention: those memories count as looked at. Raises BadRequest.
        """
        scope = told.get("scope")
        if not isinstance(scope, str):
            raise BadRequest("A reflection needs its scope.")
        if "failed" in told and not told.get("final"):
            retry = max(float(told.get("retry_at") or 0.0), now + _RETRY_S)
            with self._store.write() as db:
                db.execute(
                    "INSERT OR REPLACE INTO reflection_state VALUES(?, ?, ?)", (scope, retry, str(told["failed"])[:300])
                )
            self._store.count("reflection_failed", reason=str(told["failed"]))
            return {"kept": 0}
        kept = 0
        with self._store.write() as db:
            for product in told.get("products") or []:
                kept += self._product(db, product, scope, now)
            seen = [(int(one), now) for one in told.get("seen") or []]
            db.executemany(
                "INSERT OR IGNORE INTO reflected_facts SELECT id, ? FROM facts WHERE id = ?",
                [(at, one) for one, at in seen],
            )
            db.execute("DELETE FROM reflection_state WHERE scope = ?", (scope,))
        return {"kept": kept}

    def retire(self, now: float) -> int:
        """Take back the products of which a parent no longer holds. Returns how many."""
        rows = self._store.rows(
            f"{FACT_SELECT} WHERE f.origin = '{ORIGIN}' AND {CURRENT} AND EXISTS(SELECT 1 FROM reflection_parents p"
            " WHERE p.fact_id = f.id AND NOT EXISTS(SELECT 1 FROM facts g WHERE g.id = p.parent_id AND"
            f" {CURRENT.replace('f.', 'g.')}))",
            {"now": now},
        )
        for row in rows:
            self._facts.retire(fact_of(row), now)
        return len(rows)

    def resting_on(self, fact_ids: Sequence[int]) -> list[int]:
        """Products that rest on one of these facts: they are forgotten with it."""
        rows = self._store.rows(
            "SELECT DISTINCT fact_id FROM reflection_parents WHERE parent_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(fact_ids)),),
        )
        return [row["fact_id"] for row in rows]

    def _product(self, db: Any, product: Mapping[str, Any], scope: str, now: float) -> int:
        ids = sorted({int(one) for one in product.get("facts") or ()})
        rows = db.execute(
            f"{FACT_SELECT} WHERE f.scope = :scope AND {CURRENT} AND f.author <> 'derived'"
            " AND f.id IN (SELECT value FROM json_each(:ids))", {"scope": scope, "now": now, "ids": json.dumps(ids)},
        ).fetchall()  # fmt: skip
        parents = [fact_of(row) for row in rows]
        if len(parents) != len(ids) or len(parents) < 2:
            return 0
        sure = float(product.get("confidence") or 0.0) >= SURE
        if product.get("kind") == "contradiction":
            if sure:
                self._facts.mark(parents[0], parents[1], now)
            else:
                self._facts.propose(parents[0], parents[1], now)
            return 1
        if not sure:
            return 0
        statement = Statement(
            str(product["text"]),
            scope_of_key(scope),
            tags=("derived", str(product["kind"])),
            author=Author.DERIVED,
            origin=ORIGIN,
        )
        if self._facts.find_same(db, statement, now) is not None:
            return 0
        kept = self._facts.state(statement, now).fact
        db.executemany("INSERT OR IGNORE INTO reflection_parents VALUES(?, ?)", [(kept.id, one.id) for one in parents])
        return 1

    def _has_units(self, now: float) -> bool:
        logged = self._store.value("SELECT count(*) FROM sqlite_master WHERE name = 'model_calls'")
        if not logged:
            return self._values.reflection_units > 0
        spent = self._store.value(
            "SELECT total(units) FROM model_calls WHERE job = 'reflection' AND at > ?", (now - _HOUR_S,)
        )
        return float(spent or 0.0) < self._values.reflection_units

    def _wanted(self) -> bool:
        from memory_os.llm import allows

        return self._values.enabled and allows(self._settings, "reflection")
