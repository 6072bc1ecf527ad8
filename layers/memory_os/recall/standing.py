"""Where candidates stand among one another: by both searches, and by what else speaks for a passage. Pure policy.

A rank is the cosine plus the share of the question's words, and then what was measured to say that a passage answers: the
rest of its talk is about the same thing, the person the question names says it, it answers a question and asks none, it
says more than a few words, the user said it, above all where they ask about themselves, it has a time where one is asked for, and
it answers a question that was much the same. The weights were fitted (softmax over a question's candidates) on three conversations
and five long chats with an assistant, and confirmed on others: docs/eval.md has the figures. None of it qualifies a passage: that is
`relevance.probability`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from memory_os.index import Whereabouts
from memory_os.memory import DOCUMENT_LAYERS, Author, Layer, Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.query import Query
from memory_os.text.asking import asks_of_oneself, asks_when, states_wish, tells_time
from memory_os.text.terms import index_terms

_WORDS = 0.65
# Of others in the talk meaning says more than words: those are about what stands beside them, not about the question's names.
_WORDS_OF_OTHERS = 0.42
# Where no passage has so large a share of what the question's words weigh, the best one's full weight is too much: a number that
# is the only thing a Chinese question and an English text have in common.
_WORDS_FULL_AT = 0.4
# What a passage that has all of the question's words has as cosine: stands in for one whose vector isn't there yet.
_EXPECTED_COSINE = 0.45

_COMPANY = 0.75
# Messages between which company counts for 1/e.
_COMPANY_REACH = 10.0
_A_PLACE_AWAY = math.exp(1 / _COMPANY_REACH)
# What is said next was embedded together with what it answers.
_NEXT = 0.2
# The mean of the best three others of the talk, wherever they stand in it.
_TALK = 0.45
_TALK_BEST = 3
# A note or a document stands alone; it counts as much as an ordinary turn of a talk about the same thing.
_ALONE = 0.6 * (_COMPANY + _TALK)
_SPEAKER = 0.17
_ASKS = -0.19
_ANSWERS = 0.11
_USER = 0.05
# "When is my flight?": what the user said of themselves. A document of theirs is neither their words nor an agent's: half.
_OWN = 0.3
_OWN_DOCUMENT = 0.5
# "Always show the units": of any question on its subject, whose words it need not have.
_WISH = 0.3
# Of what was said: every other page of a document has a year in it.
_TIME = 0.35
# "Where did Imke take the picture?", of what was said to "Where did you take this?": times the share of that one's words.
_ASKED_ALIKE = 1.5
# … of which so much counts beyond the best of the others: it shall stand before them, and not make them look far behind.
_AHEAD = 0.2
# A question of one word ("Imke?") is hardly the same for having it.
_WORDS_MORE = 2
# Of what both searches found so many are read and ordered, the best by what was weighed: docs/eval.md has what others gave.
CONSIDERED = 80
# What is looked up in the words of as many of the best brings nothing from farther behind to the front.
_LOOKED_INTO = 48
_BREVITY = 0.16
_LONG_ENOUGH = 200
# A question longer than this says something, too.
QUESTION_CHARS = 240

_QUESTION_ENDS = ("?", "？", "؟")
# "Imke: …" and "[Imke] …": in a room of several people a message begins with whose it is.
_SPOKEN_BY = re.compile(r"\[?([^\W\d_][\w'’-]*)(?: [^\W\d_][\w'’-]*)?(?:\]:?\s*|:\s+|：\s*)\S")
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_START = re.compile(r"(?<=[.!?…؟])\s+|(?<=[。！？])")
_BETWEEN_WORDS = re.compile(r"[\s!-/:-@\[-`{-~‘-‟…؟،؛«»。、！，：；？「」『』]+")
_ROLE = re.compile(r"(?:user|assistant): ")
_ROLE_CHARS = len("assistant: ")


def evidence(candidates: Sequence[Candidate], words: float = _WORDS) -> list[float]:
    """What the two searches say of each: the cosine, and `words` times the share of the best BM25."""
    best = max((one.bm25 for one in candidates), default=0.0)
    full = min(max((one.coverage for one in candidates), default=0.0) / _WORDS_FULL_AT, 1.0)
    share = words * full / best if best > 0 else 0.0
    return [
        (one.cosine if one.compared else _EXPECTED_COSINE * one.coverage) + share * one.bm25 for one in candidates
    ]


def weighed(candidates: Sequence[Candidate], whereabouts: Sequence[Whereabouts]) -> list[float]:
    """What the searches say of each candidate and, by what they say of the others, its talk; `whereabouts` are theirs, in order."""
    talk = _talk(whereabouts, [max(one, 0.0) for one in evidence(candidates, _WORDS_OF_OTHERS)])
    return [one + beside for one, beside in zip(evidence(candidates), talk, strict=True)]


def foremost(worth: Sequence[float], most: int) -> list[int]:
    """Which `most` of them are worth most, in the order they stand in. The rest isn't read: how it is said would hardly bring it
    to the front."""
    if len(worth) <= most:
        return list(range(len(worth)))
    return sorted(sorted(range(len(worth)), key=lambda i: -worth[i])[:most])


def ranks(query: Query, worth: Sequence[float], passages: Sequence[Passage]) -> list[float]:
    """A rank for each candidate, higher is better: `worth` is what was `weighed` of each, `passages` are theirs, in the same order."""
    asked = frozenset(_WORD.findall(query.text.casefold()))
    own = _OWN * asks_of_oneself(query.text)
    found = [one + _manner(passage, query.text, asked, own) for one, passage in zip(worth, passages, strict=True)]
    timed, terms = asks_when(query.text), frozenset(query.terms)
    leading = [
        i for i in sorted(range(len(found)), key=lambda i: -found[i])[:_LOOKED_INTO] if passages[i].layer not in DOCUMENT_LAYERS
    ]
    if timed:
        for i in leading:
            found[i] += _TIME * tells_time(passages[i].text)
    best = max(found, default=0.0)
    for i in leading:
        raised = found[i] + _ASKED_ALIKE * _asked_alike(passages[i], terms)
        found[i] = min(raised, best) + _AHEAD * max(raised - best, 0.0)
    return found


def _asked_alike(passage: Passage, terms: frozenset[str]) -> float:
    """Share of the words of the question that a message answers which are this question's, too. 0.0 where it answers none."""
    context = passage.context.rstrip()
    if passage.layer is not Layer.SESSIONS or passage.ordinal or not context.endswith(_QUESTION_ENDS):
        return 0.0
    asked = [sentence for sentence in _SENTENCE_START.split(_without_role(context)) if sentence][-1]
    words = frozenset(_BETWEEN_WORDS.split(index_terms(asked).casefold())) - {""}
    return len(words & terms) / (len(words) + _WORDS_MORE)


