"""The tables of documents, of what is followed and of what is refused.

Functions that take `db` run inside the caller's write transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from memory_os.documents.chunk import CHUNKER
from memory_os.documents.prepare import SOURCE_PREFIX, Prepared, source_of
from memory_os.documents.scan import Known, Refused, Root, stands_in
from memory_os.store import Row, Store

__all__ = ["Documented"]


class Documented:
    """What memory knows of files: one row each, and the roots that are followed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # -- files -------------------------------------------------------------------------------------------------------

    def row(self, name: str) -> Row | None:
        return self._store.row("SELECT * FROM documents WHERE path = ?", (name,))

    def names(self) -> list[str]:
        return [row["path"] for row in self._store.rows("SELECT path FROM documents ORDER BY path")]

    def known(self) -> dict[str, Known]:
        """All of it, for a scan: two queries, whatever their number."""
        there = {
            row["source"]: row["n"]
            for row in self._store.rows(
                "SELECT source, count(*) AS n FROM passages WHERE source >= ? AND source < ? GROUP BY source",
                (SOURCE_PREFIX, SOURCE_PREFIX[:-1] + chr(ord(SOURCE_PREFIX[-1]) + 1)),
            )
        }
        return {
            row["path"]: Known(
                row["size"], row["mtime_ns"], row["sha256"], row["status"], row["ingested_at"],
                row["chunker"] == CHUNKER and row["chunks"] == there.get(source_of(row["path"]), 0),
            )
            for row in self._store.rows("SELECT * FROM documents")
        }  # fmt: skip

    def is_whole(self, row: Row) -> bool:
        """Whether the passages are there, all of them and as this chunker cuts."""
        there = self._store.value("SELECT count(*) FROM passages WHERE source = ?", (source_of(row["path"]),))
        return bool(row["chunker"] == CHUNKER and row["chunks"] == there)

    def has(self, row: Row | None, sha256: str) -> bool:
        """Whether these bytes were taken whole. Of a file that could not be read since, only its passages tell that."""
        if row is None or row["sha256"] != sha256:
            return False
        return bool(row["status"] != "unreadable" or row["chunks"]) and self.is_whole(row)

    def write(
        self, db: sqlite3.Connection, prepared: Prepared, status: str, reason: str, chunks: int, now: float
    ) -> None:
        db.execute(
            "INSERT OR REPLACE INTO documents(path, sha256, chunker, size, mtime_ns, title, status, reason, chunks,"
            " ingested_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (prepared.name, prepared.sha256, CHUNKER, prepared.size, prepared.mtime_ns, prepared.title, status, reason,
             chunks, now),
        )  # fmt: skip

    def seen(self, db: sqlite3.Connection, prepared: Prepared, now: float) -> None:
        """The same bytes under another time: the next round need not read them."""
        db.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, ingested_at = ?, status = iif(chunks, 'ok', status),"
            " reason = iif(chunks, '', reason) WHERE path = ?",
            (prepared.size, prepared.mtime_ns, now, prepared.name),
        )

    def unread(self, db: sqlite3.Connection, prepared: Prepared, now: float) -> None:
        """What can't be read keeps what was taken from it before, and says why."""
        db.execute(
            "INSERT INTO documents(path, sha256, chunker, size, mtime_ns, title, status, reason, chunks, ingested_at)"
            " VALUES(?, '', ?, ?, ?, '', 'unreadable', ?, 0, ?) ON CONFLICT(path) DO UPDATE SET size = excluded.size,"
            " mtime_ns = excluded.mtime_ns, status = 'unreadable', reason = excluded.reason,"
            " ingested_at = excluded.ingested_at",
            (prepared.name, CHUNKER, prepared.size, prepared.mtime_ns, prepared.reason, now),
        )

    def rename(self, db: sqlite3.Connection, old: str, moved: Prepared, now: float) -> None:
        """The row under the new name of `moved`, with the size and time the file has there."""
        db.execute("DELETE FROM documents WHERE path = ?", (moved.name,))
        db.execute(
            "UPDATE documents SET path = ?, size = ?, mtime_ns = ?, ingested_at = ? WHERE path = ?",
            (moved.name, moved.size, moved.mtime_ns, now, old),
        )

    def drop(self, db: sqlite3.Connection, name: str) -> None:
        db.execute("DELETE FROM documents WHERE path = ?", (name,))

    # -- what is never read ------------------------------------------------------------------------------------------

    def refused(self) -> dict[str, str]:
        """The reason by name, as it was counted."""
        return {row["path"]: row["reason"] for row in self._store.rows("SELECT path, reason FROM refused")}

    def refuse(self, refused: Iterable[Refused], gone: Iterable[str]) -> None:
        """Note what is refused now, and that some names are there no more."""
        with self._store.write() as db:
            db.executemany("INSERT OR REPLACE INTO refused(path, reason) VALUES(?, ?)", [(one.name, one.reason) for one in refused])
            db.executemany("DELETE FROM refused WHERE path = ?", [(name,) for name in gone])

    # -- roots -------------------------------------------------------------------------------------------------------

    def roots(self, vault: Path) -> list[Root]:
        """The folders and files that are followed, as stored."""
        rows = self._store.rows("SELECT path, device FROM followed ORDER BY path")
        return [Root(vault / row["path"], row["device"]) for row in rows]

    def follow(self, name: str, device: int, now: float) -> None:
        """Follow a folder or a file from now on; or note where one that is followed stands now."""
        with self._store.write() as db:
            db.execute(
                "INSERT INTO followed(path, added_at, device) VALUES(?, ?, ?)"
                " ON CONFLICT(path) DO UPDATE SET device = excluded.device WHERE device != excluded.device",
                (name, now, device),
            )

    def unfollow(self, vault: Path, path: Path) -> None:
        """Follow nothing any more that is at a path or below it."""
        with self._store.write() as db:
            for (name,) in db.execute("SELECT path FROM followed").fetchall():
                if stands_in(vault / name, {str(path)}):
                    db.execute("DELETE FROM followed WHERE path = ?", (name,))
