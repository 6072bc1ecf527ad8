"""The recall flow: gate, both arms, relevance, selection, block, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from memory_os.config import RecallSettings
from memory_os.index import Index
from memory_os.memory import DOCUMENT_LAYERS, Passage, State
from memory_os.recall.arms import Arms, ByMeaning, Candidate, Found, Outcome
from memory_os.recall.ledger import Ledger, Record
from memory_os.recall.query import Query
from memory_os.recall.relevance import Asked, Scored, prior, probability
from memory_os.recall.rendering import render_block, render_line
from memory_os.recall.selection import Limits, Line, Selection, budget_of, carries_fence, select, wording
from memory_os.recall.standing import CONSIDERED, foremost, ranks, weighed
from memory_os.sessions.cleaning import is_background
from memory_os.store import Store
from memory_os.text import token_estimate
from memory_os.text.dates import covers
from memory_os.text.language import differ, language_of
from memory_os.text.smalltalk import is_small_talk

# Inside the hook's 300 ms; what is not there by then is left out and the block goes with the other arm.
_ARMS_DEADLINE_S = 0.22
# Tokens of the fence, the preamble and the labels.
_FRAME_TOKENS = 50
# Of the line that explains the labels, on a first turn.
_LEGEND_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recall's answer. `outcome`: injected · nothing · skipped · off · degraded (an arm was missing).

    That it came too late is found out afterwards: `Ledger.too_late`.
    """

    context: str
    outcome: str
    reason: str = ""
    lines: list[Line] = field(default_factory=list)
    selection: Selection = field(default_factory=lambda: Selection([], []))
    arms: dict[str, Outcome] = field(default_factory=dict)
    milliseconds: float = 0.0
    tokens: int = 0