def _talk(whereabouts: Sequence[Whereabouts], found: Sequence[float]) -> list[float]:
    """What the rest of its talk says for each: what was said around a hit is about the same."""
    talks: dict[str, dict[int, float]] = defaultdict(dict)
    for (_, name, place), one in zip(whereabouts, found, strict=True):
        if name:
            talk = talks[name]
            talk[place] = max(talk.get(place, 0.0), one)
    # Of most talks nothing of the rest was found.
    worth = {name: _support(talk) for name, talk in talks.items() if len(talk) > 1}
    return [
        _ALONE * one if not name else worth[name][place] if name in worth else 0.0
        for (_, name, place), one in zip(whereabouts, found, strict=True)
    ]


def _support(talk: Mapping[int, float]) -> dict[int, float]:
    """For each place of a talk: the best evidence of the others by nearness, the next one's, and the mean of the best three."""
    beside = _beside(talk)
    best = sorted(talk.values(), reverse=True)[: _TALK_BEST + 1]
    total, last = sum(best[:_TALK_BEST]), best[_TALK_BEST] if len(best) > _TALK_BEST else 0.0
    lowest = best[:_TALK_BEST][-1]
    return {
        place: _COMPANY * beside[place] + _NEXT * talk.get(place + 1, 0.0)
        + _TALK * (total - one + last if one >= lowest else total) / _TALK_BEST
        for place, one in talk.items()
    }  # fmt: skip


def _beside(talk: Mapping[int, float]) -> dict[int, float]:
    """For each place the best of the others, a place away in full, each further one by exp(-1 / reach) less."""
    beside = dict.fromkeys(talk, 0.0)
    upwards = sorted(talk)
    for order in (upwards, upwards[::-1]):
        carried, before = 0.0, order[0]
        for place in order:
            carried *= _fading(abs(place - before))
            beside[place] = max(beside[place], carried * _A_PLACE_AWAY)
            carried, before = max(carried, talk[place]), place
    return beside


@lru_cache(4096)
def _fading(places: int) -> float:
    return math.exp(-places / _COMPANY_REACH)


def _manner(passage: Passage, asked_text: str, asked: frozenset[str], own: float) -> float:
    """What the way a passage is said is worth: a note is somebody's word, a document nobody's. `own`: of the user's words."""
    if passage.layer in DOCUMENT_LAYERS:
        return _OWN_DOCUMENT * own
    if passage.layer is not Layer.SESSIONS:
        return _USER + own
    worth, speaker = manner_of(passage)
    if speaker and (speaker in asked if speaker.isascii() else speaker in asked_text.casefold()):
        worth += _SPEAKER
    return worth + (_USER + own + _WISH * states_wish(passage.text) if passage.author is Author.USER else 0.0)


def manner_of(passage: Passage) -> tuple[float, str]:
    """What the words of a message are worth whatever is asked, and who speaks ("" for nobody)."""
    text = passage.text
    short = min(math.log((1 + len(text)) / (1 + _LONG_ENOUGH)), 0.0)
    answers = passage.ordinal == 0 and is_bare_question(_without_role(passage.context[: QUESTION_CHARS + _ROLE_CHARS + 1]))
    return _BREVITY * short + _ASKS * is_bare_question(text) + _ANSWERS * answers, speaker_of(text)


def _without_role(said: str) -> str:
    role = _ROLE.match(said)
    return said[role.end() :] if role else said


def is_bare_question(text: str) -> bool:
    """Short, and a question to its end."""
    return len(text) <= QUESTION_CHARS and text.rstrip().endswith(_QUESTION_ENDS)


def speaker_of(text: str) -> str:
    """The first name a message begins with, casefolded ("imke" of "Imke Berg: Tuesday."); "" for none."""
    match = _SPOKEN_BY.match(text)
    return match[1].casefold() if match else ""
