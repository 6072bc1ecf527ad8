"""Whether a candidate has to do with the question at all, and where it stands among the others. Pure policy.

Relevance is a probability from a logistic model of the two arms' calibrated scores and of how many passages were
searched: the best of 10,000 unrelated passages looks better than the best of ten (extreme values grow with
sqrt(2 ln n)). Fitted on dialogue turns and paragraphs: questions asked of their own conversation against the same
questions asked of another one of the same kind, 8 to 2,300 passages: area under the curve .988; at the default
threshold of 0.8, 87 % of the questions with an answer pass and 2 % of those without (0.5 % where the subject differs).
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
_BIAS = -4.9
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
# One that has all the question's words, and rare ones ("kafka"), needs no likeness.
_SPOKEN = 2.5
# A manual has all the words of many a question: of documents words alone must say more, and the whole evidence too.
_WORDS_DOCUMENT = -3.4
_DOCUMENT = -1.3
# Below this many passages the size term would let anything through.
_SMALLEST = 8

# Fusion: the share of the best BM25 in this question's list, weighed against the cosine (measured: any@10 82).
_BM25_WEIGHT = 0.35
# What a passage that has all of the question's words has as cosine: stands in for one whose vector isn't there yet.
_EXPECTED_COSINE = 0.45

# All priors together stay within a quarter: they order what has evidence, they never make it.
_TRUST_SPAN = 0.10
_DECAY_SPAN = 0.08
_IMPORTANCE_SPAN = 0.07


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its passage, the probability that it is relevant, and its rank score (higher is better)."""

    candidate: Candidate
    passage: Passage
    probability: float
    rank: float
    prior: float


def probability(candidate: Candidate, searched: int, *, cross_language: bool, document: bool = False) -> float:
    """Probability that the passage answers the question, 0..1. `searched`: how many passages of its kind there are."""
    if not candidate.compared:
        return _logistic(_WORDS_COVERAGE * candidate.coverage + _WORDS_BIAS + _WORDS_DOCUMENT * document)
    size = math.sqrt(2 * math.log(max(searched, _SMALLEST)))
    score = _COSINE * candidate.cosine + _COVERAGE * candidate.coverage + _SIZE * size + _BIAS
    if cross_language:
        score = max(score, _CROSS_COSINE * candidate.cosine + _CROSS_SIZE * size + _CROSS_BIAS)
    score += _NAMED * candidate.named + _DOCUMENT * document
    return _logistic(max(score, _SPOKEN) if candidate.spoken and not document else score)


def rank_score(candidate: Candidate, best_bm25: float) -> float:
    """Cosine plus the share of the question's best BM25."""
    lexical = candidate.bm25 / best_bm25 if best_bm25 > 0 else 0.0
    cosine = candidate.cosine if candidate.compared else _EXPECTED_COSINE * candidate.coverage
    return cosine + _BM25_WEIGHT * lexical


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
