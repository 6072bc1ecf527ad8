"""Whether a message asks not to be remembered. Pure.

Only a clear order counts, and only where orders stand: a whole clause at the edge of a sentence. "I don't remember this
function", a quoted "don't remember this", "she said: don't remember this" and questions are talk about remembering.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory_os.text.orders import orders_of, unaccented
from memory_os.text.refusals import ASKED, HINTS, LANGUAGES


@dataclass(frozen=True, slots=True)
class _Patterns:
    """`languages`: for each what its orders hold, and its orders. A sentence that is worth a look has a hint and a refusal."""

    languages: list[tuple[re.Pattern[str], re.Pattern[str]]]
    asked: re.Pattern[str]
    hint: re.Pattern[str]
    refusal: re.Pattern[str]

    def worth_a_look(self, sentence: str) -> bool:
        return self.hint.search(sentence) is not None and self.refusal.search(sentence) is not None

    def order(self, words: str, *, asked: bool) -> bool:
        if asked and not self.asked.fullmatch(words):
            return False
        return any(holds.search(words) and order.fullmatch(words) for holds, order in self.languages)


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    """Made at the first message: the start of the service has no time for it."""
    languages = [(_any_of([holds]), _any_of(orders)) for holds, orders in LANGUAGES]
    return _Patterns(languages, _any_of([ASKED]), _any_of([HINTS]), _any_of([holds for holds, _ in LANGUAGES]))


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(unaccented("|".join(f"(?:{one})" for one in patterns)))


def wants_no_memory(text: str) -> bool:
    """True when the message orders that it (and so its whole turn) is not remembered."""
    known = _patterns()
    return any(known.order(words, asked=asked) for words, asked in orders_of(text, known.worth_a_look))
