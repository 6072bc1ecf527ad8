"""Ingest: files become passages of layer `vectors`, a file's passages replaced as a whole and only when it changed."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memory_os.config import Settings
from memory_os.documents.chunk import CHUNKER, Chunk
from memory_os.documents.files import Content, Found, find_files, read_file
from memory_os.documents.formats import Parsed, parse
from memory_os.documents.instruction import FLAG, instruction_like
from memory_os.errors import DocumentError
from memory_os.index import Index
from memory_os.memory import SHARED_SCOPE, Author, Health, Layer, Passage, State
from memory_os.store import Row, Store, tombstones

__all__ = ["Documents", "FileReport", "IngestReport", "Progress"]

# Called before each file with (files done, files in all, path).
Progress = Callable[[int, int, str], None]

SOURCE_PREFIX = "document:"
# File systems stamp times in steps of up to 2 s (FAT, some shares).
SETTLED_S = 3.0


@dataclass(frozen=True, slots=True)
class FileReport:
    """How one file went; `removed`: it is gone from its folder, and so from memory.

    `chunks`: how many passages it has now. `notes`: what was passed over in it. `known`: it went the same way the last
    time, and is not counted again.
    """

    path: str
    status: Literal["ok", "unchanged", "skipped", "removed"]
    reason: str = ""
    chunks: int = 0
    notes: tuple[str, ...] = ()
    known: bool = False


@dataclass(slots=True)
class IngestReport:
    """All files in the order they were taken. `excluded`: dot files, archives and bookkeeping, not looked at."""

    files: list[FileReport] = field(default_factory=list)
    excluded: int = 0

    def count(self, status: str) -> int:
        return sum(one.status == status for one in self.files)

    @property
    def chunks(self) -> int:
        return sum(one.chunks for one in self.files)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the figures, and every file that is not simply unchanged."""
        told = [
            {
                "path": one.path,
                "status": one.status,
                "reason": one.reason,
                "chunks": one.chunks,
                "notes": list(one.notes),
            }
            for one in self.files
            if one.status != "unchanged" or one.notes
        ]
        figures = {status: self.count(status) for status in ("ok", "unchanged", "skipped", "removed")}
        return {**figures, "excluded": self.excluded, "chunks": self.chunks, "files": told}


