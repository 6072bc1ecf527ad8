"""The verb: what is meant (`meaning`), what rests on it, out of the layers (`removal`), the ledgers and the spool (`traces`),
the bytes (`scrubbing`), with tombstones against imports, and with proof (`proof`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memory_os.documents import Documents
from memory_os.errors import BadRequest
from memory_os.fabric import Fabric
from memory_os.facts import Facts
from memory_os.forgetting.meaning import Meaning
from memory_os.forgetting.proof import PROVED, proved
from memory_os.forgetting.removal import Removal
from memory_os.forgetting.scrubbing import DropBackups, scrub
from memory_os.forgetting.targets import Gone, Targets
from memory_os.forgetting.traces import forget_lines, forget_queries, forget_records
from memory_os.index import Index
from memory_os.memory import Passage, Scope
from memory_os.sessions import Sessions
from memory_os.sessions.delegation import served
from memory_os.sessions.quotes import Quotes
from memory_os.store import Store, tombstones
from memory_os.tooling import Arguments, Caller
from memory_os.workspace import Workspace

__all__ = ["Forget"]

CONFIRMATION = "all my memory"


class Forget:
    """The tool `memory_forget`, and what `memory-os forget` calls."""

    def __init__(
        self, store: Store, index: Index, sessions: Sessions, facts: Facts, fabric: Fabric, documents: Documents
    ) -> None:
        self._store = store
        self._index = index
        self._settings = sessions.settings
        self.workspace = Workspace(sessions.settings, store, index)
        self._meaning = Meaning(store, index, sessions, facts, documents)
        self._removal = Removal(index, sessions, facts, fabric, documents, self.workspace)
        # What other rooms know of it; the engine sets these. Full backups that hold what goes:
        self.drop_backups: DropBackups = lambda now, at_this_machine: ({}, [], [])
        # Facts that were derived from these facts:
        self.derived_from: Callable[[Sequence[int]], list[int]] = lambda facts: []
        # Facts and passages that were extracted from these turns of a scope:
        self.resting_on: Callable[[Sequence[str], str], tuple[list[int], list[Passage]]] = lambda turns, scope: ([], [])

    def tool(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """One of `id`/`ids`, `query`, `session`, `document`, `all_mine`; all but ids list first and act with `confirm`.

        With `preview` nothing goes, whatever else is given: the answer lists what would. Raises BadRequest for an unknown
        id, another's memory, or none or several of the ways.
        """
        ids = [*arguments.strings("id"), *arguments.strings("ids")]
        query = arguments.text("query", longest=2000)
        targets, listed = self._meant(ids, query, arguments, caller)
        if not targets:
            return {"status": "nothing", "note": "Nothing of yours matches; nothing was deleted."}
        if arguments.boolean("preview") or not (ids or _confirmed(arguments)):
            return {"status": "confirm", "would_forget": listed, "next": "Call again with confirm=true, or with ids=[…]."}
        result = self._forget(targets, caller)
        if query and (more := len(self._meaning.matching(query, caller))):
            result["more"] = more
            result["next"] = f"{more} more match the query: call again with it."
        return result

    def turn(self, turn_id: str, scope: Scope, now: float) -> dict[str, Any]:
        """Forget one turn and what rests on it. The person's words go wherever they stand, the answer's only here."""
        rows = self._store.rows(
            "SELECT id, role FROM messages WHERE turn_id = ? AND scope IN (SELECT value FROM json_each(?))",
            (turn_id, scope.own_listed),
        )
        targets = Targets([row["id"] for row in rows], alone={row["id"] for row in rows if row["role"] != "user"})
        return self._forget(targets, Caller(scope=scope, now=now)) if targets else {"status": "nothing"}

    def _meant(self, ids: Sequence[str], query: str, arguments: Arguments, caller: Caller) -> tuple[Targets, Any]:
        session = arguments.text("session")
        document = arguments.text("document", longest=4096)
        everything = arguments.boolean("all_mine") or arguments.boolean("everything")
        if sum((bool(ids), bool(query), bool(session), bool(document), everything)) != 1:
            raise BadRequest(
                "memory_forget takes exactly one of id, query, session, all_mine.",
                cure="Give id=<the id in brackets before a recalled line>, or query=<words> to list what matches.",
            )
        if ids:
            return self._meaning.by_ids(ids, caller)
        if document:
            return self._meaning.of_document(document, caller)
        if query:
            return self._meaning.of_query(query, caller)
        return self._meaning.of_session(session, caller) if session else self._meaning.of_everything(caller.scope)

    def _forget(self, targets: Targets, caller: Caller) -> dict[str, Any]:
        gone = Gone(Quotes(caller.scope))
        self._add_what_rests_on(targets, caller.scope)
        self._removal.passages(targets.passages, caller.now, gone)
        with self._store.write() as db:
            self._removal.messages(db, targets, caller, gone)
            self._removal.facts(targets.facts, caller.now, gone)
            forget_lines(db, targets, caller.scope, gone)
            tombstones.count_forgetting(db)
        forget_queries(self._store, caller.scope, gone)
        forget_records(self._settings.spool_dir, self._settings.values.scopes.aliases, targets, caller.scope, gone)
        scrub(self._store, self.drop_backups, caller, gone)
        gone.notes += self._not_ours(gone, targets)
        return proved(self._store, self._index, gone, caller)

    def _add_what_rests_on(self, targets: Targets, scope: Scope) -> None:
        """What was extracted from the turns that go is nothing but their words told again."""
        turns: set[str] = set()
        for message_id in targets.messages:
            rows = self._store.rows(
                "SELECT m.turn_id FROM messages m JOIN messages o ON o.content_hash = m.content_hash"
                " WHERE o.id = ? AND m.scope IN (SELECT value FROM json_each(?)) AND m.turn_id <> ''"
                # A turn that shares but an answer, or a "yes", with the one that is meant is another turn.
                " AND (m.id = o.id OR (m.role = 'user' AND o.role = 'user' AND m.standing <> 'trivial'))",
                (message_id, scope.own_listed),
            )
            turns |= {row["turn_id"] for row in rows}
        turns |= self._delegated(targets, turns, scope)
        passages: list[Passage] = []
        for key in scope.own:
            facts, more = self.resting_on(sorted(turns), key)
            targets.facts += [one for one in facts if one not in targets.facts]
            passages += more
        targets.facts += [one for one in self.derived_from(targets.facts) if one not in targets.facts]
        there = {one.id for one in targets.passages}
        targets.passages += [one for one in passages if one.id not in there]

    def _delegated(self, targets: Targets, turns: set[str], scope: Scope) -> set[str]:
        """The turns of work that was given away in these turns; their messages go as well."""
        found: set[str] = set()
        for turn in turns:
            rows = self._store.rows(
                "SELECT id, turn_id FROM messages WHERE turn_id >= ? AND turn_id < ? AND scope IN (SELECT value FROM json_each(?))",
                (*served(turn), scope.own_listed),
            )
            targets.messages += [row["id"] for row in rows if row["id"] not in targets.messages]
            found |= {row["turn_id"] for row in rows}
        return found

    def _not_ours(self, gone: Gone, targets: Targets) -> list[str]:
        """Where the words still stand in files that aren't ours to change."""
        names = sorted({name for text in gone.texts[:PROVED] for name in self.workspace.in_files(text)})
        notes = [f"{name} is Hermes's file and still says this: remove it with the `memory` tool." for name in names]
        if targets.everything:
            notes.append("Shared memory (fabric, documents) is not part of this; forget such a line by its id.")
        return notes


def _confirmed(arguments: Arguments) -> bool:
    given = arguments.values.get("confirm")
    if isinstance(given, str) and given.strip().casefold() == CONFIRMATION:
        return True
    return arguments.boolean("confirm")
