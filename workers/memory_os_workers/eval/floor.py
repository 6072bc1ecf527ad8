"""Plain FTS5 over the same texts: what a few lines of SQL find. The floor every figure is read beside."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from types import TracebackType

from memory_os.text import query_terms
from memory_os.text.terms import fts_query, is_bigram

_TRIGRAM = 3
_UNSPACED_SHARE = 0.2


class PlainFts5:
    """porter + unicode61, or trigrams where a fifth of the letters is of scripts without spaces; OR of the content words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._trigrams = _is_unspaced("".join(text[:200] for text in texts))
        tokenizer = "trigram" if self._trigrams else "porter unicode61"
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute(f"CREATE VIRTUAL TABLE plain USING fts5(text, tokenize = '{tokenizer}')")
        self._connection.executemany("INSERT INTO plain(rowid, text) VALUES(?, ?)", enumerate(texts))

    def __enter__(self) -> PlainFts5:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.close()

    def search(self, question: str, limit: int) -> list[int]:
        """Positions of the best texts, best first."""
        terms = _trigrams(question) if self._trigrams else query_terms(question)
        if not terms:
            return []
        found = self._connection.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT ?", (fts_query(terms), limit)
        )
        return [row[0] for row in found]


def _is_unspaced(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(map(is_bigram, letters)) > _UNSPACED_SHARE * max(len(letters), 1)


def _trigrams(question: str) -> list[str]:
    words = "".join(char if char.isalnum() else " " for char in question).split()
    return list(dict.fromkeys(word[i : i + _TRIGRAM] for word in words for i in range(len(word) - _TRIGRAM + 1)))
