"""Putting a backup back: everything is read and checked first, then what it replaces is moved aside, never deleted.

Written back: memory.db, config.yaml and CREATIVE.md, which are ours; and files that are missing in the fabric and the wiki,
which others write too. MEMORY.md, USER.md and SOUL.md belong to Hermes and the user: they stay as they are. Vectors are
derived again. What was forgotten since the backup was made stays forgotten.

The caller holds the home's lock: no service runs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_os import constants
from memory_os.config import Settings, load_settings
from memory_os.errors import BackupError, StoreError, StoreNewer
from memory_os.maintenance.copies import stamp
from memory_os.maintenance.full_backup import DATABASE
from memory_os.maintenance.manifest import MANIFEST, Manifest, digest, faults, inside, read_manifest
from memory_os.memory import SHARED_SCOPE, Scope, content_hash
from memory_os.store import is_damage, tombstones
from memory_os.store.schema import SCHEMA_VERSION
from memory_os.workspace import CREATIVE_FILE

if TYPE_CHECKING:
    from memory_os.engine import Engine

# The write-ahead log and its index belong to the file: a log of the old one must not be played into the new.
SIDE_FILES = ("-wal", "-shm")
_SHARED = ("fabric", "wiki")
_STAGING = ".restoring-"
# A shorter id may stand in any name.
_ID_LEAST = 6


@dataclass(slots=True)
class Plan:
    """What a restore does, file by file. `left` is what stays as it is, and why."""

    source: str
    database: Path
    put: list[tuple[Path, Path]] = field(default_factory=list)  # (from the backup, to), replacing what is there
    add: list[tuple[Path, Path]] = field(default_factory=list)  # (from the backup, to), where nothing is
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
    """What was put in place. `kept` is the folder with what was there before; `forgotten_again` counts memories."""

    source: str
    kept: str
    replaced: int
    added: int
    forgotten_again: int
    left: list[str]

    @property
    def line(self) -> str:
        """For a person."""
        more = f", {self.added} missing files put back" if self.added else ""
        count = self.forgotten_again
        again = f"; {count} {'memory stays' if count == 1 else 'memories stay'} forgotten" if count else ""
        return f"memory.db restored from {self.source}{more}{again}; what was there is kept in {self.kept}"

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
    """Do it. Raises StoreError, BackupError or OSError; until everything is staged nothing was changed."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
    settings.backups_dir.mkdir(exist_ok=True, mode=constants.DIRECTORY_MODE)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=settings.home))
    try:
        database, again = _staged(settings, wanted, staging, now)
        kept = Path(tempfile.mkdtemp(prefix=f"replaced-{stamp(now)}-", dir=settings.backups_dir))
        current = [settings.database, *(Path(f"{settings.database}{suffix}") for suffix in SIDE_FILES)]
        replaced = _move_aside(current, kept)
        database.replace(settings.database)
        for source, target in wanted.put:
            replaced += _move_aside([target], kept)
            _copy(source, target)
        for source, target in wanted.add:
            if not target.exists():
                _copy(source, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Restored(wanted.source, str(kept), replaced, len(wanted.add), again, wanted.left)


def _planned(settings: Settings, path: Path, manifest: Manifest) -> Plan:
    found = Plan(str(path), path / DATABASE)
    forgotten = _forgotten_entries(settings)
    roots = {"fabric": settings.fabric_dir, "wiki": settings.vault / "wiki"}
    for file in manifest.files:
        source = inside(path, file.path)
        root, _, rest = file.path.partition("/")
        if file.path == "config.yaml":
            _choose(found, source, settings.config_file)
        elif file.path == f"memories/{CREATIVE_FILE}":
            _choose(found, source, settings.memories_dir / CREATIVE_FILE)
        elif root in _SHARED:
            _missing(found, source, inside(roots[root], rest), file.sha256, forgotten)
        elif file.path != DATABASE:
            found.left.append(f"{file.path} is Hermes's and yours; the copy is {source}")
    return found


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


def _staged(settings: Settings, wanted: Plan, staging: Path, now: float) -> tuple[Path, int]:
    """memory.db as it will stand, opened and closed once by this version. Returns it, and what was forgotten again."""
    home = staging / "home"
    staged = load_settings({}, hermes_home=home)
    staged.home.mkdir(parents=True, mode=constants.DIRECTORY_MODE)
    shutil.copyfile(wanted.database, staged.database)
    # Imported late: the engine has maintenance among its parts.
    from memory_os.engine import Engine

    since = _since(settings)
    engine = Engine.open(staged)
    try:
        again = _forget_again(engine, since, now)
        with engine.store.write() as db:
            # Vectors of this collection may belong to a later text with the same id: all are written anew.
            db.execute("UPDATE passages SET indexed = 0")
            db.execute("DELETE FROM deleted_points")
            if again:  # deleted words leave the full-text segments too
                db.execute("INSERT INTO passages_fts(passages_fts) VALUES('optimize')")
        if again:
            engine.store.vacuum()
        engine.store.checkpoint()
    finally:
        engine.close()
    staged.database.chmod(constants.FILE_MODE)
    return staged.database, again


@dataclass(frozen=True, slots=True)
class _Since:
    """What the memory that is replaced knows and an older one must: what was forgotten, and where backups were made."""

    texts: dict[str, float] = field(default_factory=dict)  # tombstones: key -> when
    entries: list[tuple[str, float]] = field(default_factory=list)  # of the fabric: ref, when
    backups: list[tuple[str, float, int, str]] = field(default_factory=list)


def _since(settings: Settings) -> _Since:
    """Empty where there is no memory, or it can't be read any more."""
    if settings.database.exists():
        with suppress(sqlite3.Error), closing(_read_only(settings.database)) as db:
            return _Since(
                {row[0]: float(row[1]) for row in db.execute("SELECT hash, forgotten_at FROM tombstones")},
                [tuple(row) for row in db.execute("SELECT ref, at FROM fabric_forgotten")],
                [tuple(row) for row in db.execute("SELECT path, at, bytes, verified FROM backup_sets")],
            )
    return _Since()


def _forgotten_entries(settings: Settings) -> list[str]:
    """Ids of fabric entries that were forgotten; they stand in the names of their files."""
    ids = (ref.rpartition(":")[2] for ref, _ in _since(settings).entries)
    return [one for one in ids if len(one) >= _ID_LEAST]


def _forget_again(engine: Engine, since: _Since, now: float) -> int:
    """Take out of an old memory what a later one had forgotten. Returns how many memories went."""
    count = _forget_texts(engine, since.texts, now)
    for ref, _ in since.entries:
        count += engine.index.remove(f"fabric:{ref}")
    with engine.store.write() as db:
        db.executemany(
            "INSERT INTO tombstones(hash, forgotten_at) VALUES(?, ?)"
            " ON CONFLICT(hash) DO UPDATE SET forgotten_at = max(forgotten_at, excluded.forgotten_at)",
            list(since.texts.items()),
        )
        db.executemany("INSERT OR REPLACE INTO fabric_forgotten(ref, at) VALUES(?, ?)", since.entries)
        db.executemany("DELETE FROM fabric_entries WHERE ref = ?", [(ref,) for ref, _ in since.entries])
        db.executemany("INSERT OR IGNORE INTO backup_sets(path, at, bytes, verified) VALUES(?, ?, ?, ?)", since.backups)
    return count


def _forget_texts(engine: Engine, buried: dict[str, float], now: float) -> int:
    store, count = engine.store, 0
    for row in store.rows("SELECT id, scope, text, created_at FROM facts"):
        key = tombstones.key(row["scope"], content_hash(row["text"]))
        if buried.get(key, -1.0) >= row["created_at"]:
            count += len(engine.facts.forget(row["id"], now))
    for row in store.rows("SELECT id, scope, content_hash, said_at FROM messages"):
        if buried.get(tombstones.key(row["scope"], row["content_hash"]), -1.0) >= row["said_at"]:
            profile, _, user = row["scope"].partition("/")
            count += engine.sessions.forget([row["id"]], Scope(user, profile), now)
    for row in store.rows("SELECT source, content_hash FROM passages WHERE scope = ?", (SHARED_SCOPE,)):
        if tombstones.key(SHARED_SCOPE, row["content_hash"]) in buried:
            passages = engine.index.of_source(row["source"])
            engine.index.replace(row["source"], [one for one in passages if one.content_hash != row["content_hash"]])
            count += 1
    return count


def _check_database(path: Path) -> None:
    """Raises BackupError for what is damaged or not ours, StoreNewer, StoreError for what can't be read now."""
    try:
        with closing(_read_only(path)) as db:
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


def _read_only(path: Path) -> sqlite3.Connection:
    # Nobody has it open where no log is: then not even SQLite's side files are made.
    unused = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{unused}", uri=True, timeout=5)


def _move_aside(paths: Iterable[Path], kept: Path) -> int:
    moved = 0
    for path in paths:
        if path.exists():
            try:
                path.rename(kept / path.name)
            except OSError:  # another file system
                shutil.copy2(path, kept / path.name)
                path.unlink()
            moved += 1
    return moved


def _copy(source: Path, target: Path) -> None:
    """Complete or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.restoring")
    shutil.copyfile(source, partial)
    partial.chmod(constants.FILE_MODE)
    partial.replace(target)
