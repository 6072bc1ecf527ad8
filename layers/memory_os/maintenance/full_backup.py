"""The weekly full backup: memory.db, configuration, workspace, fabric and wiki in one folder with hashes.

It counts only once it was restored: into a scratch home, where the same questions find the same memories. Vectors are
not copied; memory.db has every embedding, and the first start fills the collection from it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_os import constants
from memory_os.config import Settings, load_settings
from memory_os.errors import BackupError, StoreError
from memory_os.maintenance.copies import backups, stamp
from memory_os.maintenance.duty import Report, Run
from memory_os.maintenance.manifest import File, Manifest, digest, faults, read_manifest
from memory_os.maintenance.questions import Question, answered, questions

if TYPE_CHECKING:
    from memory_os.engine import Engine

DATABASE = "memory.db"
_PREFIX = "full-"
_PARTIAL = ".full-partial-"
_SCRATCH = ".restored-"
# What a restore replaced.
_ASIDE = ("replaced-*", "damaged-*")
# In `meta`: since when a set is missing that went with something forgotten, and the paths of what still holds such a thing.
_PENDING = "full_backup_pending"
_HOLDING = "backups_holding"
PENDING_NOTE = "The full backups held it and are gone; a new one is made within a minute; `memory-os status` shows when it is there."
# Beside what is copied: memory.db once more for the proof, and room for everybody else.
_ROOM_BYTES = 128 * 1024 * 1024
_COUNTED = ("passages", "facts", "messages", "embeddings")


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder that goes into a set, and its name there."""

    name: str
    path: Path


def sources(settings: Settings) -> list[Source]:
    """What a full backup has beside memory.db. The host's own files are copied too, and never written back."""
    found = [
        Source("config.yaml", settings.config_file),
        Source("SOUL.md", settings.soul_file),
        Source("memories", settings.memories_dir),
        Source("fabric", settings.fabric_dir),
    ]
    if settings.values.maintenance.backup_wiki:
        found.append(Source("wiki", settings.vault / "wiki"))
    return [one for one in found if one.path.exists()]


