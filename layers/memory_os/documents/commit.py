"""What is written: a prepared file, a rename, a deletion, each one transaction."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_os.documents.chunk import CHUNKER
from memory_os.documents.files import is_gone
from memory_os.documents.prepare import SOURCE_PREFIX, Prepared
from memory_os.documents.renaming import move
from memory_os.documents.report import FileReport
from memory_os.documents.rows import Documented
from memory_os.documents.scan import Renamed
from memory_os.index import Index
from memory_os.memory import SHARED_SCOPE, Passage, content_hash
from memory_os.store import Row, Store, tombstones

__all__ = ["Commits"]

_PAGE = 500


class Commits:
    """The writing side of documents. `vault` is where relative names lie. Thread-safe."""

    def __init__(self, store: Store, index: Index, rows: Documented, vault: Path) -> None:
        self.store = store
        self.index = index
        self.rows = rows
        self.vault = vault

    def commit(
        self, prepared: Prepared, vectors: Mapping[str, NDArray[np.float32]] | None = None
    ) -> FileReport:  # fmt: skip
        """Make a prepared file all that memory has under its name: passages and row in one transaction.

        `vectors`: of its texts by embed hash, shape (dimension,), of this pipeline's fingerprint; missing ones follow in the
        background. Refuses (`stale`) what was read before the file's last change, or cut by another chunker. A file that is
        no longer text loses its passages; one that can't be read keeps them.
        """
        if prepared.chunker != CHUNKER or self._is_stale(prepared):
            return FileReport(prepared.name, "stale", "changed since it was read")
        now = time.time()
        with self.store.write() as db:
            row = self.rows.row(prepared.name)
            if prepared.unreadable:
                return self._keep(db, row, prepared, now)
            if row is not None and self.rows.has(row, prepared.sha256):
                self.rows.seen(db, prepared, now)
                return FileReport(
                    row["path"], "unchanged" if row["chunks"] else "skipped", row["reason"], row["chunks"]
                )
            report = self._replace(db, prepared, now)
            if vectors:
                self.index.embeddings.keep(dict(vectors))
            self._tally(row, report, prepared)
            return report

    def rename(self, renamed: Renamed) -> FileReport | None:
        """None if the file moved on meanwhile: the next scan sees where to."""
        old, seen = renamed.old, renamed.seen
        moved = Prepared(seen.name, "", seen.size, seen.mtime_ns)
        if self._is_stale(moved) or not is_gone(self.vault / old):
            return None
        with self.store.write() as db:
            row = self.rows.row(old)
            if row is None:
                return None
            chunks = move(db, self.index, old, seen.name)
            self.rows.rename(db, old, moved, time.time())
        return FileReport(seen.name, "renamed", f"was {old}", chunks)

    def forget(self, source: str) -> int:
        """Remove one document by its source (`document:<path>`): passages, vectors to come, and row. Returns passages."""
        with self.store.write() as db:
            removed = self.index.remove(source)
            self.rows.drop(db, source.removeprefix(SOURCE_PREFIX))
        return removed

    def forget_passages(self, source: str, texts: Collection[str], now: float) -> tuple[int, int]:
        """Take out one file's passages that have one of these texts, so that no later ingest takes them in again.

        A file of which nothing is left is no longer known. Returns how many passages went, and how many are left.
        """
        with self.store.write() as db:
            rest = [one for one in self.index.of_source(source) if one.text not in texts]
            tombstones.bury(db, SHARED_SCOPE, [content_hash(text) for text in texts], now)
            removed = self.index.replace(source, rest).removed
            path = source.removeprefix(SOURCE_PREFIX)
            db.execute("UPDATE documents SET chunks = ? WHERE path = ?", (len(rest), path))
            db.execute("DELETE FROM documents WHERE path = ? AND chunks = 0", (path,))
        return removed, len(rest)

    def _is_stale(self, prepared: Prepared) -> bool:
        try:
            status = (self.vault / prepared.name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) != (prepared.size, prepared.mtime_ns)

    def _replace(self, db: sqlite3.Connection, prepared: Prepared, now: float) -> FileReport:
        reason, notes = prepared.reason, prepared.notes
        # A passage keeps its day while its words stay, so that an edit elsewhere in the file re-embeds nothing.
        days = {one.content_hash: one.created_at for one in self.index.of_source(prepared.source)}
        passages, kept_out = self._without_forgotten(prepared.passages(days, now))
        if kept_out:
            notes = (*notes, f"{kept_out} {'passage stays' if kept_out == 1 else 'passages stay'} forgotten")
            reason = reason or ("" if passages else "all of it was forgotten")
        self.index.replace(prepared.source, passages)
        status = "skipped" if reason else "ok"
        self.rows.write(db, prepared, status, reason, len(passages), now)
        return FileReport(prepared.name, "skipped" if reason else "ok", reason, len(passages), notes)

    def _keep(self, db: sqlite3.Connection, row: Row | None, prepared: Prepared, now: float) -> FileReport:
        self.rows.unread(db, prepared, now)
        chunks = 0 if row is None else row["chunks"]
        report = FileReport(prepared.name, "skipped", prepared.reason, chunks)
        self._tally(row, report, prepared)
        return replace(report, chunks=0)

    def _without_forgotten(self, passages: list[Passage]) -> tuple[list[Passage], int]:
        """What the user had forgotten stays so, even when a folder that still holds it is ingested again."""
        keys = [tombstones.key(SHARED_SCOPE, one.content_hash) for one in passages]
        forgotten: set[str] = set()
        for start in range(0, len(keys), _PAGE):
            page = keys[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            forgotten |= {
                row["hash"] for row in self.store.rows(f"SELECT hash FROM tombstones WHERE hash IN ({marks})", page)
            }
        kept = [one for one, key in zip(passages, keys, strict=True) if key not in forgotten]
        return kept, len(passages) - len(kept)

    def _tally(self, before: Row | None, report: FileReport, prepared: Prepared) -> None:
        """Count what the user should know of, once: a file that goes the same way again is no news."""
        if prepared.secrets:
            self.store.count("secrets_redacted", prepared.secrets, reason="document")
        known = before is not None and before["reason"] == report.reason
        same = known and before is not None and (prepared.unreadable or before["sha256"] == prepared.sha256)
        if report.status == "skipped" and not same:
            self.store.count("documents_skipped", reason=f"{report.path}: {report.reason}")
        if report.notes:
            self.store.count("documents_with_notes", reason=f"{report.path}: {'; '.join(report.notes)}")
