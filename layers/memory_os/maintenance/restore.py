"""Putting a backup back: everything is read and checked first, then what it replaces is moved aside, never deleted.

Written back: memory.db and CREATIVE.md, which are ours; config.yaml where none is; and files that are missing in the fabric
and the wiki, which others write too. A config.yaml that is there stays: an older one might open again what was closed since.
MEMORY.md, USER.md and SOUL.md belong to Hermes and the user: they stay as they are. Vectors are derived again. What was
forgotten since the backup was made stays forgotten, and what was said with memory off stays out.

The caller holds the home's lock: no service runs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memory_os import constants
from memory_os.config import Settings, load_settings
from memory_os.errors import BackupError, StoreError, StoreNewer
from memory_os.maintenance.carried_over import apply, carried_over, read_only
from memory_os.maintenance.copies import stamp
from memory_os.maintenance.full_backup import DATABASE
from memory_os.maintenance.manifest import MANIFEST, Manifest, digest, faults, inside, read_manifest
from memory_os.maintenance.placing import Placing, config_without, placing
from memory_os.sessions.off import open_periods, switch_off_again
from memory_os.store import is_damage
from memory_os.store.schema import SCHEMA_VERSION
from memory_os.workspace import CREATIVE_FILE

# The write-ahead log and its index belong to the file: a log of the old one must not be played into the new.
SIDE_FILES = ("-wal", "-shm")
_SHARED = ("fabric", "wiki")
_STAGING = ".restoring-"


@dataclass(slots=True)
class Plan:
    """What a restore does, file by file. `left` is what stays as it is, and why."""

    source: str
    database: Path
    put: list[tuple[Path, Path]] = field(default_factory=list)  # (from the backup, to), replacing what is there
    add: list[tuple[Path, Path]] = field(default_factory=list)  # (from the backup, to), where nothing is
    without: tuple[str, ...] = ()  # keys that config.yaml is put back without
    left: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For a person."""
        return [
            f"memory.db from {self.database}",
            *(f"{target} replaced" for _, target in self.put),
            *(f"{target} put back" for _, target in self.add),
            *(f"left: {one}" for one in self.left),
        ]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place, by path, beside memory.db. `kept` is the folder with what was there before; `forgotten_again`
    counts memories, `off_again` chats."""

    source: str
    kept: str
    replaced: list[str]
    added: list[str]
    forgotten_again: int
    off_again: int
    left: list[str]

    @property
    def line(self) -> str:
        """For a person."""
        more = f", {len(self.added)} missing files put back" if self.added else ""
        more += f", {', '.join(Path(one).name for one in self.replaced)} replaced" if self.replaced else ""
        count = self.forgotten_again
        again = f"; {count} {'memory stays' if count == 1 else 'memories stay'} forgotten" if count else ""
        if self.off_again:
            again += f"; memory is off in {self.off_again} {'chat' if self.off_again == 1 else 'chats'}, as it was then"
        return f"memory.db restored from {self.source}{more}{again}; what was there is kept in {self.kept}"

    @property
    def lines(self) -> list[str]:
        """The same, with every file that was replaced, put back, or left as it is."""
        return [
            self.line,
            *(f"{one} replaced" for one in self.replaced),
            *(f"{one} put back" for one in self.added),
            *(f"left: {one}" for one in self.left),
        ]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(settings: Settings, path: Path) -> Plan:
    """What restoring `path` would do: a full backup's folder, a copy of memory.db, or a folder that holds one.

    Raises BackupError (no backup, or not what its manifest says), StoreNewer, StoreError (not readable).
    """
    path = path.expanduser().absolute()
    if path.is_file():
        _check_database(path)
        return Plan(str(path), path, left=["everything but memory.db: this is a copy of it alone"])
    if not (path / MANIFEST).exists():
        if (path / DATABASE).is_file():
            return plan(settings, path / DATABASE)
        raise BackupError(f"{path} is no backup.", cure="Name a folder `full-…` or a file `memory-….db`.")
    manifest = read_manifest(path)
    wrong = faults(path, manifest)
    if wrong:
        raise BackupError(f"{path} is not as it was made: {'; '.join(wrong[:3])}.", cure="Take another backup.")
    _check_database(path / DATABASE)
    return _planned(settings, path, manifest)


def put_back(settings: Settings, wanted: Plan, now: float) -> Restored:
    """Do it. Raises StoreError, BackupError or OSError; until everything is staged nothing was changed.

    Once memory.db is in place, a file that can't be written is named and stops no other.
    """
    settings.home.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
    settings.backups_dir.mkdir(exist_ok=True, mode=constants.DIRECTORY_MODE)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=settings.home))
    replaced: list[str] = []
    added: list[str] = []
    left = list(wanted.left)
    try:
        staged = _staged(settings, wanted, staging)
        kept = Path(tempfile.mkdtemp(prefix=f"replaced-{stamp(now)}-", dir=settings.backups_dir))
        _move_aside([settings.database, *(Path(f"{settings.database}{suffix}") for suffix in SIDE_FILES)], kept)
        staged.database.replace(settings.database)
        off_again = switch_off_again(settings.home, staged.off)
        for source, target in wanted.put + wanted.add:
            was_there = target.exists()
            if was_there and (source, target) in wanted.add:
                continue  # somebody wrote it meanwhile
            try:
                _copy(source, target, kept, wanted.without if target == settings.config_file else ())
            except OSError as error:
                left.append(f"{target} could not be written ({error.strerror}); the copy is {source}")
            else:
                (replaced if was_there else added).append(str(target))
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Restored(wanted.source, str(kept), replaced, added, staged.forgotten, off_again, left)


def _planned(settings: Settings, path: Path, manifest: Manifest) -> Plan:
    config = next((inside(path, file.path) for file in manifest.files if file.path == "config.yaml"), None)
    places = placing(settings, config)
    found = Plan(str(path), path / DATABASE, without=tuple(places.without))
    forgotten = carried_over(settings.database).entry_ids
    for file in manifest.files:
        source = inside(path, file.path)
        root, _, rest = file.path.partition("/")
        if file.path == "config.yaml":
            _configure(found, settings, source, places)
        elif file.path == f"memories/{CREATIVE_FILE}":
            _choose(found, source, settings.memories_dir / CREATIVE_FILE)
        elif root in _SHARED:
            _missing(found, source, inside(places.roots[root], rest), file.sha256, forgotten)
        elif file.path != DATABASE:
            found.left.append(f"{file.path} is Hermes's and yours; the copy is {source}")
    return found


def _configure(found: Plan, settings: Settings, source: Path, places: Placing) -> None:
    """The configuration that is there stays: what it keeps private, an older one may not open again unasked."""
    target = settings.config_file
    if places.refused:
        found.left.append(f"{source} is not put back: {places.refused}")
    elif not target.exists():
        found.add.append((source, target))
        found.left += places.notes
    elif digest(target) != digest(source):
        found.left.append(f"{target} stays as it is; the backup's differs from it: {source}")


def _choose(found: Plan, source: Path, target: Path) -> None:
    if not target.exists():
        found.add.append((source, target))
    elif digest(target) != digest(source):
        found.put.append((source, target))


def _missing(found: Plan, source: Path, target: Path, sha256: str, forgotten: Iterable[str]) -> None:
    """Only what isn't there: others write here, and may have done so since."""
    if any(name in target.name for name in forgotten):
        found.left.append(f"{target} was forgotten since")
    elif not target.exists():
        found.add.append((source, target))
    elif digest(target) != sha256:
        found.left.append(f"{target} was changed since; the copy is {source}")


