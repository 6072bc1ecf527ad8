"""When two texts state the same fact, and when they may contradict one another. Pure policy, no words of a language.

Merging is shy on purpose: two similar facts that differ in a number, a negation or a name must stay two. Since negation
can't be recognised in every language, a difference in any whole word keeps facts apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

from memory_os.text import query_terms

# Below half of the words in common, two facts on one subject speak of different things.
CONFLICT_OVERLAP = 0.5

_TRAILING = ".,;:!?…。、，！？；：．؟،؛"
_QUOTES = "\"'“”„‟«»‘’‚`「」『』"
_UNSPACED_CHARS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:[._/:@+#'’-]+[^\W_]+)*[+#]*")
# A letter or digit that is none of those.
_SPACED = f"(?!{_UNSPACED_CHARS.pattern})" + r"[^\W_]"
_UNIT = re.compile(f"{_UNSPACED_CHARS.pattern}|(?:{_SPACED})+(?:[._/:@+#'’-]+(?:{_SPACED})+)*[+#]*")
# The shortest word that may differ in its ending, and what a near key keeps of one.
_STEM = 5


def tokens(text: str) -> list[str]:
    """The words between spaces, without closing punctuation, quotes, width, and the capital of an ordinary word.

    A capital inside a word, a word in capitals and a single letter keep their case (`-V` isn't `-v`, `US` isn't `us`),
    but for one letter at the head of the text ("O servidor …").
    """
    stripped = (part.strip(_QUOTES).rstrip(_TRAILING).strip(_QUOTES) for part in _plain(text).split())
    words = [_without_capital(part) for part in stripped if part]
    return [words[0].lower() if len(words[0]) == 1 else words[0], *words[1:]] if words else []


def normal_form(text: str) -> str:
    """Two texts with the same normal form are the same statement."""
    return " ".join(tokens(text))


def near_key(text: str) -> str:
    """A key that near-equal texts share (texts that share it needn't be near-equal)."""
    return " ".join(token[:_STEM] if _may_inflect(token) else token for token in tokens(text))


def near_equal(first: str, second: str) -> bool:
    """Equal in normal form, or but for one ordinary word of five words or more that has one more letter at its end.

    So `prefers` and `prefer` are one statement; another number, name, negation or word order never is.
    """
    one, other = tokens(first), tokens(second)
    if one == other:
        return bool(one)
    if len(one) != len(other) or len(one) < _STEM:
        return False
    different = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    if len(different) != 1:
        return False
    shorter, longer = sorted(different[0], key=len)
    written_small = _surface(first, shorter, longer) and _surface(second, shorter, longer)
    return written_small and _may_inflect(shorter) and _may_inflect(longer) and longer[:-1] == shorter


def overlap(first: str, second: str) -> float:
    """Jaccard similarity of words, and of characters where a script has no spaces. In [0, 1]."""
    one, other = units(first), units(second)
    return len(one & other) / len(one | other) if one or other else 0.0


def may_conflict(first: str, second: str) -> bool:
    """Whether two facts on the same subject say nearly the same and yet differ: worth a look, not a verdict."""
    return overlap(first, second) >= CONFLICT_OVERLAP and not near_equal(first, second)


def leading_term(text: str) -> str:
    """The first content word, as a stand-in for the grammatical subject.

    First in the text: among the terms words stand before the pairs of Chinese and Japanese, and so numbers before subjects.
    """
    said = _plain(text).casefold()
    return min(query_terms(text), key=lambda term: said.find(term) % (len(said) + 1), default="")


def same_outside_text(text: str, one: Collection[str], other: Collection[str]) -> bool:
    """Whether two lists of entity keys agree in what the text itself doesn't say ("he prefers tea": who?)."""
    said = " ".join(_plain(text).casefold().split())
    return {key for key in one if key not in said} == {key for key in other if key not in said}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _without_capital(word: str) -> str:
    ordinary = len(word) > 1 and word[1:] == word[1:].lower()
    return word[0].lower() + word[1:] if ordinary else word


def _may_inflect(word: str) -> bool:
    """An ordinary word of a script with spaces and case: letters only, written small, long enough to have an ending."""
    return len(word) >= _STEM and word.isalpha() and word.islower() and not _UNSPACED_CHARS.search(word)


def _surface(text: str, shorter: str, longer: str) -> bool:
    """Whether the differing word is written small in this text; a capital may make it a name."""
    words = {part.strip(_QUOTES).rstrip(_TRAILING).strip(_QUOTES) for part in _plain(text).split()}
    return shorter in words or longer in words


def in_order(text: str) -> str:
    """The `units` of a text, each as often and in the order as they stand there, with a space between."""
    return " ".join(_UNIT.findall(_plain(text).casefold()))


@lru_cache(maxsize=1024)
def units(text: str) -> frozenset[str]:
    """The words of a text, whatever their case, and the single characters of scripts without spaces."""
    plain = _plain(text).casefold()
    words = _WORD.findall(_UNSPACED_CHARS.sub(" ", plain))
    return frozenset(words) | frozenset(_UNSPACED_CHARS.findall(plain))