class FullBackup:
    """`reopen` opens a home as the service would; the proof asks it."""

    def __init__(self, engine: Engine, reopen: Callable[[Settings], Engine]) -> None:
        self._engine = engine
        self._settings = engine.settings
        self._store = engine.store
        self._reopen = reopen

    def act(self, run: Run) -> Report:
        """Make a set in the home's backups, prove it, delete the oldest beyond those kept."""
        if run.dry_run:
            return self._preview(self._settings.backups_dir)
        made, proof = self.make(self._settings.backups_dir, run.now)
        gone = self._expire(made)
        more = f", {len(gone)} older deleted" if gone else ""
        return Report(f"{made.name}: {proof}{more}", tuple(str(path) for path in gone))

    def make(self, folder: Path, now: float) -> tuple[Path, str]:
        """A proved set below `folder`. Returns it and what the proof saw.

        Complete or absent. Raises BackupError, StoreError, OSError.
        """
        self._refuse(folder)
        folder.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        self._engine.sessions.off.observe(now)  # a chat that is off now is off in the copy
        with self._store.backing_up:
            sweep(folder)
            target = _free(folder / f"{_PREFIX}{stamp(now)}")
            partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=folder))
            try:
                # Of one moment: what is captured, embedded or forgotten between the two would be missed in the copy.
                with self._store.snapshot():
                    asked = questions(self._store, self._engine.index, now)
                    self._store.backup(partial / DATABASE)
                manifest = self._copy(partial, now)
                proof = self._prove(partial, manifest, asked, folder, now)
                partial.replace(target)
            finally:
                sweep(folder)
            with self._store.write() as db:
                db.execute(
                    "INSERT OR REPLACE INTO backup_sets(path, at, bytes, verified) VALUES(?, ?, ?, ?)",
                    (str(target), now, manifest.bytes, proof),
                )
                if folder == self._settings.backups_dir:
                    self._store.set_meta(_PENDING, "")
        return target, proof

    def listed(self) -> list[dict[str, object]]:
        """The sets that are still there, newest first."""
        rows = self._store.rows("SELECT * FROM backup_sets ORDER BY at DESC")
        return [dict(row) for row in rows if Path(row["path"]).is_dir()]

    def drop(self, now: float, at_this_machine: bool) -> tuple[dict[str, int], list[str], list[str]]:
        """Delete what full backups keep of something that was forgotten; the next set is made within a minute.

        No home is left without a copy of memory.db: one is made first. What a restore set aside may be the only copy of
        something; it goes when a person at this machine forgets, and is named for as long as it stays. Returns how many of
        each went, what is to be said, and what should have gone and is left. Waits for a backup that is being made.
        """
        folder = self._settings.backups_dir
        with self._store.backing_up:
            full, aside = sets(folder), [path for name in _ASIDE for path in folder.glob(name) if path.is_dir()]
            fault = self._copy_first(now) if full else ""
            for path in [*([] if fault else full), *(aside if at_this_machine else [])]:
                shutil.rmtree(path, ignore_errors=True)
            gone = [path for path in full if not path.exists()]
            self._note_dropped(gone, [path for path in (*full, *aside) if path.exists()], now)
        notes = [f"{path} still holds it, a backup that was made there; delete it. Restoring it forgets this again."
                 for path in sorted({str(one["path"]) for one in self.listed()} - {str(one) for one in full})]  # fmt: skip
        left = [f"{path} still holds it: {fault or why_kept(path)}" for path in full if path.exists()]
        kept = [f"{path} still holds it: {why_kept(path)}" for path in aside if path.exists()]
        counts = {"full backups deleted": len(gone), "set-aside copies deleted": len(aside) - len(kept)}
        notes += [PENDING_NOTE] if gone else []
        return (counts, notes, left + kept) if at_this_machine else (counts, notes + kept, left)

    def _note_dropped(self, gone: list[Path], left: list[Path], now: float) -> None:
        """On record: that the next set is due in place of those that are gone, and what of the home's backups is left."""
        with self._store.write() as db:
            db.executemany("DELETE FROM backup_sets WHERE path = ?", [(str(path),) for path in gone])
            if gone:
                db.execute(
                    "INSERT INTO duties(name, due_at) VALUES('full_backup', ?)"
                    " ON CONFLICT(name) DO UPDATE SET due_at = excluded.due_at",
                    (now,),
                )
                self._store.set_meta(_PENDING, str(now))
            self._store.set_meta(_HOLDING, json.dumps(sorted({*self.holding(), *map(str, left)})))

    def holding(self) -> list[str]:
        """Folders in the home's backups that still hold something forgotten."""
        kept = json.loads(self._store.meta(_HOLDING) or "[]")
        return sorted({one for one in kept if Path(one).exists()})

    @property
    def pending(self) -> bool:
        """Whether sets went with something forgotten, and the next one isn't there yet."""
        return bool(self._store.meta(_PENDING))

    def _copy_first(self, now: float) -> str:
        """A copy of memory.db, where there is none. Returns why the sets must stay; "" if they may go."""
        folder = self._settings.backups_dir
        if backups(folder):
            return ""
        try:
            self._store.backup(folder / f"memory-{stamp(now)}.db")
        except (StoreError, sqlite3.Error, OSError) as error:
            return f"no copy of memory.db could be made in its place ({error}). The next full backup replaces it."
        return ""

    def _preview(self, folder: Path) -> Report:
        parts = sources(self._settings)
        lines = [f"{DATABASE}  {self._database_bytes() / 1e6:.1f} MB"]
        lines += [f"{one.name}  {sum(path.stat().st_size for path, _ in files(one)) / 1e6:.1f} MB" for one in parts]
        return Report(f"would copy {len(lines)} parts into {folder}, and prove them by a restore", tuple(lines))

    def _refuse(self, folder: Path) -> None:
        """A backup inside what it copies would copy itself. Raises BackupError; also when there is no room."""
        place = folder.resolve()
        for one in sources(self._settings):
            if place.is_relative_to(one.path.resolve()):
                raise BackupError(f"{folder} lies inside {one.path}, which is part of the backup.", cure="Name another folder.")
        there = next(path for path in (place, *place.parents) if path.exists())
        needed = _ROOM_BYTES + 2 * self._database_bytes()
        needed += sum(path.stat().st_size for one in sources(self._settings) for path, _ in files(one))
        free = shutil.disk_usage(there).free
        if free < needed:
            raise BackupError(
                f"{there} has {free / 1e6:.0f} MB free, and the backup needs {needed / 1e6:.0f} MB.",
                cure="Free some space, or `memory-os backup --to` another disk.",
            )

    def _database_bytes(self) -> int:
        """What a copy takes; the file itself may be smaller while pages stand in the log."""
        return int(self._store.value("PRAGMA page_count")) * int(self._store.value("PRAGMA page_size"))

    def _copy(self, partial: Path, now: float) -> Manifest:
        """Everything beside memory.db, which is there."""
        taken = [File(DATABASE, (partial / DATABASE).stat().st_size, digest(partial / DATABASE))]
        skipped: list[str] = []
        for one in sources(self._settings):
            for path, name in files(one):
                try:
                    taken.append(_copied(path, partial, name))
                except OSError as error:  # deleted or moved meanwhile, or not ours to read
                    skipped.append(f"{name}: {error.strerror}")
        roots = {one.name: str(one.path) for one in sources(self._settings)}
        manifest = Manifest(now, self._store.home_id, taken, _counts(partial / DATABASE), roots, skipped)
        manifest.write(partial)
        return manifest

    def _prove(self, made: Path, manifest: Manifest, asked: list[Question], folder: Path, now: float) -> str:
        """Restore into a scratch home and ask there. Raises BackupError when it isn't the same memory."""
        wrong = faults(made, read_manifest(made))
        if wrong:
            raise BackupError(f"The backup is not what was copied: {'; '.join(wrong[:3])}.", cure="Check the disk.")
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
        try:
            settings = load_settings({}, hermes_home=scratch)
            # With this memory's model: an index of another one takes its embeddings for none.
            values = settings.values.model_copy(update={"embedding": self._settings.values.embedding})
            settings = dataclasses.replace(settings, values=values)
            settings.home.mkdir(mode=constants.DIRECTORY_MODE)
            shutil.copyfile(made / DATABASE, settings.database)
            restored = self._reopen(settings)
            try:
                unanswered = [one for one in asked if not answered(one, restored.index, now)]
            finally:
                restored.close()
            counts = _counts(settings.database)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        if unanswered or counts != manifest.counts:
            raise BackupError(
                f"A restored copy does not answer as memory does: {len(unanswered)} of {len(asked)} questions, {counts}.",
                cure="Run `memory-os doctor`.",
            )
        return f"{len(manifest.files)} files, {manifest.bytes / 1e6:.1f} MB, restored and {len(asked)} questions answered"

    def _expire(self, newest: Path) -> list[Path]:
        keep = self._settings.values.maintenance.backups_kept
        older = [path for path in sets(newest.parent) if path != newest]
        holding = self.holding()
        old = [path for path in older if path in older[: max(0, len(older) + 1 - keep)] or str(path) in holding]
        for path in old:
            shutil.rmtree(path, ignore_errors=True)
        with self._store.write() as db:
            db.executemany("DELETE FROM backup_sets WHERE path = ?", [(str(path),) for path in old])
        return old


