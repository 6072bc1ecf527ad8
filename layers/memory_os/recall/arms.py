"""The two searches behind a recall, run side by side: full text, and meaning. Each says how it went."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import MemoryOSError
from memory_os.index import Hit, Index, Read, Whereabouts, whereabouts_of
from memory_os.memory import Passage, State
from memory_os.recall.frequencies import SMALLEST_CORPUS, Frequencies, Sizes
from memory_os.recall.query import Query
from memory_os.text.language import language_of
from memory_os.text.names import NOUNS_LOOK_LIKE_NAMES


class Depth(NamedTuple):
    """How many candidates: of each arm, and of those that only the dense one found."""

    lexical: int
    dense: int
    dense_alone: int


# Deep enough that what both arms agree on is in both lists, and that what its talk speaks for is in one: a turn that hardly has
# a word of the question is farther behind by meaning than by words.
SMALL, LARGE = Depth(200, 256, 256), Depth(144, 144, 40)
# Passages from which on a memory is large: whatever is found costs more to look up there, 8 ms of 42 at 10,000.
LARGE_FROM = 5000
# Of the passages found by words so many are looked over ahead: few of the rest will be asked, and the encoder wants the core.
_LOOKED_OVER = 48
# Where the terms are in more passages than so many, all added up, the leading ones are scored, not all.
_SCORED_ALL = 3000
# A name in no more passages than this share (or than so many) says what a question is about.
_NAMED_SHARE = 0.01
_NAMED_LEAST = 4
# All the question's words, and rare ones ("kafka"): the share of all they could weigh, and what each weighs at least as a
# share of what a word found once would.
_SPOKEN_COVERAGE = 0.9
_SPOKEN_INFORMATION = 0.8

F32 = NDArray[np.float32]
DenseSearch = Callable[[F32, Query, int], list[tuple[str, float]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an arm went: ok, empty, off (not there yet), degraded(reason)."""

    state: State
    reason: str = ""
    milliseconds: float = 0.0


