"""The tools `fact_store` and `fact_feedback`, with the parameters of Hermes's holographic provider and a few more.

Results are lean: `id` is the handle shown with every injected line, and what any later call takes as `fact_id`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from memory_os.errors import BadRequest
from memory_os.facts.entities import detect_entities, distinct, mentions
from memory_os.facts.fact import CATEGORIES, TEXT_MAX_CHARS, Conflict, Fact, Linked, Remembered, Statement
from memory_os.tooling import Arguments, Caller, page

if TYPE_CHECKING:
    from memory_os.facts.verbs import Facts

ACTIONS = (
    "add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list", "history", "undo",
)  # fmt: skip
VERDICTS = ("contradiction", "consistent", "replaces")

# As the holographic provider has them, so that prompts written for it keep working.
MIN_TRUST = 0.3
LIMIT = 10
LIMIT_MAX = 100

_Item = TypeVar("_Item")

# Hits asked for: two of the longest pages, for some of them may still be left out by trust.
SEARCHED = 200


class FactTools:
    """The verbs of the layer as tools: arguments in, JSON out."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def table(self) -> dict[str, Callable[[Arguments, Caller], dict[str, Any]]]:
        return {"fact_store": self.fact_store, "fact_feedback": self.fact_feedback}

    def fact_store(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """One call of `fact_store`. Raises BadRequest with what to change."""
        action = arguments.choice("action", ACTIONS)
        handler: Callable[[Arguments, Caller], dict[str, Any]] = getattr(self, f"_{action}")
        return handler(arguments, caller)

    def fact_feedback(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Rate a fact after using it; answers with its new trust. Raises BadRequest."""
        helpful = arguments.choice("action", ("helpful", "unhelpful")) == "helpful"
        fact = self._fact(arguments, caller)
        rated = self.facts.feedback(fact, helpful, caller.now, turn=caller.turn_id)
        return {"id": rated.handle, **self._trust(rated, caller.now)}

    # -- writing ---------------------------------------------------------------------------------------------------

    def _add(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        statement = Statement(
            text=self._content(arguments, required=True),
            scope=caller.scope,
            category=arguments.choice("category", CATEGORIES, "general"),
            tags=tuple(arguments.strings("tags")),
            entities=tuple(self._entities(arguments)),
            author=caller.author,
            evidence=caller.turn_id or caller.session_id,
            origin="fact_store",
            session_id=caller.session_id,
            valid_from=_moment(arguments, "valid_from"),
            valid_to=_moment(arguments, "valid_to", end=True),
        )
        kept = self.facts.state(statement, caller.now)
        return self._kept(kept, caller, "merged with an earlier statement" if kept.merged else "added")

    def _update(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """New text makes a new version; the rest changes in place. All of it or nothing."""
        fact = self._fact(arguments, caller)
        content = self._content(arguments)
        delta = arguments.number("trust_delta", 0.0, low=-1.0, high=1.0)
        changes = self._changes(arguments)
        if not (content or delta or changes):
            raise BadRequest(
                "fact_store: update has nothing to change.",
                cure="Give content, category, tags, entities, trust_delta, valid_from or valid_to.",
            )
        kept = Remembered(fact)
        with self.facts.store.write():
            if content:
                kept = self.facts.correct(fact, self._corrected(fact, content, changes, caller), caller.now)
            if changes and (not content or kept.merged):
                kept = replace(kept, fact=self.facts.edit(kept.fact, caller.now, turn=caller.turn_id, **changes))
            if delta:
                kept = replace(kept, fact=self.facts.adjust(kept.fact, delta, caller.now, turn=caller.turn_id))
        result = self._kept(kept, caller, "updated")
        if kept.fact.id != fact.id:
            result["replaces"] = fact.handle
        return result

    def _remove(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        gone = self.facts.retire(self._fact(arguments, caller), caller.now, turn=caller.turn_id)
        return {"id": gone.handle, "status": "removed", "note": "action=undo brings it back; memory_forget deletes."}

    def _undo(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        undone = self.facts.undo(self._fact(arguments, caller), caller.now)
        return {"status": f"undone: {undone.action}", "fact": self._shown(undone.fact, caller.now)}

    # -- reading ---------------------------------------------------------------------------------------------------

    def _search(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        query = arguments.text("query", required=True)
        category = arguments.choice("category", CATEGORIES, "")
        return self._listed(self.facts.search(query, caller, SEARCHED, category), arguments, caller)

    def _probe(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        entity = arguments.text("entity", required=True)
        return self._listed(self.facts.on_entity(entity, caller.scope, caller.now), arguments, caller)

    def _related(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        entity = arguments.text("entity", required=True)
        return self._listed(self.facts.related(entity, caller.scope, caller.now), arguments, caller)

    def _reason(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        found = self.facts.connecting(self._entities(arguments), caller.scope, caller.now)
        return self._listed(found, arguments, caller)

    def _list(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        category = arguments.choice("category", CATEGORIES, "")
        at = _moment(arguments, "as_of", end=True)
        if at is None:
            found = self.facts.current(caller.scope, caller.now, category=category)
            return self._listed(found, arguments, caller, min_trust=0.0)
        # A mere day is asked for as it ended, and today as it is now.
        at = min(at, caller.now)
        held = self.facts.as_of(caller.scope, at, category=category, entity=arguments.text("entity", longest=200))
        return self._paged(
            held, lambda fact: {**self._shown(fact, caller.now), **_ended(fact)}, lambda fact: (fact,), arguments
        )

    def _history(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        versions = self.facts.history(self._fact(arguments, caller))

        def shown(fact: Fact) -> dict[str, Any]:
            return {**self._shown(fact, caller.now), **_ended(fact)}

        return self._paged(versions, shown, lambda fact: (fact,), arguments)

    def _contradict(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """With fact_id and other_id: record a verdict (`replaces`: the first takes the other's place). Without: list the pairs."""
        if arguments.text("other_id"):
            return self._judged(arguments, caller)
        pairs = self.facts.conflicts(caller.scope, caller.now, arguments.text("entity"))

        def shown(pair: Conflict) -> dict[str, Any]:
            since = pair.found_at if pair.marked_at is None else pair.marked_at
            item: dict[str, Any] = {"state": pair.state, "since": _day(since)}
            if pair.consistent_at is not None:
                item["judged_consistent"] = _day(pair.consistent_at)
            return {**item, "a": self._shown(pair.a, caller.now), "b": self._shown(pair.b, caller.now)}

        return self._paged(pairs, shown, lambda pair: (pair.a, pair.b), arguments)

    def _judged(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        fact = self._fact(arguments, caller)
        other = self.facts.get(arguments.text("other_id"), caller.scope)
        verdict = arguments.choice("verdict", VERDICTS, "contradiction")
        if verdict == "replaces":
            kept = self.facts.supersede(other, fact, caller.now, turn=caller.turn_id)
            return {"id": kept.handle, "replaces": other.handle, "note": "action=undo on the replaced one takes it back."}
        recorded = self.facts.mark(fact, other, caller.now, consistent=verdict == "consistent")
        state = "contradiction" if recorded else "consistent"
        return {"a": fact.handle, "b": other.handle, "state": state, "verdict": verdict}

    # -- arguments -------------------------------------------------------------------------------------------------

    def _fact(self, arguments: Arguments, caller: Caller) -> Fact:
        return self.facts.get(arguments.text("fact_id", required=True, longest=100), caller.scope)

    def _content(self, arguments: Arguments, *, required: bool = False) -> str:
        value = arguments.values.get("content")
        if isinstance(value, str) and len(value) > TEXT_MAX_CHARS:
            return value  # the layer says what its limit is
        return arguments.text("content", required=required)

    def _entities(self, arguments: Arguments) -> list[str]:
        one = arguments.text("entity", longest=200)
        return distinct([*([one] if one else []), *arguments.strings("entities")])

    def _changes(self, arguments: Arguments) -> dict[str, Any]:
        """What update changes beside the text; a key that isn't given isn't changed."""
        given = {key for key, value in arguments.values.items() if value is not None and value != ""}
        changes: dict[str, Any] = {}
        if "category" in given:
            changes["category"] = arguments.choice("category", CATEGORIES)
        if "tags" in given:
            changes["tags"] = tuple(arguments.strings("tags"))
        if given & {"entity", "entities"}:
            changes["entities"] = tuple(self._entities(arguments))
        if "valid_from" in given:
            changes["valid_from"] = _moment(arguments, "valid_from")
        if "valid_to" in given:
            changes["valid_to"] = _moment(arguments, "valid_to", end=True)
        return changes

    def _corrected(self, fact: Fact, content: str, changes: dict[str, Any], caller: Caller) -> Statement:
        """The new statement: what the old one had, unless changed. Names that left the text don't stay."""
        kept = [name for name in fact.entities if mentions(content, name) or not mentions(fact.text, name)]
        statement = Statement(
            text=content, scope=caller.scope, category=fact.category, tags=fact.tags, author=caller.author,
            entities=tuple(distinct([*kept, *detect_entities(content)])), evidence=caller.turn_id or caller.session_id,
            origin="fact_store", session_id=caller.session_id, valid_from=fact.valid_from, valid_to=fact.valid_to,
        )  # fmt: skip
        return replace(statement, **changes)

    # -- results ---------------------------------------------------------------------------------------------------

    def _kept(self, kept: Remembered, caller: Caller, status: str) -> dict[str, Any]:
        result = {"status": status, **self._shown(kept.fact, caller.now)}
        if kept.redacted:
            result["redacted"] = f"{kept.redacted} secret(s) were not stored"
        if kept.conflicts:
            result["may_contradict"] = [{"id": one.handle, "text": one.text} for one in kept.conflicts[:3]]
        return result

    def _listed(self, found: Iterable[Fact | Linked], arguments: Arguments, caller: Caller, *,
                min_trust: float = MIN_TRUST) -> dict[str, Any]:  # fmt: skip
        """Those of the wanted trust and category, in their order, with their contradictions."""
        least = arguments.number("min_trust", min_trust, low=0.0, high=1.0)
        category = arguments.choice("category", CATEGORIES, "")
        linked = [one if isinstance(one, Linked) else Linked(one, ()) for one in found]
        wanted = [
            one for one in linked
            if category in ("", one.fact.category) and self.facts.posterior(one.fact, caller.now).mean >= least
        ]  # fmt: skip

        def shown(one: Linked) -> dict[str, Any]:
            item = self._shown(one.fact, caller.now)
            if one.via:
                item["via"] = list(one.via)
            against = self.facts.contradicted([one.fact.id]).get(one.fact.id)
            return {**item, "contradicts": [self.facts.get(other, caller.scope).handle for other in against]} if against else item

        return self._paged(wanted, shown, lambda one: (one.fact,), arguments)

    def _paged(
        self, found: Sequence[_Item], shown: Callable[[_Item], dict[str, Any]],
        facts: Callable[[_Item], tuple[Fact, ...]], arguments: Arguments,
    ) -> dict[str, Any]:  # fmt: skip
        """A page of at most `limit` items inside the token cap; what it shows is counted as retrieved."""
        start = arguments.integer("cursor", 0, low=0, high=10**9)
        limit = arguments.integer("limit", LIMIT, low=1, high=LIMIT_MAX)
        window = found[start : start + limit]
        # Only the window is rendered; `page` counts from the cursor, so what lies before it is left blank.
        result = page([{}] * min(start, len(found)) + [shown(one) for one in window], arguments)
        following = start + len(result["results"])
        result["total"] = len(found)
        result.pop("cursor", None)
        if following < len(found):
            result["cursor"] = str(following)
        self.facts.index.used(fact.passage_id for one in found[start:following] for fact in facts(one))
        return result

    def _shown(self, fact: Fact, now: float) -> dict[str, Any]:
        item: dict[str, Any] = {
            "id": fact.handle, "text": fact.text, "date": _day(fact.created_at), **self._trust(fact, now),
            "entities": list(fact.entities),
        }  # fmt: skip
        if fact.category != "general":
            item["category"] = fact.category
        if fact.tags:
            item["tags"] = list(fact.tags)
        return item

    def _trust(self, fact: Fact, now: float) -> dict[str, Any]:
        posterior = self.facts.posterior(fact, now)
        return {"trust": round(posterior.mean, 2), "interval": [round(end, 2) for end in posterior.interval()]}


def _ended(fact: Fact) -> dict[str, str]:
    if fact.removed_at is not None:
        return {"removed": _day(fact.removed_at)}
    return {} if fact.valid_to is None else {"valid_to": _day(fact.valid_to)}


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _moment(arguments: Arguments, name: str, *, end: bool = False) -> float | None:
    """An ISO date or time (UTC unless it says otherwise) as epoch seconds; as an `end`, a mere day lasts all day.

    An end in the last year there is, as databases write it (9999-12-31), means none.
    """
    text = arguments.text(name, longest=40)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"{arguments.tool}: `{name}` is {text!r}; write a date such as 2026-11-30.") from None
    if end and moment.year == MAXYEAR:
        return None
    whole_day = end and len(text) <= len("2026-11-30")
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) + timedelta(days=whole_day)
    return moment.timestamp()
