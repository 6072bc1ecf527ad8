"""What a request to forget means: which memories its ids, its words, a session, a file or "everything" name.

Private memory is forgotten by whom it belongs to. What is shared (fabric, documents) only by the person at the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from memory_os.documents import Documents
from memory_os.errors import BadRequest
from memory_os.facts import Fact, Facts
from memory_os.forgetting.documents import document_passages
from memory_os.forgetting.likeness import coverage
from memory_os.forgetting.targets import Targets
from memory_os.index import Index
from memory_os.memory import SHARED_SCOPE, Layer, Passage, Scope
from memory_os.sessions import Sessions
from memory_os.store import Store
from memory_os.text import query_terms
from memory_os.tooling import Caller

__all__ = ["COVERAGE", "Meaning", "listed", "own_scopes"]

# A query may mean this many memories at once; more are listed after these are gone.
CANDIDATES = 20
# Share of the query's words that a candidate has. Forgetting is for good: better to name too few than to list noise.
COVERAGE = 0.5
EXCERPT_CHARS = 160


class Meaning:
    """Reads, and deletes nothing. What is meant comes with what is listed of it for whoever asked."""

    def __init__(self, store: Store, index: Index, sessions: Sessions, facts: Facts, documents: Documents) -> None:
        self._store = store
        self._index = index
        self._sessions = sessions
        self._facts = facts
        self._documents = documents

    def by_ids(self, ids: Sequence[str], caller: Caller) -> tuple[Targets, list[dict[str, str]]]:
        """Raises BadRequest for an id that names nothing of the caller's."""
        targets = Targets()
        found: list[Passage] = []
        unshown: list[dict[str, str]] = []
        for one in ids:
            name = one.strip().strip("()")
            passage = self._index.by_handle(name, caller.scope.readable)
            if passage is not None:
                found.append(passage)
            else:  # a corrected or removed fact has no passage that is shown any more
                fact = self._fact(name, caller.scope)
                targets.facts.append(fact.id)
                unshown.append(_listed_line(fact.handle, fact.created_at, Layer.FACTS, fact.text))
        more = _targets(found, caller)
        targets.facts += more.facts
        targets.messages, targets.passages = more.messages, more.passages
        return targets, [listed(passage) for passage in found] + unshown

    def of_document(self, path: str, caller: Caller) -> tuple[Targets, dict[str, int]]:
        """Raises BadRequest for a document memory has nothing of."""
        targets = _targets(document_passages(self._documents, self._index, path), caller)
        return targets, {"passages": len(targets.passages)}

    def of_query(self, query: str, caller: Caller) -> tuple[Targets, list[dict[str, str]]]:
        found = self.matching(query, caller)
        return _targets(found, caller), [listed(passage) for passage in found]

    def of_session(self, session: str, caller: Caller) -> tuple[Targets, dict[str, int]]:
        """`current`: the session that asks."""
        name = caller.session_id if session == "current" else session
        messages = [row["id"] for row in self._sessions.of_session(name, caller.scope)]
        return _counted(Targets(messages, self._facts.ids(caller.scope, session_id=name), session_id=name))

    def of_everything(self, scope: Scope) -> tuple[Targets, dict[str, int]]:
        """All that is somebody's own."""
        rows = self._store.rows(
            "SELECT id FROM passages WHERE scope IN (SELECT value FROM json_each(?)) AND layer = 'workspace'", (scope.own_listed,)
        )
        passages = [self._index.by_handle(row["id"], scope.own) for row in rows]
        messages = [row["id"] for row in self._sessions.of_scope(scope)]
        return _counted(Targets(messages, self._facts.ids(scope), [one for one in passages if one], everything=True))

    def matching(self, query: str, caller: Caller) -> list[Passage]:
        """Memories the caller may forget that have the query's words, most of them first, their own before shared ones.

        What is archived or has been superseded is meant as well: it would come back.
        """
        terms = query_terms(query)
        # Apart, so that a library of documents never crowds out what was said.
        hits = [hit for key in own_scopes(caller) for hit in self._index.lexical(terms, [key], limit=200, now=caller.now, closed=True)]
        passages = self._index.passages([hit.pk for hit in hits])
        scored = [(coverage(terms, passages[hit.pk].text), passages[hit.pk]) for hit in hits if hit.pk in passages]
        kept = sorted((one for one in scored if one[0] >= COVERAGE), key=lambda one: -one[0])
        return [passage for _, passage in kept[:CANDIDATES]]

    def _fact(self, name: str, scope: Scope) -> Fact:
        try:
            return self._facts.get(name, scope)
        except BadRequest:
            raise BadRequest(
                f"There is no memory {name[:40]!r} of yours.", cure="Take the id from a recalled line, or give query=<words>."
            ) from None


def own_scopes(caller: Caller) -> tuple[str, ...]:
    """The scopes in which a caller may forget: what is shared only as the person at the machine."""
    return caller.scope.readable if caller.scope.user == "local" else caller.scope.own


def listed(passage: Passage) -> dict[str, str]:
    """A memory as it is shown to whoever is to say that it may go."""
    return _listed_line(passage.handle, passage.created_at, passage.layer, passage.text)


def _targets(passages: Iterable[Passage], caller: Caller) -> Targets:
    targets = Targets()
    for passage in passages:
        kind, _, name = passage.source.partition(":")
        if passage.scope == SHARED_SCOPE and caller.scope.user != "local":
            raise BadRequest(
                f"{passage.handle} is shared; only the person at this machine can forget it.",
                cure="Ask them, or correct it with a newer entry.",
            )
        if kind == "message":
            targets.messages.append(int(name))
        elif kind == "fact":
            targets.facts.append(int(name))
        else:
            targets.passages.append(passage)
    return targets


def _counted(targets: Targets) -> tuple[Targets, dict[str, int]]:
    return targets, {
        "messages": len(targets.messages), "facts": len(targets.facts), "other": len(targets.passages)
    }  # fmt: skip


def _listed_line(handle: str, created_at: float, layer: Layer, text: str) -> dict[str, Any]:
    said = " ".join(text.split())
    day = time.strftime("%Y-%m-%d", time.gmtime(created_at))
    excerpt = said[:EXCERPT_CHARS] + ("…" if len(said) > EXCERPT_CHARS else "")
    return {"id": handle, "date": day, "layer": layer.value, "text": excerpt}
