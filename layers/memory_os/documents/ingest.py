"""Ingest: files become passages, a file's passages replaced as a whole and only when it changed.

`scan` says what differs, `settle` does what needs no reading (renames, deletions), `take` reads, cuts and commits a file
in this process. With a queue, workers `prepare` and the service commits.
"""

from __future__ import annotations

import hashlib
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from memory_os.config import Settings
from memory_os.documents.commit import Commits
from memory_os.documents.files import is_gone, read_file, status_of
from memory_os.documents.prepare import Prepared, prepare, source_of
from memory_os.documents.report import FileReport, IngestReport, Progress
from memory_os.documents.rows import Documented
from memory_os.documents.scan import (
    Changes,
    Known,
    Refused,
    Root,
    Scan,
    Seen,
    Stillness,
    name_of,
    shown,
    stands_in,
)
from memory_os.errors import DocumentError, DocumentUnreadable
from memory_os.index import Index
from memory_os.memory import Health, State
from memory_os.store import Store

__all__ = ["Documents"]

WIKI = "wiki"
# A file that changes under our eyes is read again so often before it is left to the next look.
_READS = 3


class Documents:
    """The documents the user handed over. Reads their files and never writes them. Thread-safe."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self.store = store
        self.index = index
        self.vault = settings.vault
        self.settings = settings.values.documents
        self._hermes_home = settings.hermes_home
        self._own = _own_folders(settings)
        self.rows = Documented(store)
        self._commits = Commits(store, index, self.rows, settings.vault)
        self.commit = self._commits.commit
        self.forget = self._commits.forget
        self.forget_passages = self._commits.forget_passages
        # Set to let a long ingest end at its next file.
        self.halted = threading.Event()
        # Where there are workers: takes what must be read and cut off our hands, or says no.
        self.hand_over: Callable[[Sequence[Seen]], bool] = lambda wanted: False
        self._stillness = Stillness(self.settings.settle_s)
        self._scanning = threading.Lock()
        self._last = Changes()

    # -- what differs ------------------------------------------------------------------------------------------------

    def roots(self) -> list[Root]:
        """What is followed: the vault's wiki, and what `ingest` was given."""
        if not self.settings.follow:
            return []
        vault = self._vault()
        stored = self.rows.roots(vault)
        wiki = vault / WIKI
        return stored if any(root.path == wiki for root in stored) else [Root(wiki), *stored]

    def scan(self, roots: Sequence[Root] | None = None, *, now: float | None = None, thorough: bool = False) -> Changes:
        """What differs between the files and memory, by size and time. Writes nothing.

        Without `roots` everything that is followed or known is looked at; what is known and not followed is read again when
        it changes, and never leaves by itself. `thorough`: nothing waits to come to rest, and
        what looks untouched is listed as changed, to be read.
        """
        vault = self._vault()
        known = self.rows.known()
        everything = roots is None
        if roots is None:
            roots = self.roots()
        else:
            known = _below(known, vault, roots)
        with self._scanning:
            scan = Scan(vault, known, self._stillness, thorough=thorough, own=self._own)
            found = scan.run(roots, time.time() if now is None else now, loose=everything)
            if not found.waiting:
                self._stillness.forget_gone()
        if everything:
            self._last = found
        return found

    def settle(self, changes: Changes) -> IngestReport:
        """Do what needs no reading: renames and deletions; count what is refused, once a reason. What is left is `to_prepare`."""
        report = IngestReport(excluded=changes.excluded)
        report.files += [one for renamed in changes.renamed if (one := self._commits.rename(renamed))]
        report.files += self._removed(changes.deleted)
        report.files += self._refuse(changes.refused)
        for root in self.roots():
            self._note_device(root)
        return report

    def refresh(self, progress: Progress | None = None) -> IngestReport:
        """Bring memory in step with what is followed and known; what must be read is left to workers where there are any.

        A file is read only when its size or time differs from what it was, so that a round over many costs little.
        """
        changes = self.scan()
        report = self.settle(changes)
        if not self.hand_over(changes.to_prepare):
            self._take_all(changes.to_prepare, report, progress)
        report.files += [FileReport(one.name, "stale", "is still being written") for one in changes.waiting]
        report.look_again_s = changes.look_again_s
        return report

    # -- taking in ---------------------------------------------------------------------------------------------------

    def ingest(self, path: Path, progress: Progress | None = None) -> IngestReport:
        """Take in a file or a folder (recursively). Each file's outcome is in the report; one bad file stops nothing.

        What was taken from a folder earlier and is no longer in it leaves memory, and so does what was taken from a path
        at which there is nothing any more. Raises DocumentError if the path is relative, there never was anything, or it is
        Hermes's home or a folder in which Hermes and memory-os keep what is theirs.
        """
        try:
            root = _resolved(path)
        except DocumentError:
            gone = self._gone_below(path)
            if not gone:
                raise
            self.rows.unfollow(self._vault(), path.resolve())
            return IngestReport(self._removed(gone))
        if root == self._hermes_home.resolve() or stands_in(root, {str(own) for own in self._own}):
            raise DocumentError(
                f"{shown(root)} is where Hermes and memory-os keep their own files: those are no documents.",
                cure="Name a folder with documents, or copy them into the vault's wiki/raw.",
            )
        changes = self.scan([Root(root)], thorough=True)
        report = self.settle(changes)
        self._take_all(changes.to_prepare, report, progress)
        self._follow(root)
        return report

    def take(self, seen: Seen) -> FileReport:
        """Read, cut and commit one file here and now."""
        return self._take(seen.name)

    def _take_all(self, wanted: Sequence[Seen], report: IngestReport, progress: Progress | None) -> None:
        for done, seen in enumerate(wanted):
            if self.halted.is_set():
                return
            if progress is not None:
                progress(done, len(wanted), shown(self.vault / seen.name))
            report.files.append(self._take(seen.name))
        if progress is not None:
            progress(len(wanted), len(wanted), "")

    def _take(self, name: str) -> FileReport:
        report = FileReport(name, "stale")
        for _ in range(_READS):
            try:
                report = self.commit(self._prepared(name))
            except DocumentUnreadable as error:  # gone meanwhile
                return FileReport(name, "skipped", error.message)
            if report.status != "stale":
                break
        return report

    def _prepared(self, name: str) -> Prepared:
        """Raises DocumentUnreadable if the file is gone."""
        try:
            content = read_file(self.vault / name)
        except DocumentUnreadable as error:
            if error.gone:
                raise
            return Prepared.unread(name, error)
        digest = hashlib.sha256(content.data).hexdigest()
        if self.rows.has(self.rows.row(name), digest):  # no need to cut it again
            return Prepared(name, digest, len(content.data), content.mtime_ns)
        return prepare(name, content.data, content.mtime_ns, time.time())

    def allow(self, name: str) -> None:
        """Raises DocumentError, counted, unless a worker may deliver this file: followed or known, regular, and named as a
        scan names it. Where there is nothing any more, nothing can be taken in either.
        """
        if self._is_ours(name) or is_gone(self.vault / name):
            return
        self.store.count("documents_not_followed", reason=shown(Path(name)))
        raise DocumentError(f"{shown(Path(name))} lies in no folder that is followed.", cure="`memory-os ingest` follows it.")

    def _is_ours(self, name: str) -> bool:
        vault = self._vault()
        path = vault / name
        if ".." in path.parts:
            return False
        try:
            real = path.parent.resolve() / path.name
            status = status_of(real)
            if name_of(real, vault) != name:
                return False
        except (OSError, RuntimeError, DocumentError):
            return False
        known = self.rows.row(name) is not None
        if status is None or not stat.S_ISREG(status.st_mode):
            return known
        return known or stands_in(real, {str(root.path) for root in self.roots()})

    # -- leaving, moving ---------------------------------------------------------------------------------------------

    def _removed(self, names: Iterable[str]) -> list[FileReport]:
        for name in names:
            self.forget(source_of(name))
        return [FileReport(name, "removed", "is gone") for name in names]

    def _refuse(self, refused: Sequence[Refused]) -> list[FileReport]:
        counted = self.rows.refused()
        fresh = [one for one in refused if counted.get(one.name) != one.reason]
        gone = [name for name in counted.keys() - {one.name for one in refused} if is_gone(self.vault / name)]
        if fresh or gone:
            self.rows.refuse(fresh, gone)
        for one in fresh:
            self.store.count("documents_skipped", reason=f"{one.name}: {one.reason}")
        return [FileReport(one.name, "skipped", one.reason) for one in refused]

    def _gone_below(self, path: Path) -> list[str]:
        """The names of what was taken from a path at which there surely is nothing now."""
        try:
            meant = path.resolve()
            if not path.is_absolute() or not is_gone(meant):
                return []
        except (OSError, RuntimeError, ValueError):
            return []
        return sorted(_below(self.rows.known(), self._vault(), [Root(meant)]))

    def missing(self) -> list[str]:
        """Sources of ingested files that are no longer where they were. (A drive not mounted looks the same.)"""
        return [source_of(name) for name in self.rows.names() if is_gone(self.vault / name)]

    # -- following ---------------------------------------------------------------------------------------------------

    def _follow(self, path: Path) -> None:
        if self.settings.follow:
            self._note_device(Root(path))

    def _note_device(self, root: Root) -> None:
        try:
            device = root.path.stat().st_dev
            name = name_of(root.path, self._vault())
        except (OSError, DocumentError):
            return
        if device != root.device:
            self.rows.follow(name, device, time.time())

    def _vault(self) -> Path:
        return self.vault.resolve()

    def health(self) -> Health:
        """How many files in which state; what waits, is refused or away as the last scan saw it."""
        rows = self.store.rows("SELECT status, count(*) AS files, sum(chunks) AS chunks FROM documents GROUP BY status")
        figures: dict[str, float | int | str] = {row["status"]: row["files"] for row in rows}
        passages = sum(row["chunks"] for row in rows)
        figures["passages"] = passages
        last = self._last
        seen = {"waiting": len(last.waiting), "refused": len(last.refused), "away": len(last.away)}
        figures.update({name: number for name, number in seen.items() if number})
        if last.away:
            detail = f"{last.away[0]} is not there; what was taken from it stays"
            return Health(State.DEGRADED, detail, "Mount it, or `memory-os ingest` its path to let it go.", figures)
        if not passages:
            return Health(State.EMPTY, "no documents", "`memory-os ingest PATH` takes some in.", figures)
        aside = self._untaken(int(figures.get("skipped", 0)) + int(figures.get("unreadable", 0)))
        aside += f"; {figures['waiting']} still being written" if last.waiting else ""
        taken = int(figures.get("ok", 0))
        detail = f"{taken} document{'s' * (taken != 1)}, {passages} passage{'s' * (passages != 1)}{aside}"
        return Health(State.OK, detail, figures=figures)

    def _untaken(self, count: int) -> str:
        """How many files could not be taken, and of the last two which and why."""
        if not count:
            return ""
        last = self.store.rows(
            "SELECT path, reason FROM documents WHERE status IN ('skipped', 'unreadable') ORDER BY ingested_at DESC LIMIT 2"
        )
        told = [f"{Path(row['path']).name}: {row['reason']}" for row in last]
        return f"; {count} could not be taken ({'; '.join([*told, *(['…'] if count > len(told) else [])])})"


def _below(known: Mapping[str, Known], vault: Path, roots: Sequence[Root]) -> dict[str, Known]:
    """What of it lies at or below one of some roots."""
    folders = {str(root.path) for root in roots}
    return {name: one for name, one in known.items() if stands_in(vault / name, folders)}


def _own_folders(settings: Settings) -> frozenset[Path]:
    """Folders in which Hermes and memory-os keep what is theirs, resolved: one user's memories and logs are no documents for all."""
    host = settings.hermes_home
    own = (settings.home, settings.memories_dir, host / "logs", host / "sessions")
    vault = settings.vault.resolve()
    return frozenset(folder for one in own if not vault.is_relative_to(folder := one.resolve()))


def _resolved(path: Path) -> Path:
    """The path with its links followed: what the user names is what they mean."""
    if not path.is_absolute():
        raise DocumentError(f"{path} is relative.", cure="Give the absolute path.")
    try:
        return path.resolve(strict=True)
    except FileNotFoundError as error:
        raise DocumentError(f"There is nothing at {shown(path)}.") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise DocumentError(f"{shown(path)} can't be read: {error}.") from error
