"""Where candidates stand among one another: by both searches, and by what else speaks for a passage. Pure policy.

A rank is the cosine plus the share of the question's words, and then what was measured to say that a passage answers: the
rest of its talk is about the same thing, the person the question names says it, it answers a question and asks none, it
says more than a few words, and the user said it. The weights were fitted (softmax over a question's candidates) on three
conversations, five long chats with an assistant and paragraphs in two languages, and confirmed on others that had not been
looked at: docs/eval.md has the figures. None of it qualifies a passage: that is `relevance.probability`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from memory_os.memory import Author, Layer, Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.query import Query

_WORDS = 0.42
# Where no passage has so large a share of what the question's words weigh, the best one's full weight is too much: a number that
# is the only thing a Chinese question and an English text have in common.
_WORDS_FULL_AT = 0.4
# What a passage that has all of the question's words has as cosine: stands in for one whose vector isn't there yet.
_EXPECTED_COSINE = 0.45

_COMPANY = 0.55
# Messages between which company counts for 1/e.
_COMPANY_REACH = 10.0
# A note or a document stands alone; it counts as much as an ordinary turn of a talk about the same thing.
_ALONE = 0.6
_SPEAKER = 0.11
_ASKS = -0.13
_ANSWERS = 0.08
_USER = 0.085
_BREVITY = 0.12
_LONG_ENOUGH = 200
# A question longer than this says something, too.
QUESTION_CHARS = 240

_QUESTION_END = re.compile(r"[?？؟]\s*$")
# "Imke: …" and "[Imke] …": in a room of several people a message begins with whose it is.
_SPOKEN_BY = re.compile(r"\[?([^\W\d_][\w'’-]*)(?: [^\W\d_][\w'’-]*)?(?:\]:?\s*|:\s+|：\s*)\S")
_WORD = re.compile(r"[^\W_]+")
_ROLE = re.compile(r"^(?:user|assistant): ")


def evidence(candidates: Sequence[Candidate]) -> list[float]:
    """What the two searches say of each: the cosine, and the share of the best BM25."""
    best = max((one.bm25 for one in candidates), default=0.0)
    full = min(max((one.coverage for one in candidates), default=0.0) / _WORDS_FULL_AT, 1.0)
    share = _WORDS * full / best if best > 0 else 0.0
    return [
        (one.cosine if one.compared else _EXPECTED_COSINE * one.coverage) + share * one.bm25 for one in candidates
    ]


def ranks(query: Query, candidates: Sequence[Candidate], passages: Sequence[Passage]) -> list[float]:
    """A rank for each candidate, higher is better; `passages` are theirs, in the same order."""
    found = evidence(candidates)
    company = _company(passages, [max(one, 0.0) for one in found])
    asked = frozenset(_WORD.findall(query.text.casefold()))
    return [
        one + _COMPANY * beside + _manner(passage, query.text, asked)
        for one, beside, passage in zip(found, company, passages, strict=True)
    ]


def _company(passages: Sequence[Passage], found: Sequence[float]) -> list[float]:
    """The best evidence elsewhere in the same talk, the nearer the better: what was said around a hit is about the same."""
    talks: dict[str, dict[int, float]] = defaultdict(dict)
    places = [_place(passage) for passage in passages]
    for passage, place, one in zip(passages, places, found, strict=True):
        if place is not None:
            talk = talks[passage.session_id]
            talk[place] = max(talk.get(place, 0.0), one)
    beside = {session: _beside(talk) for session, talk in talks.items()}
    return [
        _ALONE * one if place is None else beside[passage.session_id][place]
        for passage, place, one in zip(passages, places, found, strict=True)
    ]


def _beside(talk: Mapping[int, float]) -> dict[int, float]:
    """For each place the best of the others, a place away in full, each further one by exp(-1 / reach) less."""
    beside = dict.fromkeys(talk, 0.0)
    for order in (sorted(talk), sorted(talk, reverse=True)):
        carried, before = 0.0, order[0]
        for place in order:
            carried *= math.exp(-abs(place - before) / _COMPANY_REACH)
            beside[place] = max(beside[place], carried * math.exp(1 / _COMPANY_REACH))
            carried, before = max(carried, talk[place]), place
    return beside


def _place(passage: Passage) -> int | None:
    """The number of a message in the archive; None for what stands in no talk."""
    number = passage.source.rpartition(":")[2]
    return int(number) if passage.layer is Layer.SESSIONS and passage.session_id and number.isdecimal() else None


def _manner(passage: Passage, asked_text: str, asked: frozenset[str]) -> float:
    """What the way a passage is said is worth: documents and notes have none of it, but a note is somebody's word."""
    if passage.layer is not Layer.SESSIONS:
        return _USER if passage.layer in (Layer.FACTS, Layer.FABRIC, Layer.WORKSPACE) else 0.0
    worth, speaker = manner_of(passage)
    if speaker and (speaker in asked if speaker.isascii() else speaker in asked_text.casefold()):
        worth += _SPEAKER
    return worth + _USER * (passage.author is Author.USER)


def manner_of(passage: Passage) -> tuple[float, str]:
    """What the words of a message are worth whatever is asked, and who speaks ("" for nobody); remembered."""
    return _of_words(passage.text, passage.context if passage.ordinal == 0 else "")


@lru_cache(maxsize=8192)
def _of_words(text: str, before: str) -> tuple[float, str]:
    short = min(math.log((1 + len(text)) / (1 + _LONG_ENOUGH)), 0.0)
    worth = _BREVITY * short + _ASKS * is_bare_question(text) + _ANSWERS * is_bare_question(_ROLE.sub("", before))
    return worth, speaker_of(text)


def is_bare_question(text: str) -> bool:
    """Short, and a question to its end."""
    return len(text) <= QUESTION_CHARS and bool(_QUESTION_END.search(text))


def speaker_of(text: str) -> str:
    """The first name a message begins with, casefolded ("imke" of "Imke Berg: Tuesday."); "" for none."""
    match = _SPOKEN_BY.match(text)
    return match[1].casefold() if match else ""