class Documents:
    """The documents the user handed over. Reads their files and never writes them. Thread-safe."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self.store = store
        self.index = index
        self.vault = settings.vault
        # Why a file could not be read when it was last tried, by path.
        self._unread: dict[str, str] = {}

    # -- ingesting ---------------------------------------------------------------------------------------------------

    def ingest(self, path: Path, progress: Progress | None = None) -> IngestReport:
        """Take in a file or a folder (recursively). Each file's outcome is in the report; one bad file stops nothing.

        What was taken from a folder earlier and is no longer in it leaves memory, and so does what was taken from a path
        at which there is nothing any more. Raises DocumentError if the path is relative or there never was anything.
        """
        try:
            root = _resolved(path)
        except DocumentError:
            gone = self._gone_below(path)
            if not gone:
                raise
            return IngestReport(self._removed(gone))
        found = list(find_files(root))
        report = self._take(found, progress)
        if root.is_dir():
            report.files += self._leave(root)
        return report

    def refresh(self, progress: Progress | None = None) -> IngestReport:
        """Take in again what is known and still there: edited files, and those an older chunker cut.

        A file is read only when its size or time differs from what it was, so that a round over many costs little.
        """
        known = [self._absolute(row["path"]) for row in self.store.rows("SELECT path FROM documents ORDER BY path")]
        return self._take([Found(path) for path in known if not _is_gone(path)], progress, by_stat=True)

    def _take(self, found: list[Found], progress: Progress | None, *, by_stat: bool = False) -> IngestReport:
        wanted = [one for one in found if not one.excluded]
        report = IngestReport(excluded=len(found) - len(wanted))
        for done, one in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted), _shown(one.path))
            report.files.append(self._one(one, by_stat))
        if progress is not None:
            progress(len(wanted), len(wanted), "")
        self._tally(report)
        return report

    def _leave(self, root: Path) -> list[FileReport]:
        """Forget the documents below a folder whose files are gone: deleted, moved or renamed."""
        names = [source.removeprefix(SOURCE_PREFIX) for source in self.missing()]
        return self._removed([name for name in names if self._absolute(name).is_relative_to(root)])

    def _removed(self, names: list[str]) -> list[FileReport]:
        for name in names:
            self.forget(SOURCE_PREFIX + name)
        return [FileReport(name, "removed", "is gone") for name in names]

    def _one(self, found: Found, by_stat: bool) -> FileReport:
        shown = _shown(found.path)
        try:
            name = self._name(found.path)
            if found.refused:
                raise DocumentError(found.refused)
            row = self.store.row("SELECT * FROM documents WHERE path = ?", (name,))
            if by_stat and row is not None and _untouched(row, found.path) and self._complete(row):
                return _as_before(row)
            content = read_file(found.path)
        except DocumentError as error:
            # Not read: what an earlier ingest took from it stays.
            known = self._unread.get(shown) == error.message
            self._unread[shown] = error.message
            return FileReport(shown, "skipped", error.message, known=known)
        self._unread.pop(shown, None)
        digest = hashlib.sha256(content.data).hexdigest()
        if row is not None and row["sha256"] == digest and self._complete(row):
            self._seen(name, content)
            return _as_before(row)
        return self._replace(name, content, digest)

    def _complete(self, row: Row) -> bool:
        """Whether the passages are there, all of them and as this chunker cuts."""
        source = SOURCE_PREFIX + row["path"]
        there = self.store.value("SELECT count(*) FROM passages WHERE source = ?", (source,))
        return bool(row["chunker"] == CHUNKER and row["chunks"] == there)

    def _seen(self, name: str, content: Content) -> None:
        """The same bytes under another time: the next round needs not read them."""
        with self.store.write() as db:
            db.execute(
                "UPDATE documents SET size = ?, mtime_ns = ?, ingested_at = ? WHERE path = ?",
                (len(content.data), content.mtime_ns, time.time(), name),
            )

    def _replace(self, name: str, content: Content, digest: str) -> FileReport:
        """Parse and write: passages and row in one transaction. A file that is no longer text loses its passages."""
        now = time.time()
        notes: tuple[str, ...] = ()
        passages: list[Passage] = []
        secrets, title, reason = 0, "", ""
        try:
            parsed = parse(name, content.data, now)
            title, secrets = parsed.title, parsed.secrets
            passages, kept_out = self._without_forgotten(self._passages(name, parsed, content, now))
            notes = (*parsed.notes, *([f"{kept_out} passages stay forgotten"] if kept_out else []))
            if not passages:
                reason = "all of it was forgotten"
        except DocumentError as error:
            reason = error.message
        status: Literal["ok", "skipped"] = "skipped" if reason else "ok"
        with self.store.write() as db:
            self.index.replace(SOURCE_PREFIX + name, passages)
            values = (digest, CHUNKER, len(content.data), content.mtime_ns, title, status, reason, len(passages), now)
            _write_row(db, name, values)
            if secrets:
                self.store.count("secrets_redacted", secrets, reason="document")
        return FileReport(name, status, reason, len(passages), notes)

    def _passages(self, name: str, parsed: Parsed, content: Content, now: float) -> list[Passage]:
        source = SOURCE_PREFIX + name
        # A passage keeps its day while its words stay, so that an edit elsewhere in the file re-embeds nothing.
        known = {} if parsed.front.created_at else {one.text: one.created_at for one in self.index.of_source(source)}
        modified = content.mtime_ns / 1e9
        day = parsed.front.created_at or (modified if 0 < modified <= now else now)
        suspect = instruction_like(parsed.title)
        return [
            Passage(
                layer=Layer.VECTORS,
                source=source,
                text=one.text,
                scope=SHARED_SCOPE,
                author=Author.DOCUMENT,
                kind="document",
                ordinal=ordinal,
                context=_context(name, parsed, one),
                title=parsed.title,
                created_at=known.get(one.text, day),
                importance=parsed.front.importance,
                flagged=FLAG if suspect or instruction_like(one.text) else "",
            )
            for ordinal, one in enumerate(parsed.chunks)
        ]

    def _without_forgotten(self, passages: list[Passage]) -> tuple[list[Passage], int]:
        """What the user had forgotten stays so, even when a folder that still holds it is ingested again."""
        forgotten = {row["hash"] for row in self.store.rows("SELECT hash FROM tombstones")}
        kept = [one for one in passages if tombstones.key(SHARED_SCOPE, one.content_hash) not in forgotten]
        return kept, len(passages) - len(kept)

    def _tally(self, report: IngestReport) -> None:
        reasons = Counter(one.reason for one in report.files if one.status == "skipped" and not one.known)
        for reason, count in reasons.items():
            self.store.count("documents_skipped", count, reason=reason)
        noted = [f"{one.path}: {'; '.join(one.notes)}" for one in report.files if one.notes]
        if noted:
            self.store.count("documents_with_notes", len(noted), reason=noted[-1])

    # -- removing ----------------------------------------------------------------------------------------------------

    def _below(self, path: Path) -> list[str]:
        """The names of what is known at a path or below it."""
        name = self._name(path)
        return [
            row["path"]
            for row in self.store.rows("SELECT path FROM documents ORDER BY path")
            if row["path"] == name or self._absolute(row["path"]).is_relative_to(self._absolute(name))
        ]

    def _gone_below(self, path: Path) -> list[str]:
        """The names of what was taken from a path at which there surely is nothing now."""
        try:
            meant = path.resolve()
            return self._below(meant) if path.is_absolute() and _is_gone(meant) else []
        except (OSError, RuntimeError, ValueError):
            return []

    def forget(self, source: str) -> int:
        """Remove one document by its source (`document:<path>`): passages, vectors to come, and row. Returns passages."""
        with self.store.write() as db:
            removed = self.index.remove(source)
            db.execute("DELETE FROM documents WHERE path = ?", (source.removeprefix(SOURCE_PREFIX),))
        return removed

    def forget_passage(self, passage: Passage, now: float) -> int:
        """Take out one passage and its repeats in the same file, so that no later ingest takes them in again.

        A file of which nothing is left is no longer known. Returns how many passages went.
        """
        with self.store.write() as db:
            rest = [one for one in self.index.of_source(passage.source) if one.text != passage.text]
            tombstones.bury(db, SHARED_SCOPE, [passage.content_hash], now)
            removed = self.index.replace(passage.source, rest).removed
            path = passage.source.removeprefix(SOURCE_PREFIX)
            db.execute("UPDATE documents SET chunks = ? WHERE path = ?", (len(rest), path))
            db.execute("DELETE FROM documents WHERE path = ? AND chunks = 0", (path,))
        return removed

    def missing(self) -> list[str]:
        """Sources of ingested files that are no longer where they were. (A drive not mounted looks the same.)"""
        rows = self.store.rows("SELECT path FROM documents ORDER BY path")
        return [SOURCE_PREFIX + row["path"] for row in rows if _is_gone(self._absolute(row["path"]))]

    def health(self) -> Health:
        rows = self.store.rows("SELECT status, count(*) AS files, sum(chunks) AS chunks FROM documents GROUP BY status")
        figures: dict[str, float | int | str] = {row["status"]: row["files"] for row in rows}
        passages = sum(row["chunks"] for row in rows)
        figures["passages"] = passages
        if not passages:
            return Health(State.EMPTY, "no documents", "`memory-os ingest PATH` takes some in.", figures)
        return Health(State.OK, f"{figures.get('ok', 0)} documents, {passages} passages", figures=figures)

    # -- names -------------------------------------------------------------------------------------------------------

    def _name(self, path: Path) -> str:
        """The path as stored: relative to the vault if it lies there, so that host and container agree."""
        where = path.parent.resolve() / path.name
        vault = self.vault.resolve()
        name = str(where.relative_to(vault) if where.is_relative_to(vault) else where)
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DocumentError("has a name that is not UTF-8") from error
        return name

    def _absolute(self, name: str) -> Path:
        return self.vault / name


def _resolved(path: Path) -> Path:
    """The path with its links followed: what the user names is what they mean."""
    if not path.is_absolute():
        raise DocumentError(f"{path} is relative.", cure="Give the absolute path.")
    try:
        return path.resolve(strict=True)
    except FileNotFoundError as error:
        raise DocumentError(f"There is nothing at {_shown(path)}.") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise DocumentError(f"{_shown(path)} can't be read: {error}.") from error


def _as_before(row: Row) -> FileReport:
    status: Literal["unchanged", "skipped"] = "unchanged" if row["status"] == "ok" else "skipped"
    return FileReport(row["path"], status, row["reason"], row["chunks"], known=True)


def _untouched(row: Row, path: Path) -> bool:
    """Whether size and time are those of the last look. A file as young as a clock's step then may have changed since."""
    try:
        now = path.lstat()
    except OSError:
        return False
    settled = row["ingested_at"] - row["mtime_ns"] / 1e9 > SETTLED_S
    return settled and (row["size"], row["mtime_ns"]) == (now.st_size, now.st_mtime_ns)


def _is_gone(path: Path) -> bool:
    """Surely gone, that is; a folder that can't be searched says nothing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _context(name: str, parsed: Parsed, one: Chunk) -> str:
    """File name and heading path; the title has a field of its own. Tags help to find what never names them."""
    headings = one.headings[1:] if one.headings[:1] == (parsed.title,) else one.headings
    path = " › ".join((Path(name).name, *headings))
    return f"{path}\n{', '.join(parsed.front.tags)}" if parsed.front.tags else path


def _write_row(db: sqlite3.Connection, name: str, values: tuple[object, ...]) -> None:
    db.execute(
        "INSERT OR REPLACE INTO documents(path, sha256, chunker, size, mtime_ns, title, status, reason, chunks,"
        " ingested_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, *values),
    )


def _shown(path: Path) -> str:
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")
