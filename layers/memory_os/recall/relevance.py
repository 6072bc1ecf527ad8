"""Whether a candidate has to do with the question at all. Pure policy.

Relevance is a probability from a logistic model of the two arms' calibrated scores, of how many passages were searched (the
best of 10,000 unrelated passages looks better than the best of ten: extreme values grow with sqrt(2 ln n)), and of whether
anything here knows a name of the question. Fitted on dialogue turns and paragraphs: questions asked of their own
conversation against the same questions asked of another of the same kind, 8 to 2,300 passages. At the default threshold
of 0.7, 80 to 90 % of the questions with an answer pass; of those asked of another pair's conversation none (of 66), and
where both conversations have a person of one name, one of eight (of 146).
Between languages words say little, and the cosine of a true pair is lower; that case has its own line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memory_os.memory import Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.decay import retention

_COSINE = 30.9
_COVERAGE = 6.5
_SIZE = -2.3
_BIAS = -4.1
# Set on questions in Chinese, Arabic and German about English text, in 8 to 700 passages: at the gate (a cosine of .21 among
# 26 passages, .27 among 700) 8 of 10 questions with an answer pass, and 2 % of those asked of unrelated dialogue. A
# cosine .04 lower lets one more of ten pass, and 5 to 10 % of the unrelated.
_CROSS_COSINE = 31.0
_CROSS_SIZE = -1.86
_CROSS_BIAS = -0.9
# Without a cosine the words decide alone, fitted on the same questions: area under the curve .92; at 0.8, 61 % of the
# questions with an answer pass and 3 % of those without. The number of passages adds nothing there.
_WORDS_COVERAGE = 10.8
_WORDS_BIAS = -3.1
# A passage that has a name of the question which few have is about the same thing.
_NAMED = 2.0
# Who asks about somebody or something that was never mentioned here asks something else. Between languages a name may only
# be spelled otherwise.
_STRANGERS = -4.0
# One that has all the question's words, and rare ones ("kafka"), needs no likeness.
_SPOKEN = 2.5
# A manual has all the words of many a question: of documents words alone must say more, and the whole evidence too.
_WORDS_DOCUMENT = -3.4
_DOCUMENT = -2.1
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
    candidate: Candidate, searched: int, *, cross_language: bool, document: bool = False, strangers: bool = False
) -> float:
    """Probability that the passage answers the question, 0..1. `searched`: how many passages of its kind there are;
    `strangers`: nothing in memory has any of the question's names."""
    if not candidate.compared:
        return _logistic(_WORDS_COVERAGE * candidate.coverage + _WORDS_BIAS + _WORDS_DOCUMENT * document)
    size = math.sqrt(2 * math.log(max(searched, _SMALLEST)))
    score = _COSINE * candidate.cosine + _COVERAGE * candidate.coverage + _SIZE * size + _BIAS
    if not cross_language:
        score += _STRANGERS * strangers
    else:
        score = max(score, _CROSS_COSINE * candidate.cosine + _CROSS_SIZE * size + _CROSS_BIAS)
    score += _NAMED * candidate.named + _DOCUMENT * document
    return _logistic(max(score, _SPOKEN) if candidate.spoken and not document else score)


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
