"""The tools about a person: `peer_profile`, `peer_search`, `peer_context`, `peer_reasoning`, `peer_conclude`.

None of them waits for a model here: what was thought before is answered, what is new is thought about in the background, and
until then the answer is what search finds. The service waits a few seconds for it (`preparing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_os.errors import BadRequest
from memory_os.facts import Fact, Facts, Statement
from memory_os.memory import Layer, Passage
from memory_os.recall.rendering import day_of
from memory_os.text import token_estimate
from memory_os.tooling import PAGE_TOKENS, PAGE_TOKENS_MAX, Arguments, Caller, Searcher, page
from memory_os.understanding.person import PERSON_TAG, Person, Thought
from memory_os.understanding.thinking import DEPTH_MAX

Tool = Callable[[Arguments, Caller], dict[str, Any]]

_SEARCHED = 50
_SAID = 5
_SAID_CHARS = 300
_LATER = "A model thinks about it in the background: call again later. These are the conclusions that fit."
_NO_MODEL = "No language model may be asked (`models.jobs`); these are the conclusions that fit."


class PersonTools:
    """Arguments in, JSON out, in the caller's own scope. `forget` is the tool `memory_forget`."""

    def __init__(self, person: Person, facts: Facts, searcher: Searcher, forget: Tool) -> None:
        self._person = person
        self._facts = facts
        self._searcher = searcher
        self._forget = forget

    def table(self) -> dict[str, Tool]:
        return {
            "peer_profile": self.profile,
            "peer_search": self.search,
            "peer_context": self.context,
            "peer_reasoning": self.reasoning,
            "peer_conclude": self.conclude,
        }

    def profile(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """The card of the person."""
        card = self._person.card(caller.scope, caller.now)
        total = len(self._person.conclusions(caller.scope, caller.now))
        self._used(_handles(card), caller)
        return {**_told(card), "conclusions": total}

    def search(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Conclusions that fit a query, in pages."""
        query = arguments.text("query", required=True, longest=2000)
        found = self._person.search(query, caller, _SEARCHED)
        result = page([self._shown(one, caller) for one in found], arguments)
        start = arguments.integer("cursor", 0, low=0, high=10**9)
        self._facts.index.used(one.passage_id for one in found[start : start + len(result["results"])])
        return result

    def context(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """The card, what fits the query, and what was said on it, within `max_tokens`."""
        query = arguments.text("query", longest=2000)
        cap = arguments.integer("max_tokens", PAGE_TOKENS, low=100, high=PAGE_TOKENS_MAX)
        card = self._person.card(caller.scope, caller.now)
        result: dict[str, Any] = _told(card)
        handles = _handles(card)
        shown = {one["text"] for one in result["lines"]}
        fitting = [self._shown(one, caller) for one in self._person.search(query, caller, 10)] if query else []
        said = [_said(one) for one in self._searcher(query, caller, [Layer.SESSIONS], _SAID)] if query else []
        spent = token_estimate(str(result))
        for name, items in (("conclusions", [one for one in fitting if one["text"] not in shown]), ("said", said)):
            kept = []
            for one in items:
                spent += token_estimate(str(one))
                if spent > cap:
                    break
                kept.append(one)
            if kept:
                result[name] = kept
                handles += [one["id"] for one in kept]
        self._used(handles, caller)
        return result

    def reasoning(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """An answer about the person: a model's where there is one, else what search finds, at once either way.

        `preparing`: a model is about to think about it; who can wait asks again.
        """
        question = arguments.text("query", required=True, longest=500)
        depth = arguments.integer("depth", 2, low=1, high=DEPTH_MAX)
        known = self._person.answer(question, caller.scope, caller.now)
        if known is not None and known.lines and not known.stale and known.depth >= depth:
            self._used(_handles(known), caller)
            return _told(known)
        found = self._person.search(question, caller, 10)
        fitting = [self._shown(one, caller) for one in found]
        earlier = known if known is not None and known.lines and self._person.wanted else None
        self._used([one.handle for one in found] + (_handles(earlier) if earlier else []), caller)
        if not self._person.wanted:
            return {"conclusions": fitting, "by": "search", "note": _NO_MODEL}
        if known is None or not known.waits:
            self._person.ask(question, depth, caller.scope, caller.now)
        answer: dict[str, Any] = {"conclusions": fitting, "by": "search", "note": _LATER}
        if earlier is not None:
            answer["earlier"] = _told(earlier)["lines"]
        if self._person.is_prepared(question, caller.scope, caller.now):
            answer["preparing"] = True
        return answer

    def conclude(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Keep a conclusion (`content`), or delete one everywhere (`delete`: its id)."""
        content, gone = arguments.text("content", longest=4000), arguments.text("delete", longest=100)
        if bool(content) == bool(gone):
            raise BadRequest(
                "peer_conclude takes one of content and delete.", cure="Give content=<one sentence>, or delete=<id>."
            )
        if gone:
            fact = self._facts.get(gone, caller.scope)
            return self._forget(Arguments("memory_forget", {"id": fact.handle}), caller)
        statement = Statement(
            text=content, scope=caller.scope, category="user_pref", tags=(PERSON_TAG,), author=caller.author,
            evidence=caller.turn_id or caller.session_id, origin="peer_conclude", session_id=caller.session_id,
        )  # fmt: skip
        kept = self._facts.state(statement, caller.now)
        return {"id": kept.fact.handle, "status": "merged with an earlier one" if kept.merged else "kept"}

    def _used(self, handles: list[str], caller: Caller) -> None:
        """Count what was shown as retrieved, each once: also the facts that a line of a model rests on."""
        found = [self._facts.index.by_handle(one, caller.scope.readable) for one in dict.fromkeys(handles)]
        self._facts.index.used([passage.id for passage in found if passage is not None])

    def _shown(self, fact: Fact, caller: Caller) -> dict[str, Any]:
        trust = self._facts.posterior(fact, caller.now).mean
        return {"id": fact.handle, "text": fact.text, "date": day_of(fact.created_at), "trust": round(trust, 2)}


def _handles(thought: Thought) -> list[str]:
    return [handle for _, handles in thought.lines for handle in handles]


def _told(thought: Thought) -> dict[str, Any]:
    result: dict[str, Any] = {
        "lines": [{"text": text, "rests_on": list(handles)} for text, handles in thought.lines], "by": thought.by,
    }  # fmt: skip
    if thought.made_at is not None:
        result |= {"made": day_of(thought.made_at), "depth": thought.depth}
    if thought.stale and thought.by == "model":
        result["note"] = "Conclusions have changed since; it is made anew in the background."
    return result


def _said(passage: Passage) -> dict[str, str]:
    text = " ".join(passage.text.split())
    return {"id": passage.handle, "date": day_of(passage.created_at), "text": text[:_SAID_CHARS]}