class Recall:
    """Recall over all layers. The callables are what the layers contribute; the engine sets them."""

    def __init__(self, store: Store, index: Index, settings: RecallSettings) -> None:
        self._pool = ThreadPoolExecutor(4, "recall-arm")
        self.arms = Arms(index, self._pool)
        self.arms.look_over = _look_over
        self.ledger = Ledger(store, index)
        self._index = index
        self._settings = settings
        self.in_window: Callable[[Query], Collection[str]] = lambda _: ()
        self.in_prompt: Callable[[str], bool] = lambda _: False
        self.session_off: Callable[[str], bool] = lambda _: False
        # Whether the turn is the first of its session that gets a block.
        self.begins: Callable[[Query], bool] = lambda query: query.first_turn
        self.notes: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {}
        self.first_turn_extras: Callable[[Query], Mapping[str, Sequence[str]]] = lambda _: {}

    def for_turn(self, query: Query) -> Recalled:
        """What a turn gets, recorded in the ledger."""
        recalled = self._recalled(query, self.begins)
        self.ledger.write(
            Record(
                query, recalled.outcome, recalled.reason, recalled.milliseconds, recalled.tokens, recalled.arms,
                recalled.selection.decisions,
            )
        )  # fmt: skip
        return recalled

    def preview(self, query: Query) -> Recalled:
        """The same, unrecorded; whether it is a session's first is the query's to say."""
        return self._recalled(query, lambda query: query.first_turn)

    def ranked(
        self, query: Query, deadline_s: float = _ARMS_DEADLINE_S, by_meaning: ByMeaning | None = None
    ) -> tuple[list[Scored], Found]:
        """The best `query.depth` candidates by rank, with their probabilities: what tools, `memory-os recall` and turns share.

        `by_meaning`: the search that `arms.begin` began, if it did.
        """
        found = self.arms.search(query, deadline_s, by_meaning)
        worth = weighed(found.candidates, found.whereabouts)
        read, kept = self._read(found, foremost(worth, max(CONSIDERED, query.depth)))
        candidates = [found.candidates[i] for i in kept]
        passages = [read[candidate.pk] for candidate in candidates]
        factors = [prior(passage, query.now) for passage in passages]
        standing = [rank * factor for rank, factor in zip(ranks(query, [worth[i] for i in kept], passages), factors, strict=True)]
        leading = sorted(range(len(candidates)), key=lambda i: (-standing[i], passages[i].id))[: query.depth]
        asked = _asked(query, found)
        return [self._score(candidates[i], passages[i], query, found, asked, standing[i], factors[i]) for i in leading], found

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self.ledger.close()

    def _read(self, found: Found, chosen: list[int]) -> tuple[dict[int, Passage], list[int]]:
        """The passages of the chosen candidates by pk, and which of the chosen are still there."""
        pks = [found.candidates[i].pk for i in chosen]
        unread = [pk for pk in pks if pk not in found.passages]
        read = found.passages | self._index.passages(unread) if unread else found.passages
        return read, [i for i, pk in zip(chosen, pks, strict=True) if pk in read]

    def _recalled(self, query: Query, begins: Callable[[Query], bool]) -> Recalled:
        started = time.perf_counter()
        outcome, reason = self._gate(query)
        recalled = Recalled("", outcome, reason) if outcome else self._run(query, begins)
        return replace(recalled, milliseconds=(time.perf_counter() - started) * 1e3)

    def _gate(self, query: Query) -> tuple[str, str]:
        """("", "") when recall should run, else the outcome and why."""
        if not self._settings.enabled:
            return "off", "recall.enabled is false"
        if self.session_off(query.session_id):
            return "off", "switched off for this session"
        if is_background(query.platform, query.session_id):
            return "skipped", "nobody's turn (cron, subagent, background)"
        if not query.text:
            return "skipped", "no text"
        if is_small_talk(query.text):
            return "skipped", "small talk"
        return "", ""

    def _run(self, query: Query, begins: Callable[[Query], bool]) -> Recalled:
        # The question is encoded from here on: what takes longest begins first.
        by_meaning = self.arms.begin(query)
        query = replace(query, first_turn=begins(query))
        in_window = self.in_window(query)
        ranked, found = self.ranked(query, by_meaning=by_meaning)
        budget = self._settings.max_tokens - _FRAME_TOKENS - _LEGEND_TOKENS * query.first_turn
        extras = _fitting(self.first_turn_extras(query), budget // 2) if query.first_turn else {}
        budget -= sum(budget_of(text) for texts in extras.values() for text in texts)
        given = "\n".join(text for texts in extras.values() for text in texts)
        ranked = [one for one in ranked if f"({one.passage.handle})" not in given] if given else ranked
        limits = Limits(self._settings.min_probability, self._settings.max_lines, budget)
        notes = self.notes([scored.passage.id for scored in ranked])
        selection = select(
            ranked,
            query,
            limits,
            in_window=in_window,
            in_prompt=self.in_prompt,
            cost=lambda line: budget_of(render_line(_noted(line, notes))),
        )
        selection = replace(selection, lines=[_noted(line, notes) for line in selection.lines])
        context = render_block(selection.lines, extras, first_turn=query.first_turn)
        faults = [
            f"{name}: {arm.reason}" for name, arm in found.outcomes.items() if arm.state in (State.DEGRADED, State.OFF)
        ]
        outcome = "degraded" if faults else "injected" if context else "nothing"
        return Recalled(
            context,
            outcome,
            "; ".join(faults),
            selection.lines,
            selection,
            found.outcomes,
            0.0,
            token_estimate(context),
        )

    def _score(
        self, candidate: Candidate, passage: Passage, query: Query, found: Found, asked: Asked, rank: float, factor: float
    ) -> Scored:
        document = passage.layer in DOCUMENT_LAYERS
        return Scored(
            candidate=candidate,
            passage=passage,
            probability=probability(
                candidate, found.searched[document], asked, document=document,
                cross_language=candidate.cosine > 0 and differ(query.language, language_of(passage.text)),
                on_the_day=not document and any(covers(date, passage.created_at) for date in query.dated.dates if date.month),
            ),
            rank=rank,
            prior=factor,
        )  # fmt: skip


def _asked(query: Query, found: Found) -> Asked:
    """What of the question's words is a date, and how many of its names nobody here ever mentioned."""
    dated = sum(map(query.dated.names, query.terms)) / max(len(query.terms), 1)
    return Asked(dated, found.unknown, strangers=found.unknown == 1.0)


def _noted(line: Line, notes: Mapping[str, str]) -> Line:
    note = notes.get(line.scored.passage.id, "")
    return replace(line, note=note) if note else line


def _look_over(passage: Passage) -> None:
    language_of(passage.text)
    wording(passage.text)


def _fitting(extras: Mapping[str, Sequence[str]], tokens: int) -> dict[str, list[str]]:
    """The lines of a first turn that fit, in their order; what memories need is not theirs to take."""
    fitting: dict[str, list[str]] = {}
    for label, texts in extras.items():
        for text in texts:
            tokens -= budget_of(text)
            if tokens >= 0 and not carries_fence(text):
                fitting.setdefault(label, []).append(text)
    return fitting