def why_kept(path: Path) -> str:
    """Why a folder of the home's backups still holds what was forgotten, and what to do."""
    if path.match(f"{_PREFIX}*"):
        return "it could not be deleted yet; the next full backup replaces it, or delete the folder."
    return (
        "a restore set it aside, and it may be the only copy of what is in it. Delete the folder, or forget something at"
        " this machine (`memory-os forget`): that deletes it too."
    )


def sets(folder: Path) -> list[Path]:
    """The full backups in a folder, oldest first."""
    return sorted(path for path in folder.glob(f"{_PREFIX}*") if path.is_dir() and not path.is_symlink())


def sweep(folder: Path) -> None:
    """Delete what backups that failed or were killed left in a folder. The caller holds `Store.backing_up`."""
    for pattern in (_PARTIAL, _SCRATCH):
        for path in folder.glob(f"{pattern}*"):
            shutil.rmtree(path, ignore_errors=True)


def files(source: Source) -> Iterator[tuple[Path, str]]:
    """Regular files of a source with their names in a set. Links are not followed: what they point at is not ours."""
    if source.path.is_symlink() or not source.path.is_dir():
        if source.path.is_file() and not source.path.is_symlink():
            yield source.path, source.name
        return
    for folder, folders, names in os.walk(source.path):
        folders[:] = sorted(one for one in folders if not (Path(folder) / one).is_symlink())
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path, f"{source.name}/{path.relative_to(source.path).as_posix()}"


def _copied(path: Path, partial: Path, name: str) -> File:
    target = partial / name
    for folder in reversed(target.relative_to(partial).parents):
        (partial / folder).mkdir(exist_ok=True, mode=constants.DIRECTORY_MODE)
    shutil.copy2(path, target, follow_symlinks=False)
    target.chmod(constants.FILE_MODE)
    return File(name, target.stat().st_size, digest(target))


def _counts(database: Path) -> dict[str, int]:
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in _COUNTED}


def _free(path: Path) -> Path:
    """This name, or the next one that nothing has."""
    number, free = 1, path
    while free.exists():
        number, free = number + 1, path.with_name(f"{path.name}-{number}")
    return free
