"""Asks the questions of a learnt corpus, arm by arm, and puts the figures together."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from memory_os.config import Settings
from memory_os.embedding import fingerprint_of, load_embedder
from memory_os.memory import Passage, Scope
from memory_os.recall import Query

from memory_os_workers.eval.corpora import Corpus, Question
from memory_os_workers.eval.floor import PlainFts5
from memory_os_workers.eval.home import Learnt, Progress, copy_memory, learn, scratch
from memory_os_workers.eval.kept import KeptEncoder, kept_embedder
from memory_os_workers.eval.measures import (
    DEPTH,
    SESSIONS,
    Ranking,
    Scores,
    difference,
    mean_of,
    percentile,
    scores_of,
    session_found,
)  # fmt: skip

ARMS = ("hybrid", "dense", "lexical")
FLOOR = "plain FTS5"
# Nobody waits for an answer here; a slow machine must not turn a dense search into a lexical one.
_DEADLINE_S = 30.0
# Several passages may be of one document: so many of plain FTS5's rows are read to have ten.
_FLOOR_DEPTH = 4 * DEPTH

Holds = Callable[[Passage], Collection[str]]


@dataclass
class Injected:
    """Blocks as a turn would get them: how much of the evidence stood in each, its tokens, and blocks nobody wanted."""

    any: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    unrelated: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        given = [tokens for tokens in self.tokens if tokens]
        return {
            "evidence_any": _mean(self.any),
            "evidence_all": _mean(self.all),
            "turns_with_a_block": _mean([float(tokens > 0) for tokens in self.tokens]),
            "tokens_mean": _mean([float(tokens) for tokens in given]),
            "tokens_largest": max(given, default=0),
            "unrelated_questions": len(self.unrelated),
            "unrelated_injections": _mean(self.unrelated) if self.unrelated else None,
        }


@dataclass
class Evaluation:
    """Scores of every question by system, its category, the milliseconds of each arm, and what was injected.

    `sessions`: whether a session of the evidence was among the first five, of the questions where that says something.
    """

    scores: dict[str, list[Scores]] = field(default_factory=lambda: defaultdict(list))
    sessions: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    categories: list[str] = field(default_factory=list)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    injected: Injected | None = None
    documents: int = 0
    encoded: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Everything `memory-os eval --json` prints."""
        return {
            "questions": len(self.categories),
            "documents": self.documents,
            "systems": {name: asdict(mean_of(scores)) for name, scores in self.scores.items()},
            "session_any_5": {name: _mean(found) for name, found in self.sessions.items()} or None,
            "latency_ms": {
                name: {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}
                for name, times in self.milliseconds.items()
            },
            "categories": {name: self._category(name) for name in sorted(set(self.categories))},
            "hybrid_minus_plain_fts5": {
                name: asdict(gap) for name, gap in difference(self.scores["hybrid"], self.scores[FLOOR]).items()
            },
            "injected": None if self.injected is None else self.injected.as_dict(),
            "texts_encoded": self.encoded,
        }

    def _category(self, category: str) -> dict[str, Any]:
        chosen = [i for i, name in enumerate(self.categories) if name == category]
        return {
            "questions": len(chosen),
            "systems": {name: asdict(mean_of([scores[i] for i in chosen])) for name, scores in self.scores.items()},
        }


def evaluate(
    corpora: Sequence[Corpus], settings: Settings, cache: Path, progress: Progress, *, inject: bool = False
) -> Evaluation:
    """All figures of these corpora, each question asked of its own; with `inject` also the blocks."""
    found = Evaluation(injected=Injected() if inject else None)
    with closing(KeptEncoder(load_embedder(settings), cache, fingerprint_of(settings.values.embedding))) as encoder:
        for position, corpus in enumerate(corpora):
            with scratch(settings, kept_embedder(encoder)) as (engine, folder):
                learnt = learn(engine, folder, corpus, progress)
                found.documents += len(corpus.documents)
                texts = [document.text for document in corpus.documents]
                names = [frozenset([document.id]) for document in corpus.documents]
                by_source = {source: frozenset([name]) for source, name in learnt.sources.items()}
                asking = _Asking(
                    found, learnt, lambda passage: by_source.get(passage.source, frozenset()), _sessions_of(corpus)  # noqa: B023
                )
                with PlainFts5(texts) as floor:
                    asking.all(corpus, lambda text: [names[i] for i in floor.search(text, _FLOOR_DEPTH)], progress)  # noqa: B023
                if found.injected is not None and len(corpora) > 1:
                    asking.unrelated(corpora[(position + 1) % len(corpora)].questions)
        found.encoded = encoder.encoded
    return found


