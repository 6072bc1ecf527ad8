"""Questions with a known answer, made from what memory holds: what a restored backup must answer the same."""

from __future__ import annotations

from dataclasses import dataclass

from memory_os.index import Index
from memory_os.store import Store
from memory_os.text import query_terms

# Per layer, the newest and the oldest: what was just written and what has been there for long.
_PER_LAYER = 2
_TERMS = 6
_AMONG = 10


@dataclass(frozen=True, slots=True)
class Question:
    """Words, whose they are, and the passage that must be among the first ten; `embedding` is its vector's bytes."""

    terms: tuple[str, ...]
    scope: str
    passage_id: str
    embedding: bytes


def questions(store: Store, index: Index, now: float) -> list[Question]:
    """A few of each layer that memory itself answers now."""
    found = []
    for order in ("DESC", "ASC"):
        rows = store.rows(
            "SELECT pk, id, scope, text FROM (SELECT *, row_number() OVER (PARTITION BY layer ORDER BY pk"
            f" {order}) AS place FROM passages WHERE archived = 0 AND (valid_to IS NULL OR valid_to > ?)) WHERE place <= ?",
            (now, _PER_LAYER),
        )
        for row in rows:
            terms = tuple(dict.fromkeys(query_terms(row["text"])))[:_TERMS]
            vectors = index.embeddings.of_passages([row["pk"]])
            embedding = vectors[row["pk"]].tobytes() if row["pk"] in vectors else b""
            found.append(Question(terms, row["scope"], row["id"], embedding))
    distinct = {one.passage_id: one for one in found if one.terms}
    return [one for one in distinct.values() if answered(one, index, now)]


def answered(question: Question, index: Index, now: float) -> bool:
    """Whether an index finds the passage by these words, with the same embedding."""
    hits = index.lexical(list(question.terms), [question.scope], limit=_AMONG, now=now)
    hit = next((one for one in hits if one.id == question.passage_id), None)
    if hit is None:
        return False
    vectors = index.embeddings.of_passages([hit.pk])
    return not question.embedding or (hit.pk in vectors and vectors[hit.pk].tobytes() == question.embedding)
