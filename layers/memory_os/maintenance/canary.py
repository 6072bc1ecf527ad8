"""The heartbeat: a real write, its embedding, a search, a recall with a known answer, and nothing left behind.

A canary that waits in line reports load as death. So this one has deadlines of its own, far above a turn's, and its
passage is embedded before whatever waits. What fails is told apart: `failed` means that a memory can't be written, found
or taken away; `degraded` that it is found by words alone, because meaning is not there.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from memory_os.errors import EmbeddingError, MemoryOSError, VectorsError
from memory_os.facts.fact import Fact, Statement
from memory_os.maintenance.duty import Report, Run
from memory_os.memory import Author, Scope, content_hash
from memory_os.recall.query import Query
from memory_os.store import tombstones

if TYPE_CHECKING:
    from memory_os.engine import Engine

# No Hermes home has a profile of this name, and no gateway such a sender.
PROFILE = "canary"
# A turn gives recall 0.3 s; what is slow is for `bench` to say, not for a heartbeat.
_DEADLINE_S = 15.0
# Newer passages may come between; each call embeds at least one.
_EMBED_TRIES = 8


class Canary:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def act(self, run: Run) -> Report:
        """One flight, kept in the history. Raises what the store raises when not even that can be written."""
        if run.dry_run:
            return Report("would write a made-up fact in a scratch scope, embed, search and recall it, and remove it")
        self._sweep(run.now)
        started = time.perf_counter()
        report = self._flight(run)
        milliseconds = (time.perf_counter() - started) * 1e3
        with self._engine.store.write() as db:
            db.execute(
                "INSERT INTO canary_runs(at, state, detail, milliseconds) VALUES(?, ?, ?, ?)",
                (run.now, report.state, report.line, milliseconds),
            )
        return report

    def history(self, limit: int = 20) -> list[dict[str, object]]:
        """The latest flights, newest first."""
        rows = self._engine.store.rows("SELECT * FROM canary_runs ORDER BY id DESC LIMIT ?", (limit,))
        return [{key: row[key] for key in ("at", "state", "detail", "milliseconds")} for row in rows]

    def _flight(self, run: Run) -> Report:
        scope = Scope(f"{PROFILE}:{secrets.token_hex(6)}", PROFILE)
        place, word = _made_up_word(), _made_up_word()
        text = f"The memory check keeps the word {word} in the drawer {place}."
        query = Query.of(f"Which word does the memory check keep in the drawer {place}?", scope, now=run.now)
        clock = _Clock()
        fact: Fact | None = None
        try:
            fact = self._engine.facts.state(Statement(text, scope, author=Author.AGENT, origin=PROFILE), run.now).fact
            clock.lap("written")
            missing = self._embedded(fact, query, clock)
            self._recalled(fact, query, word)
            clock.lap("recalled")
        except MemoryOSError as error:
            return Report(str(error), state="failed")
        finally:
            left = self._removed(fact, run.now) if fact is not None else ""
        if left:
            return Report(left, state="failed")
        clock.lap("removed")
        if missing:
            return Report(f"found by words, not by meaning: {missing}", state="degraded")
        return Report(f"{clock.line}, nothing left behind")

    def _embedded(self, fact: Fact, query: Query, clock: _Clock) -> str:
        """Embed the fact and find it by meaning. Returns why that can't be, or nothing."""
        indexing, index = self._engine.indexing, self._engine.index
        if indexing.embedder is None:
            return "the embedding model is not loaded"
        try:
            for _ in range(_EMBED_TRIES):
                if not self._engine.store.value("SELECT 1 FROM passages WHERE id = ? AND indexed = 0", (fact.passage_id,)):
                    break
                indexing.work(1)
            else:
                return str(indexing.fault or indexing.starved or "its vector was not made")
            if indexing.collection is None:
                return str(indexing.fault or indexing.starved or "the collection is not open")
            clock.lap("embedded")
            vector = indexing.embedder.embed_query(query.text)
            found = indexing.dense(vector, query, 5)
        except (EmbeddingError, VectorsError) as error:
            return str(error)
        seen = index.visible([point for point, _ in found], query.scope.readable, now=query.now)
        clock.lap("searched")
        return "" if fact.passage_id in seen else "a search by vector does not find it"

    def _recalled(self, fact: Fact, query: Query, word: str) -> None:
        """Raises MemoryOSError when words alone don't find it, or the flow a turn takes doesn't bring it."""
        hits = self._engine.index.lexical(list(query.terms), query.scope.readable, limit=5, now=query.now)
        if fact.passage_id not in [hit.id for hit in hits]:
            raise MemoryOSError("What was written is not found by its words.", cure="Run `memory-os doctor`.")
        ranked, found = self._engine.recaller.ranked(query, _DEADLINE_S)
        least = self._engine.settings.values.recall.min_probability
        best = next((one for one in ranked if one.passage.id == fact.passage_id), None)
        if best is None or word not in best.passage.text or best.probability < least:
            arms = ", ".join(f"{name} {arm.state.value}" for name, arm in found.outcomes.items())
            raise MemoryOSError(f"What was written is not recalled ({arms}).", cure="Run `memory-os doctor`.")

    def _removed(self, fact: Fact, now: float) -> str:
        """Take it out of every table and of the collection. Returns where it is left, or nothing."""
        engine = self._engine
        try:
            engine.facts.forget(fact.id, now)
            self._unbury(fact)
            if engine.store.value("SELECT 1 FROM passages WHERE scope = ?", (fact.scope,)):
                return "What was removed still stands in the index."
            return self._vector_left(fact)
        except MemoryOSError as error:
            return str(error)

    def _vector_left(self, fact: Fact) -> str:
        indexing = self._engine.indexing
        if indexing.collection is None:
            return ""
        for _ in range(_EMBED_TRIES):
            if not self._engine.store.value("SELECT 1 FROM deleted_points WHERE id = ?", (fact.passage_id,)):
                break
            indexing.work(1)
        left = indexing.collection.sparse(fact.text, [fact.scope], limit=1)
        return "What was removed still has its vector." if left else ""

    def _unbury(self, fact: Fact) -> None:
        """Nobody will say these words again: a tombstone for them is litter."""
        with self._engine.store.write() as db:
            db.execute("DELETE FROM tombstones WHERE hash = ?", (tombstones.key(fact.scope, content_hash(fact.text)),))

    def _sweep(self, now: float) -> None:
        """What a flight that was killed left behind."""
        rows = self._engine.store.rows("SELECT id, scope FROM facts WHERE scope LIKE ?", (f"{PROFILE}/{PROFILE}:%",))
        for row in rows:
            for fact in self._engine.facts.forget(row["id"], now):
                self._unbury(fact)


class _Clock:
    """Laps of a flight, for one line."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._laps: list[str] = []

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps.append(f"{name} in {(now - self._last) * 1e3:.0f} ms")
        self._last = now

    @property
    def line(self) -> str:
        return ", ".join(self._laps)


def _made_up_word() -> str:
    """Five syllables: no word of any language, and no string that looks like a secret."""
    return "".join(secrets.choice("bdfgklmnprstvz") + secrets.choice("aeiou") for _ in range(5))

