"""Forgetting: out of every layer, the ledgers and the backups, with tombstones against imports, and with proof.

Private memory is forgotten by whom it belongs to. What is shared (fabric, documents) only by the person at the machine.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_os.documents import Documents
from memory_os.errors import BadRequest, FabricError, StoreError
from memory_os.fabric import Fabric
from memory_os.facts import Fact, Facts
from memory_os.forget_documents import Cut, document_passages, forget_passages
from memory_os.index import Index
from memory_os.memory import DOCUMENT_LAYERS, SHARED_SCOPE, Layer, Passage, Scope, content_hash
from memory_os.sessions import Sessions
from memory_os.sessions.delegation import served
from memory_os.sessions.quotes import Quotes
from memory_os.spool_traces import Forgotten, remove_traces
from memory_os.store import Store, sweep_partials, tombstones
from memory_os.text import index_terms, query_terms
from memory_os.tooling import Arguments, Caller
from memory_os.workspace import Workspace

# A query may mean this many memories at once; more are listed after these are gone.
CANDIDATES = 20
# Share of the query's words that a candidate has. Forgetting is for good: better to name too few than to list noise.
COVERAGE = 0.5
# A remaining memory with this share of a forgotten one's words probably says the same (the answer that repeated it).
SIMILAR = 0.75
# Texts that are searched for again as proof; each costs a query.
PROVED = 50
EXCERPT_CHARS = 160
CONFIRMATION = "all my memory"


@dataclass(slots=True)
class Targets:
    """What is to go, by where it lives."""

    messages: list[int] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)  # of workspace, fabric and documents
    session_id: str = ""
    everything: bool = False
    alone: set[int] = field(default_factory=set)  # messages whose repeats in other turns stay

    def __bool__(self) -> bool:
        return bool(self.messages or self.facts or self.passages)


@dataclass(slots=True)
class Gone:
    """What went, and the words and ids by which its traces are found."""

    quotes: Quotes
    counts: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    passage_ids: list[str] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)  # where it still stands in files of ours


class Forget:
    """The tool `memory_forget`, and what `memory-os forget` calls."""

    def __init__(
        self, store: Store, index: Index, sessions: Sessions, facts: Facts, fabric: Fabric, documents: Documents
    ) -> None:
        self.store = store
        self.index = index
        self.sessions = sessions
        self.facts = facts
        self.fabric = fabric
        self.documents = documents
        self.workspace = Workspace(sessions.settings, store, index)
        # Deletes what full backups hold of it: how many went, and what is said of those elsewhere. The engine sets it.
        self.drop_backups: Callable[[float], tuple[int, list[str]]] = lambda _: (0, [])
        # Facts and passages that were extracted from these turns of a scope: they go with them. The engine sets it.
        # Facts that were derived from these facts. The engine sets it.
        self.derived_from: Callable[[Sequence[int]], list[int]] = lambda facts: []
        self.resting_on: Callable[[Sequence[str], str], tuple[list[int], list[Passage]]] = lambda turns, scope: ([], [])

    def tool(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """One of `id`/`ids`, `query`, `session`, `document`, `all_mine`; all but ids list first and act with `confirm`.

        With `preview` nothing goes, whatever else is given: the answer lists what would. Raises BadRequest for an unknown
        id, another's memory, or none or several of the ways.
        """
        ids = [*arguments.strings("id"), *arguments.strings("ids")]
        query, session = arguments.text("query", longest=2000), arguments.text("session")
        everything = arguments.boolean("all_mine") or arguments.boolean("everything")
        document = arguments.text("document", longest=4096)
        if sum((bool(ids), bool(query), bool(session), bool(document), everything)) != 1:
            raise BadRequest(
                "memory_forget takes exactly one of id, query, session, all_mine.",
                cure="Give id=<the id in brackets before a recalled line>, or query=<words> to list what matches.",
            )
        listed: Any
        if ids:
            targets, listed = self._by_ids(ids, caller)
        elif document:
            targets = self._targets(document_passages(self.documents, self.index, document), caller)
            listed = {"passages": len(targets.passages)}
        else:
            targets, listed = self._meant(query, session, everything, caller)
        if not targets:
            return {"status": "nothing", "note": "Nothing of yours matches; nothing was deleted."}
        if arguments.boolean("preview") or not (ids or _confirmed(arguments)):
            return {"status": "confirm", "would_forget": listed, "next": "Call again with confirm=true, or with ids=[…]."}
        result = self._forget(targets, caller)
        if query and (more := len(self._matching(query, caller))):
            result["more"] = more
            result["next"] = f"{more} more match the query: call again with it."
        return result

    def turn(self, turn_id: str, scope: Scope, now: float) -> dict[str, Any]:
        """Forget one turn and what rests on it. The person's words go wherever they stand, the answer's only here."""
        rows = self.store.rows("SELECT id, role FROM messages WHERE turn_id = ? AND scope = ?", (turn_id, scope.key))
        targets = Targets([row["id"] for row in rows], alone={row["id"] for row in rows if row["role"] != "user"})
        return self._forget(targets, Caller(scope=scope, now=now)) if targets else {"status": "nothing"}

    # -- what is meant ---------------------------------------------------------------------------------------------

    def _meant(self, query: str, session: str, everything: bool, caller: Caller) -> tuple[Targets, Any]:
        if query:
            found = self._matching(query, caller)
            return self._targets(found, caller), [_listed(passage) for passage in found]
        if session:
            name = caller.session_id if session == "current" else session
            messages = [row["id"] for row in self.sessions.of_session(name, caller.scope)]
            targets = Targets(messages, self.facts.ids(caller.scope, session_id=name), session_id=name)
        else:
            targets = self._everything(caller.scope)
        listed = {"messages": len(targets.messages), "facts": len(targets.facts), "other": len(targets.passages)}
        return targets, listed

    def _everything(self, scope: Scope) -> Targets:
        rows = self.store.rows("SELECT id FROM passages WHERE scope = ? AND layer = 'workspace'", (scope.key,))
        passages = [self.index.by_handle(row["id"], [scope.key]) for row in rows]
        messages = [row["id"] for row in self.sessions.of_scope(scope)]
        return Targets(messages, self.facts.ids(scope), [one for one in passages if one], everything=True)

    def _matching(self, query: str, caller: Caller) -> list[Passage]:
        """Memories the caller may forget that have the query's words, most of them first, their own before shared ones."""
        terms = query_terms(query)
        # Apart, so that a library of documents never crowds out what was said.
        hits = [hit for key in _own(caller) for hit in self.index.lexical(terms, [key], limit=200, now=caller.now)]
        passages = self.index.passages([hit.pk for hit in hits])
        scored = [(_coverage(terms, passages[hit.pk].text), passages[hit.pk]) for hit in hits if hit.pk in passages]
        kept = sorted((one for one in scored if one[0] >= COVERAGE), key=lambda one: -one[0])
        return [passage for _, passage in kept[:CANDIDATES]]

    def _by_ids(self, ids: Sequence[str], caller: Caller) -> tuple[Targets, list[dict[str, str]]]:
        targets = Targets()
        found: list[Passage] = []
        unshown: list[dict[str, str]] = []
        for one in ids:
            name = one.strip().strip("()")
            passage = self.index.by_handle(name, caller.scope.readable)
            if passage is not None:
                found.append(passage)
            else:  # a corrected or removed fact has no passage that is shown any more
                fact = self._fact(name, caller.scope)
                targets.facts.append(fact.id)
                unshown.append(_listed_line(fact.handle, fact.created_at, Layer.FACTS, fact.text))
        more = self._targets(found, caller)
        targets.facts += more.facts
        targets.messages, targets.passages = more.messages, more.passages
        return targets, [_listed(passage) for passage in found] + unshown

    def _fact(self, name: str, scope: Scope) -> Fact:
        try:
            return self.facts.get(name, scope)
        except BadRequest:
            raise BadRequest(
                f"There is no memory {name[:40]!r} of yours.", cure="Take the id from a recalled line, or give query=<words>."
            ) from None

    def _targets(self, passages: Iterable[Passage], caller: Caller) -> Targets:
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

    # -- forgetting ------------------------------------------------------------------------------------------------

    def _forget(self, targets: Targets, caller: Caller) -> dict[str, Any]:
        gone = Gone(Quotes(caller.scope.key))
        self._add_what_rests_on(targets, caller.scope)
        self._forget_elsewhere(targets.passages, caller.now, gone)
        with self.store.write() as db:
            self._forget_messages(db, targets, caller, gone)
            self._forget_facts(targets.facts, caller.now, gone)
            self._forget_traces(db, targets, caller.scope, gone)
            tombstones.count_forgetting(db)
        self._forget_queries(caller.scope, gone)
        self._forget_records(targets, caller.scope, gone)
        self._scrub(caller.now, gone)
        gone.notes += self._not_ours(gone, targets)
        return self._result(gone, caller)

    def _add_what_rests_on(self, targets: Targets, scope: Scope) -> None:
        """What was extracted from the turns that go is nothing but their words told again."""
        turns: set[str] = set()
        for message_id in targets.messages:
            rows = self.store.rows(
                "SELECT m.turn_id FROM messages m JOIN messages o ON o.content_hash = m.content_hash AND o.scope = m.scope"
                " WHERE o.id = ? AND m.scope = ? AND m.turn_id <> ''"
                # A turn that shares but an answer, or a "yes", with the one that is meant is another turn.
                " AND (m.id = o.id OR (m.role = 'user' AND o.role = 'user' AND m.standing <> 'trivial'))",
                (message_id, scope.key),
            )
            turns |= {row["turn_id"] for row in rows}
        turns |= self._delegated(targets, turns, scope)
        facts, passages = self.resting_on(sorted(turns), scope.key)
        targets.facts += [one for one in facts if one not in targets.facts]
        targets.facts += [one for one in self.derived_from(targets.facts) if one not in targets.facts]
        there = {one.id for one in targets.passages}
        targets.passages += [one for one in passages if one.id not in there]

    def _delegated(self, targets: Targets, turns: set[str], scope: Scope) -> set[str]:
        """The turns of work that was given away in these turns; their messages go as well."""
        found: set[str] = set()
        for turn in turns:
            rows = self.store.rows(
                "SELECT id, turn_id FROM messages WHERE turn_id >= ? AND turn_id < ? AND scope = ?", (*served(turn), scope.key)
            )
            targets.messages += [row["id"] for row in rows if row["id"] not in targets.messages]
            found |= {row["turn_id"] for row in rows}
        return found

    def _forget_messages(self, db: sqlite3.Connection, targets: Targets, caller: Caller, gone: Gone) -> None:
        on_host = False
        hashes = set()
        for message_id in dict.fromkeys(targets.messages):
            row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
            if row is None or row["content_hash"] in hashes:
                continue
            hashes.add(row["content_hash"])
            same = db.execute(
                "SELECT * FROM messages WHERE content_hash = ? AND scope = ?", (row["content_hash"], row["scope"])
            ).fetchall()
            same = [row] if message_id in targets.alone else same
            gone.quotes.add(same)
            for one in same:
                self._note_passages(db, f"message:{one['id']}", gone)
            gone.texts.append(row["text"])
            gone.turns |= {one["turn_id"] for one in same} - {""}
            on_host = on_host or any(one["host_id"] is not None for one in same)
        gone.counts["messages"] += self.sessions.forget(targets.messages, caller.scope, caller.now, alone=targets.alone)
        if on_host or gone.counts["messages"]:
            gone.notes.append(
                "Hermes keeps its own history in state.db, which memory-os never writes; what was forgotten is not imported"
                " from there again. `hermes sessions delete <id>` removes a session there."
            )

    def _forget_facts(self, ids: Sequence[int], now: float, gone: Gone) -> None:
        for fact_id in dict.fromkeys(ids):
            for fact in self.facts.forget(fact_id, now):
                gone.counts["facts"] += 1
                gone.texts.append(fact.text)
                gone.passage_ids.append(fact.passage_id)
                gone.turns |= {fact.evidence} - {""}

    def _forget_elsewhere(self, passages: Sequence[Passage], now: float, gone: Gone) -> None:
        """Lines of CREATIVE.md, fabric entries, passages of documents."""
        gone.texts += [passage.text for passage in passages]
        gone.passage_ids += [passage.id for passage in passages]
        for passage in passages:
            if passage.layer is Layer.WORKSPACE:
                self.workspace.drop(passage.text)
                rest = [one for one in self.index.of_source(passage.source) if one.id != passage.id]
                self.index.replace(passage.source, rest)
                gone.counts["workspace"] += 1
        for entry in {one.source: one for one in passages if one.layer is Layer.FABRIC}.values():
            self._forget_entry(entry, gone)
        gone.cuts = forget_passages(self.documents, (one for one in passages if one.layer in DOCUMENT_LAYERS), now)
        gone.counts["passages"] += sum(cut.gone for cut in gone.cuts)
        gone.notes += [note for cut in gone.cuts for note in cut.notes()]

    def _forget_entry(self, passage: Passage, gone: Gone) -> None:
        try:
            forgotten = self.fabric.forget(passage.source)
        except FabricError as error:
            gone.notes.append(f"{passage.handle} left the index, but its file could not be deleted: {error}")
        else:
            if not forgotten.file_deleted:
                gone.notes.append(f"{passage.handle} was written by another agent: its file stays, this one ignores it.")
        gone.counts["fabric"] += 1

    def _note_passages(self, db: sqlite3.Connection, source: str, gone: Gone) -> None:
        rows = db.execute("SELECT id FROM passages WHERE source = ?", (source,)).fetchall()
        gone.passage_ids += [row["id"] for row in rows]

    def _forget_traces(self, db: sqlite3.Connection, targets: Targets, scope: Scope, gone: Gone) -> None:
        """Lines of the injection ledger; of a whole session or person, all records of its recalls and tool calls."""
        db.executemany("DELETE FROM duty_steps WHERE passage_id = ?", [(one,) for one in gone.passage_ids])
        for passage_id in gone.passage_ids:
            gone.counts["ledger lines"] += db.execute(
                "DELETE FROM recall_lines WHERE passage_id = ?", (passage_id,)
            ).rowcount
            for table in ("line_uses", "misses"):
                db.execute(f"DELETE FROM {table} WHERE passage_id = ?", (passage_id,))
        if targets.everything:
            db.execute("DELETE FROM recalls WHERE scope = ?", (scope.key,))
            gone.counts["telemetry"] += db.execute("DELETE FROM tool_calls WHERE scope = ?", (scope.key,)).rowcount
            return
        if targets.session_id:
            values = (targets.session_id, scope.key)
            db.execute("DELETE FROM recalls WHERE session_id = ? AND scope = ?", values)
            gone.counts["telemetry"] += db.execute(
                "DELETE FROM tool_calls WHERE session_id = ? AND scope = ?", values
            ).rowcount

    def _forget_queries(self, scope: Scope, gone: Gone) -> None:
        """Recorded tool calls of the turns that went, or whose query has the words. Compared outside a transaction."""
        said = [_words(text) for text in gone.texts]
        about = []
        for row in self.store.rows("SELECT id, turn_id, query FROM tool_calls WHERE scope = ?", (scope.key,)):
            asked = query_terms(row["query"])
            if row["turn_id"] in gone.turns or any(_share(asked, words) >= COVERAGE for words in said):
                about.append((row["id"],))
        with self.store.write() as db:
            db.executemany("DELETE FROM tool_calls WHERE id = ?", about)
        gone.counts["telemetry"] += len(about)

    def _forget_records(self, targets: Targets, scope: Scope, gone: Gone) -> None:
        """Captured records that were rejected, or wait for a retry."""
        settings = self.sessions.settings
        forgotten = Forgotten(scope, list(dict.fromkeys(gone.texts)), targets.session_id, targets.everything)
        gone.counts["spool records"] = remove_traces(settings.spool_dir, forgotten, settings.values.scopes.aliases)

    def _scrub(self, now: float, gone: Gone) -> None:
        """Deleted words leave the full-text segments, the write-ahead log, and the backups."""
        with self.store.write() as db:
            db.execute("INSERT INTO passages_fts(passages_fts) VALUES('optimize')")
        try:
            self.store.vacuum()
        except sqlite3.Error as error:
            gone.unfinished.append(f"memory.db could not be written anew ({error}): its unused space may still hold it.")
        if not self.store.checkpoint():
            gone.unfinished.append("A reader holds the write-ahead log: what was forgotten is in it until the next checkpoint.")
        gone.counts["backups renewed"] = self._renew_backups(now, gone)
        gone.counts["full backups deleted"], notes = self.drop_backups(now)
        gone.notes += notes

    def _renew_backups(self, now: float, gone: Gone) -> int:
        """A fresh backup in place of the old ones. Waits for one that is being made: that one goes as well."""
        folder = self.store.path.parent / "backups"
        with self.store.backing_up:
            sweep_partials(folder)
            old = sorted(folder.glob("memory-*.db"))
            if not old:
                return 0
            fresh = folder / f"memory-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}.db"
            try:
                self.store.backup(fresh)
            except (StoreError, sqlite3.Error, OSError) as error:
                gone.unfinished.append(f"{len(old)} backups in {folder} still hold it; a fresh one failed: {error}")
                return 0
            for path in old:
                if path != fresh:
                    path.unlink()
            return len(old)

    # -- proof -----------------------------------------------------------------------------------------------------

    def _not_ours(self, gone: Gone, targets: Targets) -> list[str]:
        """Where the words still stand in files that aren't ours to change."""
        names = sorted({name for text in gone.texts[:PROVED] for name in self.workspace.in_files(text)})
        notes = [f"{name} is Hermes's file and still says this: remove it with the `memory` tool." for name in names]
        if targets.everything:
            notes.append("Shared memory (fabric, documents) is not part of this; forget such a line by its id.")
        return notes

    def _result(self, gone: Gone, caller: Caller) -> dict[str, Any]:
        """The search made again. `found` must be 0; `similar` are memories left that probably say the same."""
        left: dict[str, Passage] = {}
        similar: dict[str, Passage] = {}
        searched = list(dict.fromkeys(gone.texts))[:PROVED]
        for text in searched:
            terms = query_terms(text)
            hits = self.index.lexical(terms, caller.scope.readable, limit=20, now=caller.now)
            for passage in self.index.passages([hit.pk for hit in hits]).values():
                own = passage.scope in _own(caller)
                if passage.id in gone.passage_ids or (
                    passage.scope == caller.scope.key and passage.content_hash == content_hash(text)
                ):
                    left[passage.handle] = passage
                elif own and _coverage(terms, passage.text) >= SIMILAR:
                    similar[passage.handle] = passage
        found = len(left) + self._rows_left(searched, caller.scope) + gone.quotes.left(self.store)
        result: dict[str, Any] = {
            "status": "incomplete" if found or gone.unfinished else "forgotten",
            "forgotten": {name: count for name, count in gone.counts.items() if count},
            "proof": {"searched_again": len(searched), "found": found},
        }
        if gone.cuts:
            result["documents"] = [{"path": cut.path, "forgotten": cut.gone, "left": cut.left} for cut in gone.cuts]
        if similar:
            listed = [_listed(passage) for passage in similar.values()]
            result["similar"] = listed[:5]
            result["next"] = "These say nearly the same: call again with their ids to forget them too."
        notes = [*gone.unfinished, *gone.notes]
        if notes:
            result["notes"] = list(dict.fromkeys(notes))
        return result

    def _rows_left(self, texts: Sequence[str], scope: Scope) -> int:
        """Rows that still hold one of the texts."""
        count = 0
        for text in texts:
            count += int(self.store.value("SELECT count(*) FROM messages WHERE scope = ? AND text = ?", (scope.key, text)))
            count += int(self.store.value("SELECT count(*) FROM facts WHERE scope = ? AND text = ?", (scope.key, text)))
        return count


