"""The library as one thing: opens the store and the layers, and offers what the service calls.

Opening is fast; models come later (`load_models`), and until then recall answers by full text. All methods are
synchronous and thread-safe.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from memory_os.capture import Capture
from memory_os.config import Settings
from memory_os.dead_letters import DeadLetters, dead_letters
from memory_os.documents import Documents, instruction_like
from memory_os.documents.schema import documents as documents_migrations
from memory_os.embedding import Embedder, fingerprint_of, load_embedder
from memory_os.embedding.cache import CachedEmbedder, shared
from memory_os.errors import BadRequest, StoreError
from memory_os.fabric import Fabric
from memory_os.fabric.schema import fabric as fabric_migrations
from memory_os.facts import Facts
from memory_os.facts.schema import facts as facts_migrations
from memory_os.forgetting import Forget, TakingBack
from memory_os.ground_truth.layer import GroundTruth
from memory_os.ground_truth.schema import ground_truth as ground_truth_migrations
from memory_os.index import Index
from memory_os.indexing import Indexing, Progress
from memory_os.intake import Intake
from memory_os.maintenance import Maintenance
from memory_os.maintenance.requests import answer as maintenance_answer
from memory_os.maintenance.schema import maintenance as maintenance_migrations
from memory_os.memory import Author
from memory_os.recall import Query, Recall, query_of, scope_of
from memory_os.recall.ledger import Missed, best_first, put_at, scores_of
from memory_os.recall.rendering import one_line
from memory_os.recall.selection import Decision
from memory_os.searching import Searching
from memory_os.sessions import Sessions
from memory_os.sessions.schema import sessions as sessions_migrations
from memory_os.status import status_of
from memory_os.store import Store, open_store
from memory_os.text import plain_text
from memory_os.tooling import Arguments, Caller
from memory_os.understanding import Understanding
from memory_os.understanding.person_tools import PersonTools
from memory_os.understanding.schema import understanding as understanding_migrations
from memory_os.wiki import Wiki
from memory_os.wiki.neighbours import WikiNeighbours
from memory_os.workspace import Workspace

Tool = Callable[[Arguments, Caller], dict[str, Any]]

# What is waiting in the spool when a question comes is taken first, if that is quick: the other session has just ended.
_DRAIN_WAIT_S = 0.05
_DRAIN_WITHIN_S = 0.05
_PENDING_LINES = 5


class Engine:
    """All seven layers over one home. Make it with `open`, end it with `close`."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.index = Index(store, fingerprint_of(settings.values.embedding))
        self.indexing = Indexing(store, self.index)
        self.recaller = Recall(store, self.index, settings.values.recall)
        self.workspace = Workspace(settings, store, self.index)
        self.sessions = Sessions(store, self.index, settings)
        self.facts = Facts(store, self.index, settings)
        self.fabric = Fabric(store, self.index, settings)
        self.documents = Documents(store, self.index, settings)
        self.wiki = Wiki(settings)
        self.wiki_neighbours = WikiNeighbours(store, self.index, self.indexing, self.wiki)
        self.capture = Capture(store, self.sessions, self.facts, settings)
        self.forgetting = Forget(store, self.index, self.sessions, self.facts, self.fabric, self.documents)
        self.taking_back = TakingBack(store, self.index, self.forgetting, self.recaller.ledger)
        self.searching = Searching(store, self.index, self.indexing, self.recaller)
        self.ground_truth = GroundTruth(settings, store, self.index, self.facts)
        self.understanding = Understanding(store, self.sessions, self.facts, self.fabric, self.workspace, settings)
        self.dead_letters = DeadLetters(store)
        self.intake = Intake(settings.spool_dir, store, self.capture.take)
        self.maintenance = Maintenance(self)
        # A write that holds the database up must not hold a recall up: it waits for this thread, and not for long.
        self._taking = ThreadPoolExecutor(1, "intake")
        self.ready = False
        self.embedder: CachedEmbedder | None = None
        self._connect()
        self.tools = self._tools()

    @classmethod
    def open(cls, settings: Settings) -> Engine:
        """Open memory.db and the layers. Raises StoreError and its leaves."""
        store = open_store(
            settings.database,
            [
                sessions_migrations, facts_migrations, fabric_migrations, documents_migrations, dead_letters,
                maintenance_migrations, ground_truth_migrations, understanding_migrations,
            ],
        )
        try:
            return cls(settings, store)
        except BaseException:
            store.close()
            raise

    def load_models(self, embedder: Embedder | None = None) -> None:
        """Load the embedder, if it isn't given, and open the collection (about 0.4 s).

        Raises EmbeddingError; recall then stays full text.
        """
        embedder = self.embedder = shared(embedder or load_embedder(self.settings), self.settings, self.index.fingerprint)
        embedder.watch.told = lambda fault: self.store.count("embedding_failed", reason=fault)
        self.indexing.open(self.settings.vectors_dir, embedder, self.settings.values.servers)
        self.recaller.arms.embed = embedder.embed_query
        self.recaller.arms.comparable = embedder.comparable
        self.recaller.arms.dense = self.indexing.dense
        self.ground_truth.connect(embedder)
        self.ready = True

    def halt(self) -> None:
        """Let long work end at its next step; `close` follows."""
        for work in (self.intake, self.maintenance, self.indexing, self.documents):
            work.halted.set()

    def close(self) -> None:
        self._taking.shutdown(wait=True, cancel_futures=True)
        self.recaller.close()
        self.ground_truth.close()
        try:
            self.indexing.close()
        finally:
            self.store.close()

    # -- turns -----------------------------------------------------------------------------------------------------

    def recall(self, payload: Mapping[str, Any], gone: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """What the hook injects for one turn: `{"context", "outcome", "reason", "lines"}`. Raises BadRequest.

        `gone`: whether the caller has given up by now, so that the answer reaches nobody.
        """
        query = query_of(payload, self.settings.values.scopes.aliases)
        if payload.get("dry_run"):
            return self._explained(query)
        self._take_waiting()
        recalled = self.taking_back.told(query, plain_text(payload.get("before")))
        if recalled is None:
            recalled = self.recaller.for_turn(query)
            self.ground_truth.began(query, recalled)
        missed = self.recaller.ledger.missed(query) or (_hung_up(query) if query.turn_id and gone() else None)
        if missed is not None:
            self._came_late(missed)
        return {
            "mode": self.settings.values.ground_truth.mode,
            "context": recalled.context,
            "outcome": recalled.outcome,
            "reason": recalled.reason,
            "tokens": recalled.tokens,
            "milliseconds": round(recalled.milliseconds, 2),
            "lines": [{"handle": line.scored.passage.handle, "text": line.text} for line in recalled.lines],
        }

    def _came_late(self, missed: Missed) -> None:
        """A turn went on before its answer came; it or its connection told so."""
        self.recaller.ledger.too_late(missed)
        self.ground_truth.came_late(missed.turn_id)

    def drain_spool(self) -> int:
        """Take what hooks have written. Returns how many records."""
        taken = self.intake.drain()
        self.ground_truth.judge_answered()
        return taken

    def index_pending(self, limit: int, backlog: int = 0) -> int:
        """Embed and index one small batch; passages up to the pk `backlog` are embedded elsewhere. Returns how many."""
        return self.indexing.work(limit, backlog)

    def housekeeping(self, now: float) -> dict[str, Any]:
        """Everything that is due: history, fabric, trust, tiers, backups …"""
        return {name: outcome.as_dict() for name, outcome in self.maintenance.run_due(now).items()}

    def maintain(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What `memory-os maintain` and `memory-os backup` ask. Raises BadRequest, BackupError, StoreError."""
        scope = scope_of(payload, self.settings.values.scopes.aliases)
        return maintenance_answer(self.maintenance, payload, scope, time.time())

    def observe(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """An event that needs no answer: a finished tool call, a session's start or end."""
        scope = scope_of(payload, self.settings.values.scopes.aliases)
        if payload.get("event") == "plugin_faults":
            self._count_faults(payload.get("counts"))
        elif payload.get("event") == "session_over":
            at = payload.get("at")
            ended = float(at) if isinstance(at, (int, float)) else time.time()
            self.understanding.session_ended(plain_text(payload.get("session_id")), ended)
        elif payload.get("event") == "compaction":
            self._take_waiting()
            told = self.understanding.before_compaction(plain_text(payload.get("session_id")), scope, time.time())
            return {"ok": True, "verdict": "", "context": told}
        return {"ok": True, "verdict": self.ground_truth.watch.observe(payload, scope.key)}

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """A tool call that waits: whether it looks for what its turn was given, and what is done about it."""
        scope = scope_of(payload, self.settings.values.scopes.aliases)
        return self.ground_truth.watch.check(payload, scope.key)

    def report(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Whether memory helped; of one person unless `everyone` is asked for. `junk`: a sample of what was extracted."""
        scope = "" if payload.get("everyone") else scope_of(payload, self.settings.values.scopes.aliases).key
        if payload.get("junk"):
            return self.understanding.sample(min(int(payload["junk"]), 500), scope)
        return self.ground_truth.figures(payload, scope, time.time())

    # -- tools and commands ----------------------------------------------------------------------------------------

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Mapping[str, Any]) -> dict[str, Any]:
        """Run an agent-facing tool. Raises BadRequest for an unknown name or arguments that don't fit."""
        tool = self.tools.get(name)
        if tool is None:
            raise BadRequest(f"There is no tool {name!r}.", cure=f"Tools: {', '.join(sorted(self.tools))}.")
        self._take_waiting()
        return tool(Arguments(name, arguments), self._caller(caller))

    def explain(self, turn: str = "last") -> dict[str, Any]:
        """Why each line of a turn was there, or was dropped."""
        return self.recaller.ledger.explain(turn)

    def ingest(self, path: str | Path, progress: Progress | None = None) -> dict[str, Any]:
        """Ingest a file or folder. The result names every file with its outcome. Raises DocumentError."""
        return self.documents.ingest(Path(path), progress).as_dict()

    def reindex(self, progress: Progress | None = None) -> dict[str, Any]:
        """Cut documents of an older chunker again, then rebuild the collection from memory.db.

        `left_out`: the handles of memories that the model failed on, and why. Raises VectorsError, EmbeddingUnavailable.
        """
        self.documents.refresh(progress)
        return {"points": self.indexing.rebuild(progress), "left_out": self.indexing.left_out()}

    def import_holographic(self, path: str | Path, caller: Mapping[str, Any]) -> dict[str, Any]:
        """Take over the facts of the host's holographic provider."""
        imported = self.facts.import_holographic(Path(path), self._caller(caller).scope)
        return {name: getattr(imported, name) for name in imported.__slots__}

    def status(self) -> dict[str, Any]:
        """Every layer's health, all counters, and what waits. Where memory.db can't be read, that figure is missing."""
        return status_of(self)

    # -- wiring ----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """What the layers contribute to recall, and what search gives back to them."""
        self.recaller.in_window = lambda query: self.sessions.sources_of(sorted(query.visible.hashes), query.session_id)
        self.recaller.in_prompt = self.workspace.in_prompt
        self.recaller.session_off = self.sessions.is_off
        self.recaller.begins = self._begins
        self.recaller.first_turn_extras = self._first_turn
        self.recaller.notes = self.ground_truth.notes
        self.capture.came_late = self._came_late
        self.taking_back.forgotten = self.ground_truth.forgotten
        self.forgetting.drop_backups = self.maintenance.full.drop
        self.forgetting.resting_on = self.understanding.resting_on
        self.forgetting.derived_from = self.understanding.reflection.resting_on
        self.facts.searcher = self.searching.passages
        self.fabric.searcher = self.searching.passages

    def _tools(self) -> dict[str, Tool]:
        return {
            **self.facts.tools(),
            **self.fabric.tools(),
            "qdrant_search": self.searching.qdrant_search,
            "memory_forget": self._forget,
            **PersonTools(self.understanding.person, self.facts, self.searching.passages, self._forget).table(),
        }

    def _forget(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        try:
            return self.forgetting.tool(arguments, caller)
        finally:
            self.ground_truth.forgotten()

    def _take_waiting(self) -> None:
        """Take from the spool what can be taken quickly.

        A fault leaves the records there and says nothing of this turn: the background meets it next, and counts it.
        """
        try:
            if self.intake.waiting():
                self._taking.submit(self.intake.drain, _DRAIN_WAIT_S, _DRAIN_WITHIN_S).result(_DRAIN_WITHIN_S)
        except (TimeoutError, sqlite3.Error, OSError, StoreError):
            return

    def _begins(self, query: Query) -> bool:
        """Whether this is the session's first block: a greeting before it gets none, an answer that came too late gave none."""
        if query.first_turn or not query.session_id:
            return query.first_turn
        return not query.visible.handles and not self.recaller.ledger.gave_block(query.session_id, query.turn_id)

    def _first_turn(self, query: Query) -> Mapping[str, Sequence[str]]:
        """What a new session starts with: learnings and open questions, and work that waits for an answer."""
        caller = Caller(scope=query.scope, session_id=query.session_id, turn_id=query.turn_id, now=query.now)
        pending = [
            f"- ({self.fabric.handle(card)}) {one_line(card.summary)}"
            for card in self.fabric.pending(caller)
            if not instruction_like(card.summary)
        ]
        about = [*self.understanding.person.first_turn_lines(caller), *self.workspace.first_turn_lines(caller)]
        return {"workspace": about, "pending": pending[:_PENDING_LINES]}

    def _explained(self, query: Query) -> dict[str, Any]:
        """What would be injected, with every candidate's scores; nothing is recorded."""
        recalled = self.recaller.preview(query)
        return {
            "context": recalled.context,
            "outcome": recalled.outcome,
            "reason": recalled.reason,
            "milliseconds": round(recalled.milliseconds, 2),
            "tokens": recalled.tokens,
            "candidates": [_candidate(decision) for decision in best_first(recalled.selection.decisions)],
            "arms": {name: {"state": arm.state.value, "reason": arm.reason} for name, arm in recalled.arms.items()},
        }

    def _caller(self, given: Mapping[str, Any]) -> Caller:
        return Caller(
            scope=scope_of(given, self.settings.values.scopes.aliases),
            session_id=plain_text(given.get("session_id")),
            turn_id=plain_text(given.get("turn_id")),
            platform=plain_text(given.get("platform")),
            project=plain_text(given.get("project")),
            author=_author(given),
            now=time.time(),
        )

    def _count_faults(self, counts: object) -> None:
        """Faults inside Hermes's process that its hooks could not write to disk."""
        for name, count in counts.items() if isinstance(counts, Mapping) else ():
            if isinstance(count, int) and count > 0:
                self.store.count("plugin_faults", count, reason=plain_text(name))



def _hung_up(query: Query) -> Missed:
    """Of this very question: the turn may ask again."""
    return Missed(query.turn_id, query.session_id, query.scope.key, query.platform, put_at(query), "the turn had gone on")


def _author(given: Mapping[str, Any]) -> Author:
    """USER for what was typed on the command line, which belongs to no session or turn; a tool call is the agent's."""
    typed = given.get("author") == Author.USER.value and given.get("platform") == "cli"
    return Author.USER if typed and not (given.get("session_id") or given.get("turn_id")) else Author.AGENT


def _candidate(decision: Decision) -> dict[str, Any]:
    passage = decision.scored.passage
    return {
        "handle": passage.handle,
        "layer": passage.layer.value,
        "shown": decision.shown,
        "reason": decision.reason,
        "scores": scores_of(decision),
        "text": passage.text[:200],
    }