@dataclass(frozen=True, slots=True)
class _Staged:
    """memory.db as it will stand; what was `forgotten` again, and the chats that are `off` in it alone (digest, since)."""

    database: Path
    forgotten: int
    off: list[tuple[str, float]]


def _staged(settings: Settings, wanted: Plan, staging: Path) -> _Staged:
    """Opened and closed once by this version."""
    home = staging / "home"
    staged = load_settings({}, hermes_home=home)
    staged.home.mkdir(parents=True, mode=constants.DIRECTORY_MODE)
    shutil.copyfile(wanted.database, staged.database)
    log = Path(f"{wanted.database}-wal")
    if log.exists() and not (wanted.database.parent / MANIFEST).exists():  # set aside after a crash: the last turns are in it
        shutil.copyfile(log, f"{staged.database}-wal")
    # Imported late: the engine has maintenance among its parts.
    from memory_os.engine import Engine

    known = carried_over(settings.database)
    engine = Engine.open(staged)
    try:
        again = apply(engine, known)
        with engine.store.write() as db:
            # Vectors of this collection may belong to a later text with the same id: all are written anew.
            db.execute("UPDATE passages SET indexed = 0")
            db.execute("DELETE FROM deleted_points")
            if again:  # deleted words leave the full-text segments too
                db.execute("INSERT INTO passages_fts(passages_fts) VALUES('optimize')")
        if again:
            engine.store.vacuum()
        here = {(name, since) for name, since, _ in known.periods}
        off = [one for one in open_periods(engine.store) if one not in here]
        engine.store.checkpoint()
    finally:
        engine.close()
    staged.database.chmod(constants.FILE_MODE)
    return _Staged(staged.database, again, off)


def _check_database(path: Path) -> None:
    """Raises BackupError for what is damaged or not ours, StoreNewer, StoreError for what can't be read now."""
    try:
        with read_only(path) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            findings = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)")]
    except sqlite3.Error as error:
        if is_damage(error):
            raise BackupError(f"{path} is damaged: {error}.", cure="Take another backup.") from error
        raise StoreError(f"{path} can't be read now: {error}.", cure="Check its owner and mode.") from error
    if version > SCHEMA_VERSION:
        raise StoreNewer(f"{path} was written by a newer memory-os (schema {version}).", cure="Upgrade memory-os.")
    if findings != ["ok"] or not {"passages", "meta"} <= names:
        raise BackupError(f"{path} is no sound memory.db: {'; '.join(findings)}.", cure="Take another backup.")


def _move_aside(paths: Iterable[Path], kept: Path) -> None:
    for path in paths:
        if path.exists():
            try:
                path.rename(kept / path.name)
            except OSError:  # another file system
                shutil.copy2(path, kept / path.name)
                path.unlink()


def _copy(source: Path, target: Path, kept: Path, without: tuple[str, ...]) -> None:
    """Complete or not at all; what is there is moved aside once all of it is written. `without`: keys of a config.yaml."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.restoring")
    try:
        if without:
            partial.write_bytes(config_without(source, without))
        else:
            shutil.copyfile(source, partial)
        partial.chmod(constants.FILE_MODE)
        _move_aside([target], kept)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
