"""The index all layers share: passages in memory.db, full text over them, and their embeddings.

A layer writes the passages of a source with `replace` and takes them away with `remove`. Text is searchable at once; vectors follow
in the background (`Index.embeddings`), and the vector collection is derived from here.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory_os.index.embeddings import Embeddings, Pending, embed_text
from memory_os.index.lexical import Wanted, best_of
from memory_os.index.rows import (
    IN_ORDER,
    NO_VECTORS,
    PASSAGE_COLUMNS,
    READ_COLUMNS,
    Whereabouts,
    in_order,
    marks,
    matrix_of,
    padded,
    passage_of,
    visible_now,
    whereabouts_of,
)
from memory_os.memory import DOCUMENT_LAYERS, Layer, Passage, content_hash
from memory_os.store import Row, Store
from memory_os.text.terms import stored_query, stored_terms

__all__ = [
    "Embeddings", "Hit", "Index", "Pending", "Read", "Replaced", "Retrieval", "Whereabouts", "embed_text",
    "passage_of", "whereabouts_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replaced:
    added: int
    removed: int
    kept: int


class Retrieval(NamedTuple):
    """One retrieval of several memories. `at`, and by id when each was retrieved before (None: never), in epoch seconds."""

    at: float
    before: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Hit:
    """One arm's finding. `score`: higher is better, comparable only within one query of one arm."""

    pk: int
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Read:
    """Hits with what they say, by pk, and the embeddings of those that have one: `vectors`, shape (len(embedded), dimension)."""

    hits: list[Hit] = field(default_factory=list)
    passages: dict[int, Passage] = field(default_factory=dict)
    embedded: list[int] = field(default_factory=list)
    vectors: NDArray[np.float32] = field(default_factory=lambda: NO_VECTORS)


