"""Sparse vectors: BM25 term weights over the same terms full-text search uses, made in process.

The options below are part of the collection's stamp; the engine multiplies by IDF at search time.
"""

from __future__ import annotations

import re
from functools import lru_cache

from qdrant_edge import (
    Bm25,
    Bm25Config,
    SnowballLanguage,
    SnowballParams,
    SparseVector,
    StopwordsSet,
    TokenizerType,
)

from memory_os.text.terms import index_terms, query_terms

__all__ = ["SPARSE", "document_vector", "query_vector"]

# Names the options; a collection built with others is refused. Measured on development halves of LoCoMo, XQuAD and BEAM
# against the engine's Multilingual tokenizer: our own terms (bigrams of unspaced scripts) with its Word tokenizer find
# as much or more in en, de, zh (any@10 100, 100, 100) and the same in ar (95); "ERR-4711番" keeps its number apart;
# the English stemmer adds three points on dialogue and takes none elsewhere, as both sides go through it.
SPARSE = "bm25/terms-1/word/english-stems/avg-40/context-0.3"

# Memories are short: the engine's default of 256 tokens makes every turn look like a stub.
AVERAGE_LENGTH = 40.0
# Words of the neighbour or heading count less than the passage's own, as in full-text search (index.NEIGHBOUR_WEIGHT).
CONTEXT_WEIGHT = 0.3
# The engine's stemmer takes time quadratic in the length of a word (a megabyte of "y": a minute). No word, link or key is
# this long; what is longer counts by its beginning.
WORD_MAX = 1000
_LONG_WORD = re.compile(rf"[^\W_]{{{WORD_MAX + 1},}}")


def document_vector(text: str, context: str = "") -> SparseVector:
    """Term-frequency weights of what is stored; `context` counts lightly. Empty for a text without words."""
    weights: dict[int, float] = {}
    for part, factor in ((text, 1.0), (context, CONTEXT_WEIGHT)):
        vector = _bm25().embed_document(_bounded(index_terms(part)))
        for index, value in zip(vector.indices, vector.values, strict=True):
            weights[index] = weights.get(index, 0.0) + factor * value
    return SparseVector(list(weights), list(weights.values()))


def query_vector(text: str) -> SparseVector:
    """The question's terms, each weighing 1; function words left out. Empty for a text without words."""
    return _bm25().embed_query(_bounded(" ".join(query_terms(text))))


def _bounded(terms: str) -> str:
    """The same terms, none longer than WORD_MAX."""
    if len(terms) <= WORD_MAX:
        return terms
    return _LONG_WORD.sub(lambda word: word.group()[:WORD_MAX], terms)


@lru_cache(maxsize=1)
def _bm25() -> Bm25:
    return Bm25(
        Bm25Config(
            tokenizer=TokenizerType.Word,
            lowercase=True,
            ascii_folding=True,
            avg_len=AVERAGE_LENGTH,
            stopwords=StopwordsSet(languages=set(), custom=set()),
            stemmer=SnowballParams(SnowballLanguage.English),
        )
    )
