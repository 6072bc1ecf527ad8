"""How many passages there are, and how many of them have a term: what a word weighs."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable

from memory_os.index import Index
from memory_os.text.terms import is_bigram

__all__ = ["SMALLEST_CORPUS", "Frequencies", "Sizes"]

# Below this many passages BM25 has nothing to tell a rare word by.
SMALLEST_CORPUS = 60
# Of a Chinese or Japanese question every second pair of characters straddles two words, or is "什么": one that no
# passage has is less of a miss than a whole word.
_STRADDLING = 0.5
# A term in more passages than this share (and than so many) is left out where the question has others.
_COMMON_SHARE = 0.1
_COMMON_LEAST = 200
_SIZES_KNOWN_FROM = 1000
# A count goes through all passages, and is needed in orders of magnitude: it stands for 10 s per 1,000 of them.
_SIZES_TTL_S_EACH = 0.01
_SIZES_TTL_MAX_S = 600.0
_SIZES_MAX = 1000
# Document frequencies move slowly; a question asks for ten of them.
_FREQUENCY_TTL_S = 300.0
_FREQUENCIES_MAX = 20_000


class Sizes:
    """How many passages there are, counted again every now and then: a recall asks for it ten times."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[tuple[str, ...], tuple[tuple[int, int], float]] = {}

    def total(self) -> int:
        return self._remembered((), lambda: (self._index.count(), 0))[0]

    def searchable(self, scopes: tuple[str, ...]) -> tuple[int, int]:
        """Memories and documents this reader's searches run over."""
        return self._remembered(scopes, lambda: self._index.searchable(scopes))

    def _remembered(self, key: tuple[str, ...], count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        now = time.monotonic()
        known = self._known.get(key)
        # A small memory grows by a good part with each turn, and is counted in no time.
        if known is not None and now - known[1] < _known_for_s(sum(known[0])):
            return known[0]
        counted = count()
        if len(self._known) >= _SIZES_MAX:
            self._known.clear()
        self._known[key] = (counted, now)
        return counted


def _known_for_s(passages: int) -> float:
    return min(passages * _SIZES_TTL_S_EACH, _SIZES_TTL_MAX_S) if passages >= _SIZES_KNOWN_FROM else 0.0


class Frequencies:
    """How many passages have a term, remembered for a while."""

    def __init__(self, index: Index, sizes: Sizes) -> None:
        self._index = index
        self._sizes = sizes
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, float]] = {}
        self._unseen: set[str] | None = None

    def of_one_question(self) -> Frequencies:
        """The same, for one thread: a term that nobody has said yet is looked for once, and not each time it is asked for."""
        one = copy.copy(self)
        one._unseen = set()
        return one

    def information(self, terms: tuple[str, ...]) -> float:
        """Sum of the terms' inverse document frequencies, as FTS5's bm25() weighs them; a term never seen counts most.

        FTS5 counts over all passages, whoever's they are, so this does too: a share needs one measure on both sides.
        """
        return max(sum(self.weight(term) for term in terms), 1e-6)

    def weight(self, term: str) -> float:
        """The term's inverse document frequency; a small memory counts as one of `SMALLEST_CORPUS` passages."""
        count = self.count(term)
        weight = _idf(count, max(self._sizes.total(), SMALLEST_CORPUS))
        return weight if count or not is_bigram(term) else weight * _STRADDLING

    def telling(self, terms: tuple[str, ...]) -> list[str]:
        """The terms worth searching for: one that a tenth of all passages have orders little and costs the most."""
        most = max(self._sizes.total() * _COMMON_SHARE, _COMMON_LEAST)
        rare = [term for term in terms if self.count(term) <= most]
        return rare or list(terms)

    def count(self, term: str) -> int:
        if self._unseen and term in self._unseen:
            return 0
        now = time.monotonic()
        known = self._known.get(term)
        if known is not None and now - known[1] < _FREQUENCY_TTL_S:
            return known[0]
        count = self._index.frequency(term)
        with self._lock:
            if len(self._known) >= _FREQUENCIES_MAX:
                self._known.clear()
            # A term nobody has said yet may be said in the next turn: only what was found is remembered.
            if count:
                self._known[term] = (count, now)
            elif self._unseen is not None:
                self._unseen.add(term)
        return count


def _idf(count: int, passages: int) -> float:
    total = max(passages, count, 1)
    return max(math.log((total - count + 0.5) / (count + 0.5)), 1e-6)
