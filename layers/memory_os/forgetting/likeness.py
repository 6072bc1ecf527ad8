"""How much of one text's words another has: what a query means, and what is left that says the same."""

from __future__ import annotations

from collections.abc import Sequence

from memory_os.text import index_terms, query_terms

__all__ = ["coverage", "share", "words"]


def words(text: str) -> set[str]:
    """Everything a text can be found by."""
    return set(query_terms(text)) | set(index_terms(text).casefold().split())


def share(terms: Sequence[str], among: set[str]) -> float:
    """The share of the terms that are among some words, 0..1."""
    return sum(term in among for term in terms) / len(terms) if terms else 0.0


def coverage(terms: Sequence[str], text: str) -> float:
    """The share of the terms that a text has, 0..1."""
    return share(terms, words(text))
