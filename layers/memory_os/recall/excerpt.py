"""The part of a long passage that a line of the block quotes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

# Of a word that stands in a passage more often, the first few places are looked at; of a long one its beginning.
_PLACES_READ = 24
_STEM_CHARS = 5


def excerpt(text: str, terms: Sequence[str], longest: int) -> str:
    """At most `longest` characters of `text`, where most of the question's words stand, cut at white space."""
    text = text.strip()
    if len(text) <= longest:
        return text
    start = max(_densest(text.casefold(), terms, longest * 3 // 4) - longest // 4, 0)
    start = 0 if start + longest >= len(text) and start < longest // 4 else min(start, len(text) - longest)
    end = start + longest
    if start:
        start = _next_space(text, start)
    if end < len(text):
        end = text.rfind(" ", start + longest // 2, end) if " " in text[start + longest // 2 : end] else end
    return f"{'… ' if start else ''}{text[start:end].strip()}{' …' if end < len(text) else ''}"


def _densest(folded: str, terms: Sequence[str], width: int) -> int:
    """Where the first stretch of so many characters with the most different terms begins; 0 where none stands."""
    hits = sorted((at, term) for term in terms for at in _places(folded, _stem(term)))
    best, most, first = 0, 0, 0
    inside: Counter[str] = Counter()
    for at, term in hits:
        inside[term] += 1
        while hits[first][0] <= at - width:
            inside[hits[first][1]] -= 1
            first += 1
        different = sum(count > 0 for count in inside.values())
        if different > most:
            best, most = hits[first][0], different
    return best


def _places(folded: str, word: str) -> Iterator[int]:
    at = folded.find(word)
    for _ in range(_PLACES_READ):
        if at < 0:
            return
        yield at
        at = folded.find(word, at + 1)


def _stem(term: str) -> str:
    """Without its ending, well enough to find "painted" by "painting"."""
    return term if len(term) <= _STEM_CHARS else term[: max(_STEM_CHARS, len(term) - 3)]


def _next_space(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1