class Candidate(NamedTuple):
    """A passage some arm found. `cosine` is calibrated (unrelated is near 0); `coverage` is 0..1.

    `coverage` is BM25 over the most it could be: the share of the question's rare words that the passage has. `compared`
    is False when there is no cosine to judge by: no vector of the question, or none of the passage yet. `named`: it has
    a name of the question that few passages have. `spoken`: it has all its words, and rare ones.
    """

    pk: int
    cosine: float
    bm25: float
    coverage: float
    compared: bool = True
    named: bool = False
    spoken: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What the arms found, how each went, and how many memories and documents they searched."""

    candidates: list[Candidate]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    searched: tuple[int, int] = (0, 0)
    # Share of the question's names that nothing in this memory has.
    unknown: float = 0.0
    # Where each candidate stands, in their order, and what was read of them while the question was being encoded.
    whereabouts: list[Whereabouts] = field(default_factory=list)
    passages: dict[int, Passage] = field(default_factory=dict)


# The question's vector, ids with their cosines, and how it went.
ByMeaning = Future[tuple[F32 | None, list[tuple[str, float]], Outcome]]


class Arms:
    """Runs both arms under one deadline. `dense` is None until models and collection are open."""

    def __init__(self, index: Index, pool: ThreadPoolExecutor) -> None:
        self._index = index
        self._pool = pool
        self._sizes = Sizes(index)
        self._frequencies = Frequencies(index, self._sizes)
        self.embed: Callable[[str], F32] | None = None
        self.dense: DenseSearch | None = None
        # A cosine of this model as the one has it that the thresholds were set on.
        self.comparable: Callable[[float], float] = float
        # Works out, and remembers, what is asked of a passage later.
        self.look_over: Callable[[Passage], object] = lambda passage: language_of(passage.text)
        self.dense_off_reason = "the embedding model is still loading"

    @property
    def depth(self) -> Depth:
        return SMALL if self._sizes.total() < LARGE_FROM else LARGE

    def begin(self, query: Query) -> ByMeaning:
        """Begin to search by meaning, for `search`, which else does."""
        return self._pool.submit(self._dense_arm, query)

    def search(self, query: Query, deadline_s: float, by_meaning: ByMeaning | None = None) -> Found:
        """Candidates of both arms, joined by passage; each with both scores, whichever arm found it."""
        started = time.perf_counter()
        dense_future = by_meaning or self.begin(query)
        words = self._frequencies.of_one_question()
        read, lexical = _timed(lambda: self._lexical_arm(query, words))
        where = {
            pk: whereabouts_of(one.id, one.layer.value, one.source, one.session_id) for pk, one in read.passages.items()
        }
        self._look_over(read, dense_future.done)
        remaining = max(deadline_s - (time.perf_counter() - started), 0.0)
        vector, scored, dense = _result(dense_future, remaining)
        searched = self._sizes.searchable(query.scope.readable)
        cosines: dict[int, float] = {}
        if vector is not None:
            others = self._found_by_meaning(query, read.hits, scored)
            cosines = self._cosines(vector, read, scored, others)
            where.update(others)
        # One may have been deleted since its words were found.
        candidates = [one for one in self._candidates(query, words, read.hits, cosines) if one.pk in where]
        return Found(
            candidates, {"lexical": lexical, "dense": dense}, searched, _unknown(query, words),
            [where[one.pk] for one in candidates], read.passages,
        )  # fmt: skip

    def _look_over(self, read: Read, answered: Callable[[], bool]) -> None:
        """What will be asked of these hits, while the question is being encoded: this thread has nothing else to do."""
        for hit in read.hits[:_LOOKED_OVER]:
            if answered():
                break
            if hit.pk in read.passages:
                self.look_over(read.passages[hit.pk])

    def _lexical_arm(self, query: Query, words: Frequencies) -> Read:
        if self._sizes.total() < SMALLEST_CORPUS:
            return self._index.read(self._few(query, words))
        terms = words.telling(query.terms)
        many = sum(map(words.count, terms)) > _SCORED_ALL
        return self._index.lexical_read(
            terms, query.scope.readable, layers=query.layers, sources=query.sources, limit=max(self.depth.lexical, query.depth),
            now=query.now, weights=[words.weight(term) for term in terms] if many else (),
        )  # fmt: skip

    def _few(self, query: Query, words: Frequencies) -> list[Hit]:
        """Full text over a few passages: by the weight of the words they have.

        BM25 weighs a word by how few passages have it; of three passages every word is in a third, and weighs nothing.
        """
        weights: dict[tuple[int, str], float] = {}
        for term in query.terms:
            weight = words.weight(term)
            for found in self._index.matching(
                term, query.scope.readable, layers=query.layers, sources=query.sources, now=query.now
            ):
                weights[found] = weights.get(found, 0.0) + weight
        ordered = sorted(weights.items(), key=lambda item: (-item[1], -item[0][0]))
        return [Hit(pk, passage_id, score) for (pk, passage_id), score in ordered[: max(self.depth.lexical, query.depth)]]

    def _dense_arm(self, query: Query) -> tuple[F32 | None, list[tuple[str, float]], Outcome]:
        started = time.perf_counter()
        if self.embed is None or self.dense is None:
            return None, [], Outcome(State.OFF, self.dense_off_reason)
        # Where the collection fails and the question is encoded, what words found is still judged by its meaning.
        vector: F32 | None = None
        try:
            vector = self.embed(query.text)
            scored = self.dense(vector, query, max(self.depth.dense, query.depth))
        except MemoryOSError as error:
            return vector, [], Outcome(State.DEGRADED, str(error), _since(started))
        except Exception as error:  # noqa: BLE001 - full text has its hits; the fault is named in status and explain
            return vector, [], Outcome(State.DEGRADED, f"{type(error).__name__}: {error}", _since(started))
        return vector, scored, Outcome(State.OK if scored else State.EMPTY, milliseconds=_since(started))

    def _found_by_meaning(self, query: Query, hits: list[Hit], scored: list[tuple[str, float]]) -> dict[int, Whereabouts]:
        """What the collection found beside the full-text hits, as far as this reader may see it now: those have been looked up."""
        known = {hit.id for hit in hits}
        others = [point for point, _ in scored if point not in known][: max(self.depth.dense_alone, query.depth)]
        if not others:
            return {}
        return self._index.whereabouts(
            others, query.scope.readable, layers=query.layers, sources=query.sources, now=query.now
        )

    def _cosines(
        self, vector: F32, read: Read, scored: list[tuple[str, float]], others: Mapping[int, Whereabouts]
    ) -> dict[int, float]:
        """Calibrated cosine by pk: as the collection has it, and of what only words found from the stored embeddings."""
        near = dict(scored)
        cosines = dict(zip(read.embedded, (read.vectors @ vector).tolist(), strict=True)) if read.embedded else {}
        cosines.update((hit.pk, near[hit.id]) for hit in read.hits if hit.id in near)
        cosines.update((pk, near[one.id]) for pk, one in others.items())
        return {pk: self.comparable(cosine) for pk, cosine in cosines.items()}

    def _candidates(self, query: Query, words: Frequencies, hits: list[Hit], cosines: dict[int, float]) -> list[Candidate]:
        bm25 = {hit.pk: hit.score for hit in hits}
        named = self._named(query, words)
        rare = _SPOKEN_INFORMATION * math.log(max(self._sizes.total(), SMALLEST_CORPUS)) * len(query.terms)
        most = words.information(tuple(words.telling(query.terms))) if bm25 else 1.0
        spoken = max(rare, _SPOKEN_COVERAGE * most)
        candidates = []
        for pk in sorted(bm25.keys() | cosines.keys()):
            score = bm25.get(pk, 0.0)
            candidates.append(
                Candidate(pk, cosines.get(pk, 0.0), score, min(score / most, 1.0), pk in cosines, pk in named, score >= spoken)
            )
        return candidates

    def _named(self, query: Query, words: Frequencies) -> set[int]:
        """Passages with a name of the question, where so few have it that it says what is meant."""
        few = max(_NAMED_LEAST, int(self._sizes.total() * _NAMED_SHARE))
        rare = [name for name in query.names if words.count(name) <= few]
        return {
            pk
            for name in rare
            for pk, _ in self._index.matching(name, query.scope.readable, layers=query.layers, now=query.now)
        }


def _unknown(query: Query, words: Frequencies) -> float:
    """Share of the question's names that nobody here ever mentioned. German writes all nouns like names: not there."""
    names = () if query.language in NOUNS_LOOK_LIKE_NAMES else query.names
    return sum(not words.count(name) for name in names) / len(names) if names else 0.0


def _timed(search: Callable[[], Read]) -> tuple[Read, Outcome]:
    started = time.perf_counter()
    try:
        read = search()
    except sqlite3.Error as error:
        return Read(), Outcome(State.DEGRADED, f"full text failed: {error}", _since(started))
    return read, Outcome(State.OK if read.hits else State.EMPTY, milliseconds=_since(started))


def _result(future: ByMeaning, timeout_s: float) -> tuple[F32 | None, list[tuple[str, float]], Outcome]:
    try:
        return future.result(timeout=timeout_s)
    except FutureTimeout:
        future.cancel()
        return None, [], Outcome(State.DEGRADED, "search by meaning passed the deadline", timeout_s * 1e3)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
