"""Whether a candidate has to do with the question at all. Pure policy.

Relevance is a probability from logistic models of the two arms' calibrated scores, of how many passages were searched (the
best of 10,000 unrelated passages looks better than the best of ten: extreme values grow with sqrt(2 ln n)), of how many of the
question's names anybody here ever mentioned, and of whether a passage was said on the day the question names. A question's date is
when something was said, not words that an answer repeats: it counts as none of the words to be covered.

Fitted on questions asked of their own conversation against questions asked of another one or of other paragraphs, both with one
half of the weight: a probability of 0.7 is meant for as many questions with an answer here as without. docs/recall.md has the
table of how often each probability came true on conversations that were not fitted on. What is said and what is written in
documents have a model each; between languages words say little and the cosine of a true pair is lower, so that case has its own line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memory_os.memory import Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.decay import retention


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of a logistic model, in log-odds: of the cosine, the words covered, sqrt(2 ln passages), and a constant."""

    cosine: float
    coverage: float
    size: float
    bias: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question says of itself, given this memory, as shares 0..1.

    `dated`: of its words, those that only name a date; `unknown`: of its names, those that nobody here ever mentioned;
    `strangers`: that is all of them.
    """

    dated: float = 0.0
    unknown: float = 0.0
    strangers: bool = False


NOTHING_SAID = Asked()

_SAID = Model(cosine=15.5, coverage=5.0, size=-1.15, bias=-2.05)
# A manual has something to say to every question: it must be nearer.
_WRITTEN = Model(cosine=50.0, coverage=6.2, size=-3.72, bias=-6.9)
# Who asks about somebody or something that was never mentioned here asks something else.
_UNKNOWN = -2.8
_STRANGERS = -1.5
_ON_THE_DAY = 3.1
# Set on questions in Chinese, Arabic and German about English text, against questions in those languages about anything else: of the
# unrelated asked of dialogue 0.4 to 0.8 % pass; of documents, which must be nearer, 1 %, and of those with an answer 37 to 77 %.
_CROSS = Model(cosine=31.0, coverage=0.0, size=-1.86, bias=-0.9)
_CROSS_DOCUMENT = -1.4
# Without a cosine the words decide alone: at the default threshold 70 to 77 % of the questions with an answer in a dialogue pass, and
# 0 to 3 % of the unrelated (11 to 14 % between talks on like subjects). The number of passages adds nothing there.
_WORDS = Model(cosine=0.0, coverage=10.0, size=0.0, bias=-3.45)
# A manual has all the words of many a question.
_WORDS_DOCUMENT = -2.6
# One that has all the question's words, and rare ones ("kafka"), needs no likeness.
_SPOKEN = 2.5
# Below this many passages the size term would let anything through.
_SMALLEST = 8

# All priors together stay within a quarter: they order what has evidence, they never make it.
_TRUST_SPAN = 0.10
_DECAY_SPAN = 0.08
_IMPORTANCE_SPAN = 0.07


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its passage, the probability that it is relevant, and its rank (`standing`; higher is better)."""

    candidate: Candidate
    passage: Passage
    probability: float
    rank: float
    prior: float


def probability(
    candidate: Candidate,
    searched: int,
    asked: Asked = NOTHING_SAID,
    *,
    cross_language: bool,
    document: bool = False,
    on_the_day: bool = False,
) -> float:
    """Probability that the passage answers the question, 0..1. `searched`: how many passages of its kind there are;
    `on_the_day`: it was said on a date that the question names."""
    covered = min(candidate.coverage / max(1 - asked.dated, 0.1), 1.0)
    # Between languages a name may only be spelled otherwise.
    known = 0.0 if cross_language else _UNKNOWN * asked.unknown + _STRANGERS * asked.strangers
    known += _ON_THE_DAY * on_the_day
    if not candidate.compared:
        return _logistic(_score(_WORDS, 0.0, covered, 0.0) + _WORDS_DOCUMENT * document + known)
    size = math.sqrt(2 * math.log(max(searched, _SMALLEST)))
    score = _score(_WRITTEN if document else _SAID, candidate.cosine, covered, size) + known
    if cross_language:
        score = max(score, _score(_CROSS, candidate.cosine, covered, size) + _CROSS_DOCUMENT * document + known)
    return _logistic(max(score, _SPOKEN) if candidate.spoken and not document else score)


def _score(model: Model, cosine: float, covered: float, size: float) -> float:
    return model.cosine * cosine + model.coverage * covered + model.size * size + model.bias


def prior(passage: Passage, now: float) -> float:
    """A factor within 1 ± 0.25 from trust (mean .5 is neutral), decay (one half-life is neutral) and importance (.5 is)."""
    trust = 0.0 if passage.trust is None else (passage.trust - 0.5) * 2 * _TRUST_SPAN
    left = retention(
        passage.created_at, now, uses=passage.uses, last_used_at=passage.last_used_at, importance=passage.importance
    )
    importance = (min(max(passage.importance, 0.0), 1.0) - 0.5) * 2 * _IMPORTANCE_SPAN
    return 1 + trust + (2 * left - 1) * _DECAY_SPAN + importance


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-max(min(score, 40.0), -40.0)))