class Index:
    """Passages and their full text; `embeddings` are their vectors. Thread-safe; writes go through the store's transaction."""

    def __init__(self, store: Store, fingerprint: str) -> None:
        self.store = store
        self.embeddings = Embeddings(store, fingerprint)

    @property
    def fingerprint(self) -> str:
        """Of the pipeline whose embeddings these are."""
        return self.embeddings.fingerprint

    # -- writing ---------------------------------------------------------------------------------------------------

    def replace(self, source: str, passages: Sequence[Passage]) -> Replaced:
        """Make `passages` all there is of `source`. Unchanged ones keep their vectors, those that only stand elsewhere in it
        now too; the rest are added or deleted."""
        with self.store.write() as db:
            old = {row["id"]: row for row in db.execute("SELECT * FROM passages WHERE source = ?", (source,))}
            kept = 0
            replaced: list[Row] = []
            for passage in passages:
                row = old.pop(passage.id, None)
                if row is not None and _same(row, passage):
                    kept += 1
                    continue
                if row is not None:
                    self._delete(db, row)
                    replaced.append(row)
                self._insert(db, passage)
                if row is not None:  # no new memory: its retrievals count on, and put away it stays
                    kept_of_it = (row["uses"], row["last_used_at"], row["archived"], passage.id)
                    db.execute("UPDATE passages SET uses = ?, last_used_at = ?, archived = ? WHERE id = ?", kept_of_it)
            for row in old.values():
                self._delete(db, row)
                db.execute("INSERT OR IGNORE INTO deleted_points(id) VALUES(?)", (row["id"],))
            # After all inserts: a text that was at one place may stand at another now.
            for row in (*replaced, *old.values()):
                self.embeddings.drop_unused(db, row["embed_hash"])
        return Replaced(added=len(passages) - kept, removed=len(old), kept=kept)

    def remove(self, source: str) -> int:
        """Take all passages of a source out of the index. Returns how many."""
        return self.replace(source, ()).removed

    def update(self, passage_id: str, *, trust: float | None = None, valid_to: float | None = None,
               importance: float | None = None, archived: bool | None = None) -> None:  # fmt: skip
        """Change what is not text; the vector stays."""
        values = {"trust": trust, "valid_to": valid_to, "importance": importance,
                  "archived": None if archived is None else int(archived)}  # fmt: skip
        changes = {key: value for key, value in values.items() if value is not None}
        if changes:
            assignments = ", ".join(f"{key} = :{key}" for key in changes)
            with self.store.write() as db:
                db.execute(f"UPDATE passages SET {assignments} WHERE id = :id", {**changes, "id": passage_id})

    def used(self, passage_ids: Iterable[str]) -> Retrieval:
        """Count a retrieval of each: every path that shows a memory calls this. Returns it, for `unused`."""
        now, ids = time.time(), list(passage_ids)
        with self.store.write() as db:
            rows = db.execute(f"SELECT id, last_used_at FROM passages WHERE id IN ({marks(ids)})", padded(ids)).fetchall()
            db.executemany(
                "UPDATE passages SET uses = uses + 1, last_used_at = ? WHERE id = ?", [(now, one) for one in ids]
            )
        return Retrieval(now, {row["id"]: row["last_used_at"] for row in rows})

    def unused(self, passage_ids: Iterable[str], retrieval: Retrieval | None = None) -> None:
        """Take one retrieval of each back: it was found, and shown to nobody.

        With it goes its time, which would make the memory younger; unless another retrieval came since, or nobody knows the
        one before any more (`retrieval` is None).
        """
        at, before = retrieval or Retrieval(0.0, {})
        with self.store.write() as db:
            db.executemany(
                "UPDATE passages SET uses = max(uses - 1, 0),"
                " last_used_at = CASE WHEN last_used_at = ?2 THEN ?3 ELSE last_used_at END WHERE id = ?1",
                [(one, at, before.get(one)) for one in passage_ids],
            )

    # -- reading ---------------------------------------------------------------------------------------------------

    def passages(self, pks: Sequence[int]) -> dict[int, Passage]:
        """Passages by pk; absent ones are left out."""
        rows = self.store.rows(f"SELECT pk, {IN_ORDER} FROM passages WHERE pk IN ({marks(pks)})", padded(pks))
        return {row[0]: in_order(row) for row in rows}

    def of_source(self, source: str) -> list[Passage]:
        rows = self.store.rows(f"SELECT {READ_COLUMNS} FROM passages WHERE source = ? ORDER BY ordinal", (source,))
        return [passage_of(row) for row in rows]

    def by_handle(self, handle: str, scopes: Sequence[str]) -> Passage | None:
        """The passage behind a handle or a full id, if this reader may see it."""
        listed = ",".join("?" * len(scopes))
        row = self.store.row(
            f"SELECT {READ_COLUMNS} FROM passages WHERE (handle = ? OR id = ?) AND scope IN ({listed})",
            (handle, handle, *scopes),
        )
        return None if row is None else passage_of(row)

    def lexical(
        self, terms: list[str], scopes: Sequence[str], *, layers: Sequence[Layer] = (), sources: Sequence[str] = (),
        limit: int = 60, now: float, closed: bool = False,
    ) -> list[Hit]:  # fmt: skip
        """Full-text hits by BM25 over a passage's words and, lighter, its neighbours'. Best first; empty without terms.

        `closed`: also of what is archived or over.
        """
        seen = visible_now(scopes, layers, now, sources, closed=closed)
        found = best_of(self.store, terms, Wanted("p.id FROM passages p"), *seen, limit)
        return [Hit(pk, row[1], score) for pk, score, row in found]

    def lexical_read(
        self, terms: list[str], scopes: Sequence[str], *, layers: Sequence[Layer] = (), sources: Sequence[str] = (),
        limit: int, now: float, weights: Sequence[float] = (),
    ) -> Read:  # fmt: skip
        """The same hits, with all that a recall asks of them: each passage is looked up once.

        `weights`: of the terms, where very many passages have one (`lexical.best_of`).
        """
        wanted = Wanted(
            f"{IN_ORDER}, e.vector FROM passages p LEFT JOIN embeddings e ON e.hash = p.embed_hash AND e.fingerprint = ?",
            (self.fingerprint,),
        )
        found = best_of(self.store, terms, wanted, *visible_now(scopes, layers, now, sources), limit, weights)
        passages = {pk: in_order(row[:-1]) for pk, _, row in found}
        embedded = {pk: row[-1] for pk, _, row in found if row[-1] is not None}
        return Read([Hit(pk, passages[pk].id, score) for pk, score, _ in found], passages, list(embedded), matrix_of(embedded.values()))

    def read(self, hits: list[Hit]) -> Read:
        """Hits that were found otherwise, with the same of them."""
        pks = [hit.pk for hit in hits]
        vectors = self.embeddings.of_passages(pks)
        matrix = np.stack(list(vectors.values())) if vectors else NO_VECTORS
        return Read(hits, self.passages(pks), list(vectors), matrix)

    def matching(
        self, term: str, scopes: Sequence[str], *, layers: Sequence[Layer] = (), sources: Sequence[str] = (), now: float
    ) -> list[tuple[int, str]]:
        """(pk, id) of every passage the reader may see that has the term in its own words."""
        where, values = visible_now(scopes, layers, now, sources)
        rows = self.store.rows(
            f"SELECT p.pk, p.id FROM passages_fts JOIN passages p ON p.pk = passages_fts.rowid"
            f" WHERE passages_fts MATCH ? AND {where} ORDER BY p.pk",
            ("body : " + stored_query([term]), *values),
        )
        return [(row["pk"], row["id"]) for row in rows]

    def visible(
        self, ids: Sequence[str], scopes: Sequence[str], *, layers: Sequence[Layer] = (), now: float
    ) -> dict[str, int]:
        """Which of these ids the reader may see now, as id -> pk. What the collection returns passes through here."""
        where, values = visible_now(scopes, layers, now)
        rows = self.store.rows(
            f"SELECT p.id, p.pk FROM passages p WHERE p.id IN ({marks(ids)}) AND {where}", (*padded(ids), *values)
        )
        return dict(map(tuple, rows))

    def whereabouts(
        self, ids: Sequence[str], scopes: Sequence[str], *, layers: Sequence[Layer] = (), sources: Sequence[str] = (), now: float
    ) -> dict[int, Whereabouts]:
        """Those of these ids that the reader may see now, by pk. What the collection returns passes through here."""
        where, values = visible_now(scopes, layers, now, sources)
        rows = self.store.tuples(
            f"SELECT pk, id, layer, source, session_id FROM passages p WHERE p.id IN ({marks(ids)}) AND {where}",
            (*padded(ids), *values),
        )
        return {pk: whereabouts_of(*row) for pk, *row in rows}

    def searchable(self, scopes: Sequence[str]) -> tuple[int, int]:
        """How many passages this reader's searches run over: of memories, and of documents."""
        documents = sorted(layer.value for layer in DOCUMENT_LAYERS)
        row = self.store.row(
            f"SELECT count(*), coalesce(sum(layer IN ({','.join('?' * len(documents))})), 0) FROM passages"
            f" WHERE archived = 0 AND scope IN ({','.join('?' * len(scopes))})",
            (*documents, *scopes),
        )
        total, of_documents = (0, 0) if row is None else (int(row[0]), int(row[1]))
        return total - of_documents, of_documents

    def frequency(self, term: str) -> int:
        """How many passages have the term in their own words."""
        return int(
            self.store.value("SELECT count(*) FROM passages_fts WHERE passages_fts MATCH ?", ("body : " + stored_query([term]),))
        )

    def count(self, layer: Layer | None = None) -> int:
        where, values = ("", ()) if layer is None else (" WHERE layer = ?", (layer.value,))
        return int(self.store.value(f"SELECT count(*) FROM passages{where}", values))

    # -- rows ------------------------------------------------------------------------------------------------------

    def _insert(self, db: sqlite3.Connection, passage: Passage) -> None:
        cursor = db.execute(
            f"INSERT INTO passages({PASSAGE_COLUMNS}) VALUES({','.join('?' * 20)})",
            (
                passage.id, passage.handle, passage.layer.value, passage.source, passage.ordinal, passage.scope,
                passage.session_id, passage.kind, passage.author.value, passage.title, passage.text, passage.context,
                passage.content_hash, content_hash(embed_text(passage)),
                passage.created_at if passage.created_at > 0 else time.time(),
                passage.valid_from, passage.valid_to, passage.trust, passage.importance, passage.flagged,
            ),
        )  # fmt: skip
        db.execute(
            "INSERT INTO passages_fts(rowid, body, neighbours) VALUES(?, ?, ?)",
            (cursor.lastrowid, stored_terms(f"{passage.title}\n{passage.text}"), stored_terms(passage.context)),
        )
        db.execute("DELETE FROM deleted_points WHERE id = ?", (passage.id,))

    def _delete(self, db: sqlite3.Connection, row: Row) -> None:
        db.execute("DELETE FROM passages_fts WHERE rowid = ?", (row["pk"],))
        db.execute("DELETE FROM passages WHERE pk = ?", (row["pk"],))

def _same(row: Row, passage: Passage) -> bool:
    """Whether a stored row says all that `passage` says (a missing time means: as stored)."""
    stored = passage_of(row)
    if not passage.created_at > 0:
        stored_time = stored.created_at
        return _key(stored) == _key(passage) and stored_time > 0
    return _key(stored) == _key(passage) and stored.created_at == passage.created_at


def _key(passage: Passage) -> tuple[object, ...]:
    return (
        passage.layer, passage.text, passage.context, passage.title, passage.scope, passage.session_id, passage.kind,
        passage.author, passage.valid_from, passage.valid_to, passage.trust, passage.importance, passage.flagged,
    )  # fmt: skip
