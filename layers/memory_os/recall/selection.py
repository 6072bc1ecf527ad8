"""Which of the scored candidates become lines: not what stands in the window, nothing twice, within the budget. Pure policy."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_os.facts.likeness import in_order, may_conflict, near_equal, overlap, units
from memory_os.memory import DOCUMENT_LAYERS, Author, Layer, Passage
from memory_os.recall.excerpt import excerpt
from memory_os.recall.query import Query
from memory_os.recall.relevance import Scored
from memory_os.recall.standing import QUESTION_CHARS, is_bare_question
from memory_os.text import query_terms, token_estimate
from memory_os.text.remembered import remembered
from memory_os.text.unknowing import knows_nothing

# Behind the line that passes the gate, others follow that are at least this probable and this near in rank.
_FOLLOWER_PROBABILITY = 0.05
_FOLLOWER_RANK_SHARE = 0.6

# What passes the gate is shown if it isn't far behind the best line.
_GATE_RANK_SHARE = 0.5
# A manual has something to say to every question. What a person or an agent said is shown beside a better line; of
# documents only what passes the gate itself, and not much of it.
_DOCUMENT_RANK_SHARE = 0.7
_OF_ONE_DOCUMENT = 2
_OF_DOCUMENTS = 4

# The first lines carry a whole passage, later ones the part around the question's words.
_FULL_LINES = 4
_FULL_CHARS = 1000
_SHORT_CHARS = 320

# A layer that says the same thing better comes first: a fact before the turn it came from, a turn before a document.
_PRECEDENCE = {Layer.FACTS: 0, Layer.FABRIC: 1, Layer.WORKSPACE: 2, Layer.SESSIONS: 3, Layer.WIKI: 4, Layer.VECTORS: 5}

# A fact and the turn it came from: the shorter stands in the longer word by word, and not much more.
_RETOLD_LENGTH = 1.8
_NUMBER = re.compile(r"\d+")
# … and both or neither deny something: a denial may stand before all of what is denied ("Keine Deploys am Freitag").
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|\w+n['’]t|nicht|kein\w*|nie|niemals|não|nao|nunca|jamais|не|нет|никогда|нельзя|لا|ليس|ليست|لم|لن"
    r"|pas|aucun\w*|non|nessun\w*|mai|geen|niet|nooit|inte|ikke|ingen\w*|aldrig|değil)\b"
    "|[不没沒無无非]|ない|ません|なかった"
)
# Naming another line (`, differs from f:abcdefgh`) costs about this, in each of the two.
_CONFLICT_TOKENS = 12
# Of a line's contradictions this many are named: more than that is a subject, not a contradiction.
_CONFLICTS_NAMED = 4

# An answer shorter than this, without a number, to a statement.
_NOD_CHARS = 60

_SAME_QUESTION = 0.6
# Candidates compared with one another for each line there is room for.
_TWINS_PER_LINE = 2
_OVER_BUDGET = "over the budget"
_BELOW = "below the gate"
# The host scrubs exact tags; a model may take a near one for a tag as well.
_FENCE_TAG = re.compile(r"(?:<|&lt;)\s*/?\s*memory[\W_]{0,2}context")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the block. `conflicts` are handles of other lines that say otherwise, `older` that one of them is newer;
    `note` is what else is known against it."""

    scored: Scored
    text: str
    conflicts: tuple[str, ...] = ()
    older: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a candidate, for `explain`: shown, or dropped with the reason."""

    scored: Scored
    shown: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    lines: list[Line]
    decisions: list[Decision]


@dataclass(frozen=True, slots=True)
class Limits:
    probability: float
    lines: int
    tokens: int


def select(
    ranked: Sequence[Scored],
    query: Query,
    limits: Limits,
    *,
    in_window: Collection[str],
    in_prompt: Callable[[str], bool],
    cost: Callable[[Line], int],
) -> Selection:
    """Lines in rank order. No candidate reaches the probability: no lines at all.

    `in_window` are sources (messages) the model can still see; `in_prompt` says whether a text stands in the frozen
    system prompt; `cost` gives the tokens of a rendered line.
    """
    decisions: list[Decision] = []
    open_candidates: list[Scored] = []
    for scored in ranked:
        if scored.probability < min(_FOLLOWER_PROBABILITY, limits.probability):
            decisions.append(Decision(scored, False, _BELOW))
            continue
        reason = _unwanted(scored, query, in_window, in_prompt)
        if reason:
            decisions.append(Decision(scored, False, reason))
        else:
            open_candidates.append(scored)
    best = max((scored.probability for scored in open_candidates), default=0.0)
    if not open_candidates or best < limits.probability:
        decisions += [Decision(scored, False, _BELOW) for scored in open_candidates]
        return Selection([], decisions)
    gated = _telling(_gated(open_candidates, limits, decisions), decisions)
    lines = _fill(gated, query, limits, cost, decisions)
    return Selection(_with_conflicts(lines), decisions)


def carries_fence(*texts: str) -> bool:
    """Whether one of these would open or close our block, in any width or case of writing."""
    return any(map(_holds_tag, texts))


def _holds_tag(text: str) -> bool:
    if text.isascii():  # most are, and have no bracket: the pattern would look at each of its characters
        return ("<" in text or "&" in text) and bool(_FENCE_TAG.search(text.lower()))
    return bool(_FENCE_TAG.search(unicodedata.normalize("NFKC", text).casefold()))


def _unwanted(scored: Scored, query: Query, in_window: Collection[str], in_prompt: Callable[[str], bool]) -> str:
    passage = scored.passage
    if query.visible.handles and passage.handle in query.visible.handles:
        return "still in the window from an earlier turn"
    if passage.source in in_window:
        return "its message is in the window"
    if passage.layer in (Layer.FACTS, Layer.WORKSPACE) and in_prompt(passage.text):
        return "stands in the system prompt"
    if passage.flagged:
        return f"flagged: {passage.flagged}"
    if carries_fence(passage.text, passage.title, passage.kind, passage.source):
        return "carries a fence of ours"
    if passage.layer is Layer.SESSIONS and passage.author is Author.USER and _asks_the_same(passage.text, query):
        return "asks the same question"
    if _is_answer(passage) and knows_nothing(passage.text):
        return "only says that it is not known"
    return ""


def _asks_the_same(text: str, query: Query) -> bool:
    """An earlier question is no answer to itself."""
    if len(text) > QUESTION_CHARS:
        return False
    if _may_be_the_same(text, query.text) and overlap(text, query.text) >= 0.95:
        return True
    if not is_bare_question(text):
        return False
    asked, now = wording(text).terms, set(query.terms)
    return bool(asked) and len(asked & now) >= _SAME_QUESTION * len(asked)


def _may_be_the_same(text: str, asked: str) -> bool:
    """Whether a text has all of a short question, without which their overlap is less than 19 of 20."""
    wanted = units(asked)
    if len(wanted) >= 20:
        return True
    folded = unicodedata.normalize("NFKC", text).casefold()
    return all(map(folded.__contains__, wanted))


def _gated(candidates: list[Scored], limits: Limits, decisions: list[Decision]) -> list[Scored]:
    """Those at the gate, and behind them those near enough in rank and probability."""
    at_gate = [scored for scored in candidates if scored.probability >= limits.probability]
    top = max(scored.rank for scored in at_gate)
    kept = []
    documents: Counter[str] = Counter()
    for scored in candidates:
        passes = scored.probability >= limits.probability
        document = scored.passage.layer in DOCUMENT_LAYERS
        share = _DOCUMENT_RANK_SHARE if document else _GATE_RANK_SHARE if passes else _FOLLOWER_RANK_SHARE
        if not passes and (document or scored.probability < _FOLLOWER_PROBABILITY):
            decisions.append(Decision(scored, False, _BELOW))
        elif scored.rank < top * share:
            decisions.append(Decision(scored, False, "far behind the best line"))
        elif document and (documents[scored.passage.source] >= _OF_ONE_DOCUMENT or documents.total() >= _OF_DOCUMENTS):
            decisions.append(Decision(scored, False, "enough of documents"))
        else:
            documents[scored.passage.source] += document
            kept.append(scored)
    return kept


def _telling(candidates: list[Scored], decisions: list[Decision]) -> list[Scored]:
    """Of one exchange, drop what says nothing beside the other half: a bare question beside its answer, and an agent's
    few words ("Good choice.") to a statement."""
    asked = {_exchange(one.passage) for one in candidates if _is_bare_question(one.passage)}
    stated = {
        _exchange(one.passage)
        for one in candidates
        if one.passage.author is Author.USER and not _is_bare_question(one.passage)
    }
    answered = {_exchange(one.passage) for one in candidates if _is_answer(one.passage) and not _is_nod(one.passage)}
    kept = []
    for scored in candidates:
        exchange = _exchange(scored.passage)
        if exchange in asked & answered and _is_bare_question(scored.passage):
            decisions.append(Decision(scored, False, "its answer is there"))
        elif exchange in stated and _is_nod(scored.passage):
            decisions.append(Decision(scored, False, "adds nothing to what it answers"))
        else:
            kept.append(scored)
    return kept


def _exchange(passage: Passage) -> tuple[str, int]:
    return passage.session_id, round(passage.created_at)


def _is_answer(passage: Passage) -> bool:
    return passage.layer is Layer.SESSIONS and passage.author is Author.AGENT


def _is_nod(passage: Passage) -> bool:
    return _is_answer(passage) and len(passage.text) < _NOD_CHARS and not _NUMBER.search(passage.text)


def _is_bare_question(passage: Passage) -> bool:
    said = passage.layer is Layer.SESSIONS and passage.author is Author.USER
    return said and is_bare_question(passage.text)


def _fill(
    candidates: list[Scored], query: Query, limits: Limits, cost: Callable[[Line], int], decisions: list[Decision]
) -> list[Line]:
    lines: list[Line] = []
    spent = 0
    reached = candidates[: _TWINS_PER_LINE * limits.lines]
    decisions += [Decision(scored, False, _OVER_BUDGET) for scored in candidates[len(reached) :]]
    for scored in _without_twins(reached, decisions):
        if len(lines) >= limits.lines:
            decisions.append(Decision(scored, False, _OVER_BUDGET))
            continue
        line = _line(scored, query, len(lines))
        others = len(_conflicting(line, lines))
        price = cost(line) + _CONFLICT_TOKENS * (min(others, _CONFLICTS_NAMED) + others)
        if spent + price > limits.tokens:
            decisions.append(Decision(scored, False, _OVER_BUDGET))
            continue
        spent += price
        lines.append(line)
        decisions.append(Decision(scored, True, "shown"))
    return lines


def _without_twins(candidates: list[Scored], decisions: list[Decision]) -> list[Scored]:
    """One of those that say the same, from the layer that says it best, at the place of the first."""
    kept: list[Scored] = []
    wordings: list[_Wording] = []
    for scored in candidates:
        said = wording(scored.passage.text)
        at = next(
            (
                i
                for i, other in enumerate(wordings)
                # First what costs least: most pairs differ in a number.
                if other.numbers == said.numbers
                and other.denies == said.denies
                and _same_thing(kept[i].passage, scored.passage)
            ),
            None,
        )
        if at is None:
            kept.append(scored)
            wordings.append(said)
            continue
        better, worse = sorted((kept[at], scored), key=_precedence)
        kept[at], wordings[at] = better, wording(better.passage.text)
        decisions.append(Decision(worse, False, f"says the same as {better.passage.handle}"))
    return kept


def _line(scored: Scored, query: Query, position: int) -> Line:
    longest = _FULL_CHARS if position < _FULL_LINES else _SHORT_CHARS
    return Line(scored, excerpt(scored.passage.text, query.terms, longest))


def _precedence(scored: Scored) -> tuple[int, bool]:
    """The layer first; in one conversation the person's own words before the answer that repeats them."""
    return _PRECEDENCE[scored.passage.layer], scored.passage.author is not Author.USER


