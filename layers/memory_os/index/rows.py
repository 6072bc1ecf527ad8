"""Rows of `passages` as statements name them and as passages: what the index reads by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_os.memory import Author, Layer, Passage
from memory_os.store import Row

PASSAGE_COLUMNS = (
    "id, handle, layer, source, ordinal, scope, session_id, kind, author, title, text, context, content_hash,"
    " embed_hash, created_at, valid_from, valid_to, trust, importance, flagged"
)
# What a reader gets beside them: the retrievals, which no layer writes.
READ_COLUMNS = f"{PASSAGE_COLUMNS}, uses, last_used_at"

# In the order of a Passage's fields: fifty rows a recall, and reading a row by name costs more than making the passage.
IN_ORDER = (
    "layer, source, text, scope, author, kind, ordinal, context, title, session_id, created_at, valid_from, valid_to, trust,"
    " importance, flagged, id, uses, last_used_at"
)
# A connection keeps 128 statements, of hundreds of values each 100 kB and more: one for each length came to 20 MB and more.
_LENGTHS = (8, 32, 64, 160, 288, 576, 1152, 2304, 4000)
_T = TypeVar("_T")
NO_VECTORS = np.empty((0, 0), np.float32)
_SESSIONS = Layer.SESSIONS.value
_LAYERS = {layer.value: layer for layer in Layer}
_AUTHORS = {author.value: author for author in Author}


class Whereabouts(NamedTuple):
    """Where a passage stands, without what it says: its talk's session, and its message's number in the archive ("" and 0 for
    what stands in no talk)."""

    id: str
    talk: str
    place: int


def passage_of(row: Row) -> Passage:
    return Passage(
        id=row["id"], layer=Layer(row["layer"]), source=row["source"], ordinal=row["ordinal"], scope=row["scope"],
        session_id=row["session_id"], kind=row["kind"], author=Author(row["author"]), title=row["title"],
        text=row["text"], context=row["context"], created_at=row["created_at"], valid_from=row["valid_from"],
        valid_to=row["valid_to"], trust=row["trust"], importance=row["importance"], flagged=row["flagged"],
        uses=row["uses"], last_used_at=row["last_used_at"],
    )  # fmt: skip


def in_order(row: Row | tuple[Any, ...]) -> Passage:
    """The passage of a row of a pk and `IN_ORDER`."""
    _, layer, source, text, scope, author, *rest = row
    return Passage(_LAYERS[layer], source, text, scope, _AUTHORS[author], *rest)


def whereabouts_of(passage_id: str, layer: str, source: str, session_id: str) -> Whereabouts:
    if layer == _SESSIONS and session_id:
        number = source.rpartition(":")[2]
        if number.isdecimal():
            return Whereabouts(passage_id, session_id, int(number))
    return Whereabouts(passage_id, "", 0)


def matrix_of(stored: Iterable[bytes]) -> NDArray[np.float32]:
    """Stored embeddings, all of one pipeline and so of one length, read in one piece."""
    rows = list(stored)
    return np.frombuffer(b"".join(rows), "<f2").astype(np.float32).reshape(len(rows), -1) if rows else NO_VECTORS


def marks(values: Sequence[object]) -> str:
    """Placeholders for a list in a statement, in a few lengths only: a statement of a new length is compiled anew."""
    return ",".join("?" * _length(len(values)))


def padded(values: Sequence[_T]) -> tuple[_T | None, ...]:
    """The values for `marks`; NULL is in no list."""
    return (*values, *[None] * (_length(len(values)) - len(values)))


def _length(count: int) -> int:
    return next((length for length in _LENGTHS if count <= length), count)


def visible_now(
    scopes: Sequence[str], layers: Sequence[Layer], now: float, sources: Sequence[str] = (), *, closed: bool = False
) -> tuple[str, tuple[object, ...]]:
    """The condition every read passes: own scope, not archived, valid now, wanted layers and sources (none: all).

    `closed`: what is archived and what holds at another time as well.
    """
    # The plus keeps SQLite from starting at the scope's index: the rows are already known by text or id.
    where = f"+p.scope IN ({','.join('?' * len(scopes))})"
    values: list[object] = [*scopes]
    if not closed:
        where += " AND p.archived = 0 AND (p.valid_to IS NULL OR p.valid_to > ?) AND (p.valid_from IS NULL OR p.valid_from <= ?)"
        values += [now, now]
    if layers:
        where += f" AND p.layer IN ({','.join('?' * len(layers))})"
        values += [layer.value for layer in layers]
    if sources:
        where += " AND +p.source IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(sources)))
    return where, tuple(values)