def evaluate_own(
    questions: Sequence[Question], settings: Settings, cache: Path, progress: Progress, *, inject: bool = False
) -> Evaluation:
    """The same over a copy of this home's memory. Evidence is every expected wording that stands in a passage."""
    found = Evaluation(injected=Injected() if inject else None)
    expected = sorted({word for question in questions for word in question.evidence})
    with (
        closing(KeptEncoder(load_embedder(settings), cache, fingerprint_of(settings.values.embedding))) as encoder,
        scratch(settings, kept_embedder(encoder)) as (engine, _),
    ):
        copy_memory(settings.database, engine, progress)
        texts = [str(row["text"]) for row in engine.store.rows("SELECT text FROM passages WHERE archived = 0")]
        found.documents = len(texts)

        def holds(text: str) -> frozenset[str]:
            folded = text.casefold()
            return frozenset(word for word in expected if word.casefold() in folded)

        asking = _Asking(found, Learnt(engine, {}, time.time()), lambda passage: holds(passage.text))
        with PlainFts5(texts) as floor:
            corpus = Corpus("your memory", (), tuple(questions))
            asking.all(corpus, lambda text: [holds(texts[i]) for i in floor.search(text, DEPTH)], progress)
        found.encoded = encoder.encoded
    return found


class _Asking:
    """One learnt corpus being asked. `holds`: the evidence items a passage holds; `sessions`: of which session each is."""

    def __init__(
        self, found: Evaluation, learnt: Learnt, holds: Holds, sessions: Mapping[str, str] | None = None
    ) -> None:
        self._found = found
        self._learnt = learnt
        self._holds = holds
        self._sessions = sessions or {}

    def all(self, corpus: Corpus, floor: Callable[[str], list[Collection[str]]], progress: Progress) -> None:
        embedder = self._learnt.engine.indexing.embedder
        if embedder is not None:
            # The first one pays for what is loaded on demand.
            embedder.embed_query("warm")
        for number, question in enumerate(corpus.questions, 1):
            self._ask(question, floor)
            progress(number, len(corpus.questions), f"asking {corpus.name}")

    def unrelated(self, questions: Sequence[Question]) -> None:
        """Another corpus's questions: whatever is injected is wrong."""
        for question in questions:
            block = self._learnt.engine.recaller.preview(self._query(question.text))
            if self._found.injected is not None:
                self._found.injected.unrelated.append(float(bool(block.lines)))

    def _ask(self, question: Question, floor: Callable[[str], list[Collection[str]]]) -> None:
        recaller, found = self._learnt.engine.recaller, self._found
        query = self._query(question.text)
        found.categories.append(question.category)
        asked = {"hybrid": query, "dense": replace(query, terms=(), names=()), "lexical": query}
        embed = recaller.arms.embed
        for arm in ARMS:
            recaller.arms.embed = None if arm == "lexical" else embed
            started = time.perf_counter()
            ranked, _ = recaller.ranked(asked[arm], _DEADLINE_S)
            found.milliseconds[arm].append((time.perf_counter() - started) * 1e3)
            self._score(arm, _by_source([one.passage for one in ranked], self._holds), question)
        recaller.arms.embed = embed
        started = time.perf_counter()
        plain = floor(question.text)
        found.milliseconds[FLOOR].append((time.perf_counter() - started) * 1e3)
        self._score(FLOOR, plain, question)
        if found.injected is not None:
            self._inject(query, question, found.injected)

    def _score(self, system: str, places: Ranking, question: Question) -> None:
        self._found.scores[system].append(scores_of(places, question.evidence))
        if not question.evidence.isdisjoint(self._sessions):
            self._found.sessions[system].append(session_found(places, question.evidence, self._sessions))

    def _inject(self, query: Query, question: Question, injected: Injected) -> None:
        block = self._learnt.engine.recaller.preview(query)
        stands = {item for line in block.lines for item in self._holds(line.scored.passage)} & question.evidence
        injected.any.append(float(bool(stands)))
        injected.all.append(float(stands == question.evidence))
        injected.tokens.append(block.tokens)

    def _query(self, text: str) -> Query:
        return Query.of(text, Scope(), now=self._learnt.now)


def _sessions_of(corpus: Corpus) -> dict[str, str]:
    """The session of each document that has one; empty where that tells nothing: five are all, or each text is one."""
    sessions = {document.id: document.session for document in corpus.documents if document.session}
    return sessions if SESSIONS < len(set(sessions.values())) < len(sessions) else {}


def _by_source(passages: Sequence[Passage], holds: Holds) -> list[Collection[str]]:
    """One place for each source, whatever number of its passages was found; it holds what all of them hold."""
    places: dict[str, set[str]] = {}
    for passage in passages:
        places.setdefault(passage.source, set()).update(holds(passage))
    return list(places.values())


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
