"""When two stored facts are one statement, and when a person should look at them. Pure policy.

One statement is what differs in nothing but how it is written: spaces beside Chinese and Japanese, brackets and commas,
the Arabic stretch mark, an English `the`. A number, a name, a negation, a word or the order of words makes two facts,
in every language, since no list of negations is complete.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memory_os.facts.entities import entity_key
from memory_os.facts.fact import Fact
from memory_os.facts.likeness import near_equal, overlap, same_outside_text, tokens

# Share of words in common, and cosine of the (calibrated) embeddings, from which a pair is worth a look. Measured: the same
# in other words .89 to .93 in six languages; another drink, or a denial, .84 to .88; another subject below .5.
REVIEW_OVERLAP = 0.8
REVIEW_COSINE = 0.885

_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
_BESIDE_UNSPACED = re.compile(rf"(?<={_UNSPACED})\s+|\s+(?={_UNSPACED})")
# Punctuation that groups or pauses. Signs that belong to a value (- + . / : % # @ $) are not among them.
_PAUSES = re.compile(r"[,;()\[\]{}「」『』、，；（）【】،؛«»„“”\"]")
_STRETCH = "\u0640"
_ENGLISH_ARTICLE = "the"


def written(text: str) -> str:
    """A form that two ways of writing one statement share."""
    # A pause between digits may be part of the number: 1,5 is not 15.
    kept = re.sub(r"(?<=\d)[,，،](?=\d)", "\x00", text.replace(_STRETCH, ""))
    words = tokens(_PAUSES.sub(" ", kept))
    latin = all(char < "\u0250" for char in text)
    said = [word for word in words if not (latin and word.lower() == _ENGLISH_ARTICLE)]
    return _BESIDE_UNSPACED.sub("", " ".join(said))


def restates(first: str, second: str) -> bool:
    """Whether two texts are one statement, but for how it is written."""
    form = written(first)
    return near_equal(first, second) or (bool(form) and form == written(second))


def same_subject(one: Fact, other: Fact) -> bool:
    """Whether two facts agree in what their texts don't say: whose, about whom, and when it holds."""
    keys, other_keys = ([entity_key(name) for name in fact.entities] for fact in (one, other))
    return (
        one.scope == other.scope
        and (one.valid_from, one.valid_to) == (other.valid_from, other.valid_to)
        and same_outside_text(one.text, keys, other_keys)
        and same_outside_text(other.text, keys, other_keys)
    )


def numbers(text: str) -> list[str]:
    """The numbers of a text, sorted: facts that differ there are two facts, and no question for anybody."""
    return sorted(re.findall(r"\d+", unicodedata.normalize("NFKC", text)))


def worth_a_look(one: Fact, other: Fact, cosine: float) -> bool:
    """Whether a person may want to merge what code must not."""
    return cosine >= REVIEW_COSINE or overlap(one.text, other.text) >= REVIEW_OVERLAP


def keeper(facts: Sequence[Fact]) -> Fact:
    """Which of several that say the same stays: a person's words, then the one with more behind it, then the older."""
    return min(facts, key=lambda one: (one.author.value != "user", -one.counts.support, one.created_at, one.id))
