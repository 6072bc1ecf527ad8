"""What is known of each person, apart by scope (agent's profile and user): conclusions, a card, answers to questions.

A conclusion is a fact tagged `person` or of category `user_pref`, so it has evidence, trust, history and an end like any
other. The card and the answers are derived from conclusions by a language model, in the background; they cite them, die
with them, and are never reasoned about again. Without a model the card is the conclusions themselves.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_os.config import Settings
from memory_os.errors import BadRequest
from memory_os.facts import Fact, Facts
from memory_os.facts.fact import CURRENT, handle_for
from memory_os.memory import Scope
from memory_os.recall.rendering import day_of
from memory_os.store import Row, Store
from memory_os.tooling import Caller
from memory_os.understanding.scopes import scope_of_key
from memory_os.understanding.thinking import DEPTH_MAX, Thinking

# How a conclusion is told from other facts.
PERSON_TAG = "person"
_CATEGORY = "user_pref"
# So many conclusions are a picture; fewer are their own card.
LEAST = 3
# A card is made anew when so many conclusions changed, or after `understanding.person_hours` when any did.
_CHANGED = 5
_THOUGHT_ABOUT = 60
_FIRST_TURN_LINES = 5
_QUESTIONS_KEPT = 50
_RETRY_S = 900.0


@dataclass(frozen=True, slots=True)
class Thought:
    """Lines with the handles they rest on. `by`: `model`, or `search` where none has thought yet. `stale`: since then
    conclusions have changed. `waits`: a model has yet to be asked."""

    lines: tuple[tuple[str, tuple[str, ...]], ...]
    by: str
    made_at: float | None = None
    depth: int = 0
    stale: bool = False
    waits: bool = False


class Person:
    """Thread-safe."""

    def __init__(self, store: Store, facts: Facts, settings: Settings) -> None:
        self._store = store
        self._facts = facts
        self._values = settings.values.understanding
        self._settings = settings
        # Told when a model has thought, or failed at it; the service waits for it.
        self.arrived: Callable[[], None] = lambda: None

    @property
    def wanted(self) -> bool:
        """Whether a model may think about people."""
        from memory_os.llm import allows

        return self._values.enabled and allows(self._settings, "dialectic")

    # -- reading -------------------------------------------------------------------------------------------------------

    def conclusions(self, scope: Scope, now: float) -> list[Fact]:
        """What is concluded about the person, most trusted and newest first."""
        found = self._facts.current(scope, now, category=_CATEGORY)
        return sorted(found, key=lambda fact: (-round(self._facts.posterior(fact, now).mean, 1), -fact.created_at))

    def search(self, query: str, caller: Caller, limit: int) -> list[Fact]:
        """Conclusions on the words and the meaning of a query, best first."""
        return self._facts.search(query, caller, limit, _CATEGORY)

    def card(self, scope: Scope, now: float) -> Thought:
        """The picture of a person: the model's, as far as its parents still hold, else the conclusions themselves."""
        held = self.conclusions(scope, now)
        thought = self._thought(scope, "", now)
        if thought is not None and thought.lines:
            return thought
        return Thought(tuple((one.text, (one.handle,)) for one in held[:12]), "search", waits=thought is not None)

    def answer(self, question: str, scope: Scope, now: float) -> Thought | None:
        """What a model answered to this question, if it has."""
        return self._thought(scope, _normal(question), now)

    def first_turn_lines(self, caller: Caller) -> list[str]:
        """What a new session starts with, unless `understanding.person_mode` is `tools`. Rendered lines, each with a handle."""
        if self._values.person_mode == "tools":
            return []
        # On the path of a turn: the card alone. The conclusions themselves come by recall, where they fit the question.
        row = self._row(caller.scope, "")
        if row is None or row["made_at"] is None:
            return []
        lines = self._lines(row["id"], caller.scope, caller.now)[:_FIRST_TURN_LINES]
        day = day_of(row["made_at"])
        return [f'- ({handles[0]}) {day}, about the person: "{" ".join(text.split())}"' for text, handles in lines]

    def forgotten(self, scope: str) -> None:
        """Something of this scope was forgotten: what was thought is thought anew, and no question keeps its words."""
        with self._store.write() as db:
            db.execute("DELETE FROM person_thoughts WHERE scope = ?", (scope,))

    def texts(self, scope: Scope) -> list[str]:
        """Every derived line of a scope: what only repeats one is no evidence."""
        rows = self._store.rows(
            "SELECT l.text FROM person_lines l JOIN person_thoughts t ON t.id = l.thought_id WHERE t.scope = ?",
            (scope.key,),
        )
        return [row["text"] for row in rows]

    def _thought(self, scope: Scope, question: str, now: float) -> Thought | None:
        row = self._row(scope, question)
        if row is None:
            return None
        # A model thinks about what lies under one name; what came by the person's others doesn't make it old.
        held = self.conclusions(replace(scope, others=()), now)
        lines = self._lines(row["id"], scope, now)
        return Thought(
            lines, "model", row["made_at"], row["depth"], row["basis"] != basis_of(held), row["made_at"] is None
        )

    def _row(self, scope: Scope, question: str) -> Row | None:
        return self._store.row("SELECT * FROM person_thoughts WHERE scope = ? AND question = ?", (scope.key, question))

    def _lines(self, thought: int, scope: Scope, now: float) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The lines whose parents all hold, with the parents' handles."""
        rows = self._store.rows(
            "SELECT l.text, (SELECT json_group_array(p.fact_id) FROM person_parents p WHERE p.line_id = l.id) AS parents"
            " FROM person_lines l WHERE l.thought_id = :id AND NOT EXISTS(SELECT 1 FROM person_parents p JOIN facts f"
            f" ON f.id = p.fact_id WHERE p.line_id = l.id AND NOT ({CURRENT})) ORDER BY l.position",
            {"id": thought, "now": now},
        )
        return tuple(
            (one["text"], tuple(handle_for(fact, scope) for fact in json.loads(one["parents"]))) for one in rows
        )

    # -- what is to be thought about -----------------------------------------------------------------------------------

    def ask(self, question: str, depth: int, scope: Scope, now: float) -> None:
        """Put a question for the background; one that was asked before is asked anew."""
        with self._store.write() as db:
            db.execute(
                "INSERT INTO person_thoughts(scope, question, asked_at, depth) VALUES(?, ?, ?, ?)"
                " ON CONFLICT(scope, question) DO UPDATE SET asked_at = excluded.asked_at, depth = excluded.depth,"
                " made_at = NULL, retry_at = 0",
                (scope.key, _normal(question), now, min(max(depth, 1), DEPTH_MAX)),
            )
            db.execute(
                "DELETE FROM person_thoughts WHERE scope = ? AND question <> '' AND id NOT IN (SELECT id FROM person_thoughts"
                " WHERE scope = ? AND question <> '' ORDER BY asked_at DESC LIMIT ?)",
                (scope.key, scope.key, _QUESTIONS_KEPT),
            )

    def is_prepared(self, question: str, scope: Scope, now: float) -> bool:
        """Whether a model is to think about a question now: it was asked, no failure's time is yet to pass, and something
        is concluded that it can think about."""
        row = self._row(scope, _normal(question))
        open_now = row is not None and row["made_at"] is None and row["retry_at"] <= now
        return open_now and bool(self.conclusions(scope, now))

    def due(self, now: float) -> list[tuple[str, str]]:
        """(scope, question) that a model is to think about now: open questions first, then cards that are out of date."""
        if not self.wanted:
            return []
        open_ones = self._store.rows(
            "SELECT scope, question FROM person_thoughts WHERE question <> '' AND made_at IS NULL AND retry_at <= ?"
            " ORDER BY asked_at", (now,),
        )  # fmt: skip
        scopes = self._store.rows(
            "SELECT scope, count(*) AS n FROM facts WHERE category = 'user_pref' AND superseded_by IS NULL"
            " AND removed_at IS NULL GROUP BY scope HAVING n >= ?", (LEAST,),
        )  # fmt: skip
        cards = [(row["scope"], "") for row in scopes if self._card_is_due(row["scope"], now)]
        return [*((row["scope"], row["question"]) for row in open_ones), *cards]

    def _card_is_due(self, scope_key: str, now: float) -> bool:
        row = self._store.row("SELECT * FROM person_thoughts WHERE scope = ? AND question = ''", (scope_key,))
        if row is None:
            return True
        if row["retry_at"] > now:
            return False
        held = self.conclusions(scope_of_key(scope_key), now)
        if row["basis"] == basis_of(held):
            return False
        newest = int(row["basis"].partition("-")[0] or 0)
        fresh = sum(one.id > newest for one in held)
        return fresh >= _CHANGED or now - (row["made_at"] or 0.0) >= self._values.person_hours * 3600

    def thinking(self, scope_key: str, question: str, now: float) -> Thinking | None:
        """What a model is given; None when there is nothing to think about."""
        scope = scope_of_key(scope_key)
        held = self.conclusions(scope, now)
        if not held:
            return None
        row = self._store.row(
            "SELECT depth FROM person_thoughts WHERE scope = ? AND question = ?", (scope_key, question)
        )
        depth = self._values.person_depth if row is None or not question else row["depth"]
        chosen = held[:_THOUGHT_ABOUT]
        if question:
            near = self.search(question, Caller(scope=scope, now=now), 20)
            chosen = list({one.id: one for one in [*near, *held]}.values())[:_THOUGHT_ABOUT]
        told = tuple((one.id, time.strftime("%Y-%m-%d", time.gmtime(one.created_at)), one.text) for one in chosen)
        return Thinking(scope_key, question, depth, basis_of(held), told)

    def keep(self, told: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Take what was thought (`{"scope", "question", "basis", "depth", "lines"}`), or a failure. Raises BadRequest."""
        scope, question = told.get("scope"), told.get("question")
        if not (isinstance(scope, str) and isinstance(question, str)):
            raise BadRequest("A thought needs scope and question.")
        with self._store.write() as db:
            db.execute(
                "INSERT OR IGNORE INTO person_thoughts(scope, question, asked_at, depth) VALUES(?, ?, ?, 1)",
                (scope, question, now),
            )
            row = db.execute(
                "SELECT id FROM person_thoughts WHERE scope = ? AND question = ?", (scope, question)
            ).fetchone()
            if "failed" in told:
                retry = max(float(told.get("retry_at") or 0.0), now + _RETRY_S)
                db.execute("UPDATE person_thoughts SET retry_at = ? WHERE id = ?", (retry, row["id"]))
                kept = 0
            else:
                db.execute("DELETE FROM person_lines WHERE thought_id = ?", (row["id"],))
                kept = sum(_insert(db, row["id"], scope, *numbered) for numbered in enumerate(told.get("lines") or []))
                values = (now, int(told.get("depth") or 1), str(told.get("basis") or ""), row["id"])
                db.execute(
                    "UPDATE person_thoughts SET made_at = ?, depth = ?, basis = ?, retry_at = 0 WHERE id = ?", values
                )
        if "failed" in told:
            self._store.count("person_failed", reason=str(told["failed"]))
        self.arrived()
        return {"lines": kept}


def basis_of(held: Sequence[Fact]) -> str:
    """The number of the newest conclusion and a hash of all: it changes when one comes, goes or is replaced."""
    ids = sorted(fact.id for fact in held)
    digest = hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:16]
    return f"{ids[-1] if ids else 0}-{digest}"


def _insert(db: Any, thought: int, scope: str, position: int, line: Mapping[str, Any]) -> int:
    """Keep one line, if every fact it rests on is still there and of this scope."""
    parents = sorted({int(one) for one in line.get("facts") or ()})
    marks = ",".join("?" * len(parents))
    there = db.execute(
        f"SELECT count(*) FROM facts WHERE scope = ? AND removed_at IS NULL AND id IN ({marks})", (scope, *parents)
    ).fetchone()[0]
    if not parents or there != len(parents):
        return 0
    line_id = db.execute(
        "INSERT INTO person_lines(thought_id, position, text) VALUES(?, ?, ?)", (thought, position, str(line["text"]))
    ).lastrowid
    db.executemany("INSERT INTO person_parents(line_id, fact_id) VALUES(?, ?)", [(line_id, fact) for fact in parents])
    return 1


def _normal(question: str) -> str:
    return " ".join(question.split()).casefold()[:500]
