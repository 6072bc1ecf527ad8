"""Words of a message that name something: `RabbitMQ`, `k8s`, `BM25`, `Valkey` in mid-sentence. By their looks alone."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:[._/:@+#-]+[^\W_]+)*", re.UNICODE)
# Languages that write every noun with a capital: there its looks don't tell a name.
NOUNS_LOOK_LIKE_NAMES = frozenset({"de"})
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？\n])[\s\"'“„«(\[-]*$")


def names(text: str) -> list[str]:
    """The names in a text, casefolded, in their order, each once."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group()
        if _inner_mark(word) or (word[:1].isupper() and not _SENTENCE_START.search(text[: match.start()][-8:])):
            found[word.casefold()] = None
    return [name for name in found if len(name) > 1]


def _inner_mark(word: str) -> bool:
    """A capital inside, or letters and digits in one word."""
    return any(char.isupper() for char in word[1:]) or (
        any(char.isdigit() for char in word) and any(char.isalpha() for char in word)
    )