def _same_thing(first: Passage, second: Passage) -> bool:
    """The same words, a restatement, or one layer's (or the same talk's) short record of what the other says.

    Where both have a word of their own they are two: it may be the name, the day or the denial that was changed.
    """
    shorter, longer = sorted((first.text, second.text), key=len)
    if shorter == longer:
        return True
    if len(longer) > _RETOLD_LENGTH * len(shorter):
        return False
    words, other_words = wording(shorter), wording(longer)
    if (words.numbers, words.denies) != (other_words.numbers, other_words.denies):
        return False
    retold = first.layer is not second.layer or (first.session_id and first.session_id == second.session_id)
    if retold and words.terms and f" {in_order(shorter)} " in f" {in_order(longer)} ":
        return True
    return near_equal(first.text, second.text)


class _Wording(NamedTuple):
    terms: frozenset[str]
    numbers: tuple[str, ...]
    denies: bool


# 10 MB, whatever the passages' length: of long ones each takes 30 kB.
@remembered(most=3072, characters=750_000)
def wording(text: str) -> _Wording:
    """What makes two texts the same or not; the last few thousand are remembered."""
    denies = bool(_NEGATION.search(text.casefold()))
    return _Wording(frozenset(query_terms(text)), tuple(_NUMBER.findall(text)), denies)


def _with_conflicts(lines: list[Line]) -> list[Line]:
    """Facts that may contradict one another are both shown, each naming the other; the older one says that it is."""
    marked = []
    for line in lines:
        others = _conflicting(line, lines)
        born = line.scored.passage.created_at
        marked.append(
            Line(
                line.scored,
                line.text,
                tuple(other.scored.passage.handle for other in others[:_CONFLICTS_NAMED]),
                any(other.scored.passage.created_at > born for other in others),
            )
        )
    return marked


def _conflicting(line: Line, lines: Sequence[Line]) -> list[Line]:
    passage = line.scored.passage
    if passage.layer is not Layer.FACTS:
        return []
    return [
        other
        for other in lines
        if other.scored.passage.layer is Layer.FACTS
        and other.scored.passage.id != passage.id
        and may_conflict(passage.text, other.scored.passage.text)
    ]


def budget_of(text: str) -> int:
    """Tokens of a rendered line with its newline."""
    return token_estimate(text) + 1
