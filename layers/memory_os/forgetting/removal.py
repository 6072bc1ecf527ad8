"""Taking memories out of the layers they live in, and noting by what their traces are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memory_os.documents import Documents
from memory_os.errors import FabricError
from memory_os.fabric import Fabric
from memory_os.facts import Facts
from memory_os.forgetting.documents import forget_passages
from memory_os.forgetting.targets import Gone, Targets
from memory_os.index import Index
from memory_os.memory import DOCUMENT_LAYERS, Layer, Passage
from memory_os.sessions import Sessions
from memory_os.tooling import Caller
from memory_os.workspace import Workspace

__all__ = ["Removal"]

_HOST_KEEPS = (
    "Hermes keeps its own history in state.db, which memory-os never writes; what was forgotten is not imported from there"
    " again. `hermes sessions delete <id>` removes a session there. Its logs (logs/agent.log) may quote what was said, too."
)


class Removal:
    def __init__(
        self, index: Index, sessions: Sessions, facts: Facts, fabric: Fabric, documents: Documents, workspace: Workspace
    ) -> None:
        self._index = index
        self._sessions = sessions
        self._facts = facts
        self._fabric = fabric
        self._documents = documents
        self._workspace = workspace

    def messages(self, db: sqlite3.Connection, targets: Targets, caller: Caller, gone: Gone) -> None:
        """Messages, and their repeats in other turns unless they are to go alone."""
        on_host = False
        hashes = set()
        for message_id in dict.fromkeys(targets.messages):
            row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
            if row is None or row["content_hash"] in hashes:
                continue
            hashes.add(row["content_hash"])
            same = db.execute(
                "SELECT * FROM messages WHERE content_hash = ? AND scope IN (SELECT value FROM json_each(?))",
                (row["content_hash"], caller.scope.own_listed),
            ).fetchall()
            same = [row] if message_id in targets.alone else same
            gone.quotes.add(same)
            for one in same:
                _note_passages(db, f"message:{one['id']}", gone)
            gone.texts.append(row["text"])
            gone.turns |= {one["turn_id"] for one in same} - {""}
            on_host = on_host or any(one["host_id"] is not None for one in same)
        gone.counts["messages"] += self._sessions.forget(targets.messages, caller.scope, caller.now, alone=targets.alone)
        if on_host or gone.counts["messages"]:
            gone.notes.append(_HOST_KEEPS)

    def facts(self, ids: Sequence[int], now: float, gone: Gone) -> None:
        for fact_id in dict.fromkeys(ids):
            for fact in self._facts.forget(fact_id, now):
                gone.counts["facts"] += 1
                gone.texts.append(fact.text)
                gone.passage_ids.append(fact.passage_id)
                gone.turns |= {fact.evidence} - {""}

    def passages(self, passages: Sequence[Passage], now: float, gone: Gone) -> None:
        """Lines of CREATIVE.md, fabric entries, passages of documents."""
        gone.texts += [passage.text for passage in passages]
        gone.passage_ids += [passage.id for passage in passages]
        for passage in passages:
            if passage.layer is Layer.WORKSPACE:
                self._workspace.drop(passage.text)
                rest = [one for one in self._index.of_source(passage.source) if one.id != passage.id]
                self._index.replace(passage.source, rest)
                gone.counts["workspace"] += 1
        for entry in {one.source: one for one in passages if one.layer is Layer.FABRIC}.values():
            self._entry(entry, gone)
        gone.cuts = forget_passages(self._documents, (one for one in passages if one.layer in DOCUMENT_LAYERS), now)
        gone.counts["passages"] += sum(cut.gone for cut in gone.cuts)
        gone.notes += [note for cut in gone.cuts for note in cut.notes()]

    def _entry(self, passage: Passage, gone: Gone) -> None:
        try:
            forgotten = self._fabric.forget(passage.source)
        except FabricError as error:
            gone.notes.append(f"{passage.handle} left the index, but its file could not be deleted: {error}")
        else:
            if not forgotten.file_deleted:
                gone.notes.append(f"{passage.handle} was written by another agent: its file stays, this one ignores it.")
        gone.counts["fabric"] += 1


def _note_passages(db: sqlite3.Connection, source: str, gone: Gone) -> None:
    rows = db.execute("SELECT id FROM passages WHERE source = ?", (source,)).fetchall()
    gone.passage_ids += [row["id"] for row in rows]
