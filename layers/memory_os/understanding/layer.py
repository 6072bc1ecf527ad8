"""Understanding as the engine knows it: what waits, what is read, what is kept of it, what went wrong.

The service calls this; a worker, or the service itself, asks the model in between. Nothing here waits for a model.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memory_os.config import Settings
from memory_os.errors import BadRequest
from memory_os.fabric import Fabric
from memory_os.facts import Fact, Facts
from memory_os.memory import Passage, Scope
from memory_os.sessions import Sessions
from memory_os.store import Store
from memory_os.tooling import Caller
from memory_os.understanding.earlier import Earlier
from memory_os.understanding.evidence import Gathering
from memory_os.understanding.person import Person
from memory_os.understanding.reader import Reader, Waiting, sorted_out
from memory_os.understanding.reading import Reading
from memory_os.understanding.reflection import Reflection
from memory_os.understanding.scopes import scope_of_key
from memory_os.understanding.transcript import Turn
from memory_os.understanding.understood import Understood
from memory_os.workspace import Workspace

if TYPE_CHECKING:
    from memory_os.understanding.keeping import Keeping, Tally

_KNOWN = 24
_KNOWN_QUERY_CHARS = 2000
_KNOWN_CHARS = 300
# What a model said and nobody can use: after so many times the turns are given up.
FAILURES_MAX = 5


class Understanding:
    """Constructed once by the engine; safe to call from many threads."""

    def __init__(
        self, store: Store, sessions: Sessions, facts: Facts, fabric: Fabric, workspace: Workspace, settings: Settings
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._facts = facts
        self._fabric = fabric
        self._workspace = workspace
        self._settings = settings
        self._reader = Reader(store)
        self._earlier = Earlier(store, sessions, settings)
        self._understood = Understood(store, facts.index)
        self.person = Person(store, facts, settings)
        self.reflection = Reflection(store, facts, settings)
        self._gathering = Gathering(store, self._reader, self.person, workspace, settings)
        self.sample = self._understood.sample

    @cached_property
    def _keeping(self) -> Keeping:
        # Imported with the first delivery: the start of the service has no time for it.
        from memory_os.understanding.keeping import Keeping

        return Keeping(self._facts, self._fabric, self._workspace)

    @property
    def wanted(self) -> bool:
        """Whether turns are read at all: it is switched on, and there is a model that may be asked for it."""
        return self._settings.values.understanding.enabled and self._model_is_there()

    # -- what is to be done --------------------------------------------------------------------------------------------

    def due(self, now: float) -> list[Waiting]:
        """Sessions whose turns are to be read now, the one that waits longest first; none without a model."""
        if not self.wanted:
            return []
        values = self._settings.values.understanding
        found = [one for one in self._reader.waiting(now) if one.is_due(now, values)]
        due = [one for one in found if not self._sessions.is_off(one.session_id)]
        if not due and self._earlier.hand_out(now):
            # With the next look: what is said now always goes first.
            self._reader.look_at_all()
        return due

    def reading(self, scope: str, session_id: str, watermark: int, now: float) -> Reading | None:
        """What a model is given of a session up to a message's number; None when nothing of it is left to read.

        Turns that need no model, since they are small talk or were taken back, are settled here.
        """
        turns, left = sorted_out(self._reader.turns(scope, session_id, watermark))
        if left:
            with self._store.write() as db:
                self._understood.mark_done(db, scope, session_id, left, now)
        if not turns:
            return None
        known = self._known(scope, turns, now)
        budget = self._settings.values.understanding.budget_tokens
        lines = tuple(_known_line(label, fact) for label, fact in known.items())
        return Reading(
            scope, session_id, tuple(turns), lines, {label: fact.id for label, fact in known.items()}, budget
        )

    def session_ended(self, session_id: str, at: float) -> None:
        """The host says that a session is over, whoever spoke in it: it is read without waiting for idleness.

        Its last turn may still be on the way to memory.
        """
        if session_id:
            self._understood.ended(session_id, at)

    def before_compaction(self, session_id: str, scope: Scope, now: float) -> str:
        """The host is about to compact a session: its turns are due at once. Returns what is kept of it already, or ""."""
        from memory_os.understanding.condensing import condensed

        self.session_ended(session_id, now)
        return condensed(self._store, self._understood.passages, session_id, scope, now)

    # -- what came of it -----------------------------------------------------------------------------------------------

    def deliver(self, told: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Take a delivery, or note a failure (`asking.delivery_of`). Raises BadRequest for what is neither."""
        if "failed" not in told:
            return self.take(told, now)
        scope, session_id, problem = (told.get(name) for name in ("scope", "session_id", "failed"))
        if not (isinstance(scope, str) and isinstance(session_id, str) and isinstance(problem, str)):
            raise BadRequest("A failure needs scope, session_id and failed.")
        self.failed(
            scope, session_id, problem, now, retry_at=float(told.get("retry_at") or 0.0), final=bool(told.get("final"))
        )
        return {"turns": 0, "kept": 0, "dropped": {}}

    def take(self, read: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Keep what a model read (`Read.as_dict`). Turns that were read meanwhile, or are gone, give nothing.

        Raises BadRequest for what is no such delivery, and what memory.db raises.
        """
        from memory_os.understanding.keeping import Tally

        scope_key, session_id, items, turn_ids = _delivery(read)
        scope = scope_of_key(scope_key)
        evidence = self._gathering.of_turns(scope_key, session_id, turn_ids)
        withdrawn = set(read.get("withdrawn") or ()) & evidence.keys()
        tally = Tally(dropped=Counter({"no turn": int(read.get("dropped") or 0)}))
        usable = [one for one in items if one["turn"] in evidence and one["turn"] not in withdrawn]
        tally.dropped["taken back"] += sum(one["turn"] in withdrawn for one in items)
        tally.dropped["turn is gone"] += sum(one["turn"] not in evidence for one in items)
        known = {str(label): int(fact) for label, fact in (read.get("facts") or {}).items()}
        self._keeping.keep_files(usable, evidence, scope, session_id, tally)
        with self._store.write() as db:
            fresh = [one for one in usable if not self._understood.is_done(db, scope_key, one["turn"])]
            self._keeping.keep_facts(db, fresh, evidence, known, scope, session_id, tally)
            outcomes = {one: "withdrawn" if one in withdrawn else "read" for one in evidence}
            self._understood.mark_done(db, scope_key, session_id, outcomes, now)
            self._understood.note(db, scope_key, session_id, tally.kept, now)
            self._understood.recovered(db, scope_key, session_id)
        self._count(tally)
        return {"turns": len(evidence), "kept": len(tally.kept), "dropped": dict(+tally.dropped)}

    def failed(
        self, scope: str, session_id: str, problem: str, now: float, *, retry_at: float = 0.0, final: bool = False
    ) -> None:
        """A session could not be read; its turns wait for another time, and nothing is written of them.

        `retry_at`: when the provider may be asked again, in epoch seconds. `final`: it is not for a provider that is away,
        so it counts: after FAILURES_MAX in a row the turns are given up.
        """
        failures = self._understood.failed(scope, session_id, problem, now, retry_at=retry_at, final=final)
        self._store.count("understanding_failed", reason=problem)
        if failures >= FAILURES_MAX:
            self._give_up(scope, session_id, now)

    def _give_up(self, scope: str, session_id: str, now: float) -> None:
        newest = int(self._store.value("SELECT coalesce(max(id), 0) FROM messages"))
        turns = self._reader.turns(scope, session_id, newest)
        with self._store.write() as db:
            self._understood.mark_done(db, scope, session_id, {one.id: "given up" for one in turns}, now)
            self._understood.recovered(db, scope, session_id)
        self._store.count("understanding_given_up", len(turns), reason=session_id)

    # -- what rests on what --------------------------------------------------------------------------------------------

    def resting_on(self, turns: Sequence[str], scope: str) -> tuple[list[int], list[Passage]]:
        """(facts, passages of entries and lines) that were extracted from these turns: they go when their turn is forgotten.

        What was thought about the person of this scope goes here already.
        """
        self.person.forgotten(scope)
        return self._understood.resting_on(turns, scope)

    def status(self, now: float) -> dict[str, Any]:
        """What waits and why, for `memory-os status`. Raises sqlite3.Error."""
        waiting = self._reader.waiting(now)
        problems = [one.problem for one in waiting if one.problem]
        return {
            "enabled": self._settings.values.understanding.enabled,
            "model": self._model_is_there(),
            "waiting_turns": sum(one.turns for one in waiting),
            "waiting_sessions": len(waiting),
            "waits_since": min((one.first_at for one in waiting), default=None),
            "problem": problems[0] if problems else "",
            "turns": self._understood.outcomes(),
            "earlier": self._earlier.status(now),
            "items": self._understood.items(),
        }

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _model_is_there(self) -> bool:
        # Imported when it is asked for: models have no part in the start of the service.
        from memory_os.llm import allows

        return allows(self._settings, "extraction")

    def _known(self, scope_key: str, turns: Sequence[Turn], now: float) -> dict[str, Fact]:
        """`{"F1": fact}`: what the turns may change or repeat."""
        scope = scope_of_key(scope_key)
        query = "\n".join(one.question for one in turns)[:_KNOWN_QUERY_CHARS]
        found = self._facts.search(query, Caller(scope=scope, now=now), _KNOWN) if query.strip() else []
        return {f"F{number}": one for number, one in enumerate(found, 1)}

    def _count(self, tally: Tally) -> None:
        if tally.kept:
            self._store.count("understanding_admitted", len(tally.kept))
        dropped = +tally.dropped
        if dropped:
            reason = ", ".join(f"{name} {count}" for name, count in sorted(dropped.items()))
            self._store.count("understanding_dropped", dropped.total(), reason=reason)


def _known_line(label: str, fact: Fact) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(fact.created_at))
    about = f" ({fact.entities[0]})" if fact.entities else ""
    return f"{label} {day}{about}: {' '.join(fact.text.split())[:_KNOWN_CHARS]}"


def _delivery(read: Mapping[str, Any]) -> tuple[str, str, list[dict[str, Any]], list[str]]:
    scope, session_id, items, turns = (read.get(name) for name in ("scope", "session_id", "items", "turns"))
    if not (
        isinstance(scope, str) and isinstance(session_id, str) and isinstance(items, list) and isinstance(turns, list)
    ):
        raise BadRequest("What was read needs scope, session_id, turns and items.")
    from memory_os.understanding.items import checked_item

    return scope, session_id, [checked_item(one) for one in items], [str(one) for one in turns]
