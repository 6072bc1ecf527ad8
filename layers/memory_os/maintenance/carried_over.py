"""What the memory that a restore replaces knows, and an older one must: what was forgotten, and when chats were off."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_os.memory import SHARED_SCOPE, Scope, content_hash
from memory_os.sessions.off import carry_periods
from memory_os.store import tombstones

if TYPE_CHECKING:
    from memory_os.engine import Engine

# A shorter id may stand in any name.
_ID_LEAST = 6


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """Rows of the replaced memory. Times are epoch seconds."""

    texts: dict[str, float] = field(default_factory=dict)  # tombstones: key -> when
    entries: list[tuple[str, float]] = field(default_factory=list)  # of the fabric: ref, when
    backups: list[tuple[str, float, int, str]] = field(default_factory=list)
    periods: list[tuple[str, float, float | None]] = field(default_factory=list)  # chats without memory: digest, since, until

    @property
    def entry_ids(self) -> list[str]:
        """Ids of fabric entries that were forgotten; they stand in the names of their files."""
        ids = (ref.rpartition(":")[2] for ref, _ in self.entries)
        return [one for one in ids if len(one) >= _ID_LEAST]


def carried_over(database: Path) -> CarriedOver:
    """What can be read of it: a table that is damaged or isn't there is empty."""
    if not database.exists():
        return CarriedOver()

    def rows(sql: str) -> list[tuple[Any, ...]]:
        with suppress(sqlite3.Error), read_only(database) as db:
            return db.execute(sql).fetchall()
        return []

    return CarriedOver(
        {row[0]: float(row[1]) for row in rows("SELECT hash, forgotten_at FROM tombstones")},
        rows("SELECT ref, at FROM fabric_forgotten"),
        rows("SELECT path, at, bytes, verified FROM backup_sets"),
        rows("SELECT digest, since, until FROM off_periods"),
    )


def apply(engine: Engine, known: CarriedOver) -> int:
    """Write it into an older memory, and take out what was forgotten. Returns how many memories went."""
    count = _forget_texts(engine, known.texts)
    for ref, _ in known.entries:
        count += engine.index.remove(f"fabric:{ref}")
    with engine.store.write() as db:
        db.executemany(
            "INSERT INTO tombstones(hash, forgotten_at) VALUES(?, ?)"
            " ON CONFLICT(hash) DO UPDATE SET forgotten_at = max(forgotten_at, excluded.forgotten_at)",
            list(known.texts.items()),
        )
        db.executemany("INSERT OR REPLACE INTO fabric_forgotten(ref, at) VALUES(?, ?)", known.entries)
        db.executemany("DELETE FROM fabric_entries WHERE ref = ?", [(ref,) for ref, _ in known.entries])
        db.executemany("INSERT OR IGNORE INTO backup_sets(path, at, bytes, verified) VALUES(?, ?, ?, ?)", known.backups)
        carry_periods(db, known.periods)
    return count


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A database as it lies there; nothing is written, not even beside it."""
    # Nobody has it open where no log is: then not even SQLite's side files are made.
    unused = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{unused}", uri=True, timeout=5)) as db:
        yield db


def _forget_texts(engine: Engine, buried: dict[str, float]) -> int:
    """At the time each was forgotten, not now: what was said anew since then, in whatever backup it stands, counts."""
    store, count = engine.store, 0
    for row in store.rows("SELECT id, scope, text, created_at FROM facts"):
        at = buried.get(tombstones.key(row["scope"], content_hash(row["text"])), -1.0)
        if at >= row["created_at"]:
            count += len(engine.facts.forget(row["id"], at))
    for row in store.rows("SELECT id, scope, content_hash, said_at FROM messages"):
        at = buried.get(tombstones.key(row["scope"], row["content_hash"]), -1.0)
        if at >= row["said_at"]:
            profile, _, user = row["scope"].partition("/")
            count += engine.sessions.forget([row["id"]], Scope(user, profile), at, alone=[row["id"]])
    for row in store.rows("SELECT source, content_hash FROM passages WHERE scope = ?", (SHARED_SCOPE,)):
        if tombstones.key(SHARED_SCOPE, row["content_hash"]) in buried:
            passages = engine.index.of_source(row["source"])
            engine.index.replace(row["source"], [one for one in passages if one.content_hash != row["content_hash"]])
            count += 1
    return count
