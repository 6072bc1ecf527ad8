"""Which passages have their vector: the embeddings that memory.db keeps, and what stands of them in the vector collection.

An embedding is known by the hash of what was encoded and by the pipeline's fingerprint, so equal texts share one, and another model
has its own. `passages.indexed` says whether a passage has its point in the collection (`memory_os.index.closed`: or is to have none).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_os.index.rows import READ_COLUMNS, marks, matrix_of, padded, passage_of
from memory_os.memory import DOCUMENT_LAYERS, Passage
from memory_os.store import Store

_EMBEDDED = "EXISTS(SELECT 1 FROM embeddings e WHERE e.hash = p.embed_hash AND e.fingerprint = :fingerprint)"
_HASHES = "(SELECT value FROM json_each(:hashes))"
# A turn of the last minutes; earlier sessions that are imported are a backlog like any other.
_JUST_S = 600.0
_JUST_SAID = f"(created_at > :since AND layer NOT IN ({', '.join(repr(layer.value) for layer in sorted(DOCUMENT_LAYERS))}))"


@dataclass(frozen=True, slots=True)
class Pending:
    """A passage that has no vector in the collection yet. `embed_text` is what the encoder gets."""

    pk: int
    passage: Passage
    embed_text: str
    embed_hash: str


class Embeddings:
    """The embeddings of one pipeline, of whatever `Index` holds. Thread-safe; writes go through the store's transaction."""

    def __init__(self, store: Store, fingerprint: str) -> None:
        self.store = store
        self.fingerprint = fingerprint

    # -- what lacks its vector -------------------------------------------------------------------------------------

    def pending(self, limit: int, backlog: int = 0) -> list[Pending]:
        """Passages whose vector is not in the collection, newest first: what was just said is asked for first.

        `backlog`: up to this pk somebody else embeds; those passages are left out until their embedding is there. Not
        what was said, noted or decided just now: it does not wait behind files.
        """
        here = f" AND (pk > :backlog OR {_EMBEDDED} OR {_JUST_SAID})" if backlog else ""
        values = {"fingerprint": self.fingerprint, "backlog": backlog, "since": time.time() - _JUST_S, "limit": limit}
        rows = self.store.rows(
            f"SELECT pk, {READ_COLUMNS} FROM passages p WHERE indexed = 0{here} ORDER BY pk DESC LIMIT :limit", values
        )
        return [Pending(row["pk"], passage_of(row), embed_text(passage_of(row)), row["embed_hash"]) for row in rows]

    def pending_count(self) -> int:
        return int(self.store.value("SELECT count(*) FROM passages WHERE indexed = 0"))

    def unembedded(self, limit: int, *, after: int = 0, elsewhere: Iterable[str] = ()) -> dict[str, int]:
        """Hashes of pending passages with no embedding yet, and the newest pk of each, newest first.

        `after`: only of later passages; `elsewhere`: hashes to leave out.
        """
        rows = self.store.rows(
            # By name: for the grouping SQLite would go through every passage there is, each second.
            f"SELECT embed_hash, max(pk) AS newest FROM passages p INDEXED BY passages_unindexed"
            f" WHERE indexed = 0 AND pk > :after AND NOT {_EMBEDDED}"
            f" AND embed_hash NOT IN {_HASHES} GROUP BY embed_hash ORDER BY newest DESC LIMIT :limit",
            {**self._bound(elsewhere), "after": after, "limit": limit},
        )
        return {row["embed_hash"]: row["newest"] for row in rows}

    def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        """What the encoder is to read, by hash. Left out: what is embedded by now, or is nobody's any more."""
        rows = self.store.rows(
            f"SELECT {READ_COLUMNS} FROM passages p WHERE embed_hash IN {_HASHES} AND NOT {_EMBEDDED}",
            self._bound(hashes),
        )
        return {row["embed_hash"]: embed_text(passage_of(row)) for row in rows}

    def _bound(self, hashes: Iterable[str]) -> dict[str, object]:
        return {"fingerprint": self.fingerprint, "hashes": json.dumps(sorted(hashes))}

    # -- what memory.db keeps --------------------------------------------------------------------------------------

    def of_hashes(self, hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Stored vectors by embed hash, shape (dimension,), of this pipeline's fingerprint only."""
        listed = ",".join("?" * len(hashes))
        rows = self.store.rows(
            f"SELECT hash, vector FROM embeddings WHERE fingerprint = ? AND hash IN ({listed})",
            (self.fingerprint, *hashes),
        )
        return {row["hash"]: np.frombuffer(row["vector"], "<f2").astype(np.float32) for row in rows}

    def of_passages(self, pks: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """Stored embeddings by pk, shape (dimension,); passages without one are left out."""
        rows = self.store.rows(
            f"SELECT p.pk, e.vector FROM passages p JOIN embeddings e ON e.hash = p.embed_hash AND e.fingerprint = ?"
            f" WHERE p.pk IN ({marks(pks)})",
            (self.fingerprint, *padded(pks)),
        )
        if not rows:
            return {}
        return dict(zip([row[0] for row in rows], matrix_of(row[1] for row in rows), strict=True))

    def keep(self, vectors: dict[str, NDArray[np.float32]]) -> None:
        """Keep vectors by embed hash. What was forgotten while the encoder was at it is not kept."""
        with self.store.write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO embeddings(hash, fingerprint, vector)"
                " SELECT :hash, :fingerprint, :vector WHERE EXISTS(SELECT 1 FROM passages WHERE embed_hash = :hash)",
                [
                    {"hash": key, "fingerprint": self.fingerprint, "vector": vector.astype("<f2").tobytes()}
                    for key, vector in vectors.items()
                ],
            )

    def drop_unused(self, db: sqlite3.Connection, embed_hash: str) -> None:
        """Delete a vector that no passage has any more."""
        db.execute(
            "DELETE FROM embeddings WHERE hash = ? AND NOT EXISTS(SELECT 1 FROM passages WHERE embed_hash = ?)",
            (embed_hash, embed_hash),
        )

    # -- what stands in the collection -----------------------------------------------------------------------------

    def mark_indexed(self, pks: Sequence[int]) -> None:
        with self.store.write() as db:
            db.executemany("UPDATE passages SET indexed = 1 WHERE pk = ?", [(pk,) for pk in pks])

    def indexed(self) -> list[int]:
        """The pks of all passages whose vector stands in the collection."""
        return [row["pk"] for row in self.store.rows("SELECT pk FROM passages WHERE indexed = 1")]

    def mark_unindexed(self, pks: Sequence[int]) -> None:
        with self.store.write() as db:
            db.executemany("UPDATE passages SET indexed = 0 WHERE pk = ?", [(pk,) for pk in pks])

    def mark_all_unindexed(self) -> None:
        """The collection was lost or rebuilt: derive it again (embeddings stay, so nothing is encoded twice)."""
        with self.store.write() as db:
            db.execute("UPDATE passages SET indexed = 0")

    def deleted_points(self, limit: int = 1000) -> list[str]:
        """Ids of passages that are gone or closed and whose points have yet to be taken off the collection."""
        return [row["id"] for row in self.store.rows("SELECT id FROM deleted_points LIMIT ?", (limit,))]

    def forget_deleted_points(self, ids: Sequence[str]) -> None:
        with self.store.write() as db:
            db.executemany("DELETE FROM deleted_points WHERE id = ?", [(one,) for one in ids])


def embed_text(passage: Passage) -> str:
    """What the encoder reads: date, title, the text, then what stood before it.

    Without its neighbour a turn such as "yes, at noon then" means nothing; the date lets "in May" find it.
    """
    day = time.strftime("%-d %B %Y", time.gmtime(passage.created_at)) if passage.created_at else ""
    head = " · ".join(filter(None, (day, passage.title)))
    return "\n".join(filter(None, (head, passage.context, passage.text)))
