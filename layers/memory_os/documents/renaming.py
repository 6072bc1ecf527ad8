"""A file under a new name: the same passages with their days, counts and vectors; nothing is read or embedded again."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from memory_os.documents.prepare import layer_of, source_of
from memory_os.index import Index, embed_text
from memory_os.memory import Passage, content_hash

__all__ = ["move", "renamed"]

# SQLite takes so many values in one statement and more; a book has thousands of passages.
_PAGE = 500


def renamed(passages: Sequence[Passage], old: str, new: str) -> list[Passage]:
    """The passages as they stand under the new name: in their context, and in a title that was the file's name."""
    before, after = _file_name(old), _file_name(new)
    stems = (PurePath(old).stem, unicodedata.normalize("NFC", PurePath(old).stem))
    return [
        replace(
            one,
            id="",
            source=source_of(new),
            layer=layer_of(new),
            title=PurePath(after).stem if one.title in stems else one.title,
            context=after + one.context.removeprefix(before) if one.context.startswith(before) else one.context,
        )
        for one in passages
    ]


def move(db: sqlite3.Connection, index: Index, old: str, new: str) -> int:
    """Give the passages of one file to another name, inside the caller's transaction. Returns how many.

    A vector was made with the old name beside the text; it stays: the text is what it says.
    """
    before = index.of_source(source_of(old))
    after = renamed(before, old, new)
    vectors = _vectors(index, before)
    index.replace(source_of(new), after)
    index.embeddings.keep(
        {_key(to): vectors[_key(one)] for one, to in zip(before, after, strict=True) if _key(one) in vectors}
    )
    pairs = [(to.id, one.id) for one, to in zip(before, after, strict=True)]
    db.executemany(
        "UPDATE passages SET (uses, last_used_at, archived) ="
        " (SELECT uses, last_used_at, archived FROM passages WHERE id = ?2) WHERE id = ?1",
        pairs,
    )
    db.executemany("UPDATE OR IGNORE recall_lines SET passage_id = ?1 WHERE passage_id = ?2", pairs)
    index.remove(source_of(old))
    return len(after)


def _vectors(index: Index, passages: Sequence[Passage]) -> dict[str, NDArray[np.float32]]:
    keys = [_key(one) for one in passages]
    found: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(keys), _PAGE):
        found.update(index.embeddings.of_hashes(keys[start : start + _PAGE]))
    return found


def _key(passage: Passage) -> str:
    return content_hash(embed_text(passage))


def _file_name(name: str) -> str:
    return unicodedata.normalize("NFC", PurePath(name).name)