def _confirmed(arguments: Arguments) -> bool:
    given = arguments.values.get("confirm")
    if isinstance(given, str) and given.strip().casefold() == CONFIRMATION:
        return True
    return arguments.boolean("confirm")


def _own(caller: Caller) -> tuple[str, ...]:
    """The scopes in which a caller may forget: what is shared only as the person at the machine."""
    return caller.scope.readable if caller.scope.user == "local" else (caller.scope.key,)


def _listed(passage: Passage) -> dict[str, str]:
    return _listed_line(passage.handle, passage.created_at, passage.layer, passage.text)


def _listed_line(handle: str, created_at: float, layer: Layer, text: str) -> dict[str, str]:
    words = " ".join(text.split())
    day = time.strftime("%Y-%m-%d", time.gmtime(created_at))
    excerpt = words[:EXCERPT_CHARS] + ("…" if len(words) > EXCERPT_CHARS else "")
    return {"id": handle, "date": day, "layer": layer.value, "text": excerpt}


def _words(text: str) -> set[str]:
    return set(query_terms(text)) | set(index_terms(text).casefold().split())


def _share(terms: Sequence[str], words: set[str]) -> float:
    return sum(term in words for term in terms) / len(terms) if terms else 0.0


def _coverage(terms: Sequence[str], text: str) -> float:
    """The share of the terms that a text has."""
    return _share(terms, _words(text))
