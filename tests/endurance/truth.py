"""What must be in memory in the end, and the audit that compares: nothing lost, nothing doubled, nothing of another's."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memory_os.config import Settings
from memory_os.vectors.collection import Collection
from memory_os.vectors.folder import read_current

from endurance.host import LEAKED, PROMISED, said

# Of these passages there is no point; `?` is the time.
CLOSED = "(archived = 1 OR coalesce(valid_to <= ?, 0))"
# What killed work leaves, and the next run of the same work takes away.
_LEFT = (".full-partial-*", ".restored-*", "*.partial", ".*.part")


@dataclass
class Truth:
    """Documents by name with the version each has now. Turns are what the host has promised, in its own file."""

    documents: dict[str, int] = field(default_factory=dict)


def promised(home: Path) -> tuple[set[int], set[int]]:
    """The turns that must be there, and those that were begun."""
    kept: set[int] = set()
    begun: set[int] = set()
    path = home / PROMISED
    # The last line may be half of one: its process was killed.
    for line in path.read_text("utf-8").split("\n")[:-1] if path.exists() else []:
        word, turn = line.split()
        (begun if word == "began" else kept).add(int(turn))
    return kept, begun


def faults_of_memory(settings: Settings, truth: Truth) -> list[str]:
    """What is wrong with a memory that has settled, in words; no service needs to run."""
    with closing(sqlite3.connect(f"file:{settings.database}?mode=ro", uri=True)) as db:
        return [
            *_integrity(db), *_turns(db, settings), *_documents(db, truth), *_passages(db),
            *_left_behind(settings), *_leaks(settings),
        ]  # fmt: skip


def _integrity(db: sqlite3.Connection) -> list[str]:
    found = [row[0] for row in db.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else [f"integrity_check: {found[:3]}"]


def _turns(db: sqlite3.Connection, settings: Settings) -> list[str]:
    kept, begun = promised(settings.hermes_home)
    there = Counter(row[0] for row in db.execute("SELECT text FROM messages WHERE standing <> 'withdrawn'"))
    wanted = {text: turn for turn in kept for text in said(turn)}
    allowed = {text: turn for turn in kept | begun for text in said(turn)}
    faults = [f"lost: turn {turn}: {text}" for text, turn in wanted.items() if not there[text]]
    faults += [f"{count} times: {text}" for text, count in there.items() if count > 1]
    return faults + [f"nobody said: {text}" for text in there if text not in allowed]


def _documents(db: sqlite3.Connection, truth: Truth) -> list[str]:
    there = {row[0]: row[1] for row in db.execute("SELECT path, chunks FROM documents WHERE status = 'ok'")}
    faults = [f"document lost: {name}" for name in truth.documents if name not in there]
    faults += [f"document that is gone: {name}" for name in there if name not in truth.documents]
    for name, version in truth.documents.items():
        texts = [row[0] for row in db.execute("SELECT text FROM passages WHERE source = ?", (f"document:{name}",))]
        if len(texts) != there.get(name):
            faults.append(f"{name} has {len(texts)} passages of {there.get(name)}")
        if not all(f"edition {version}." in text for text in texts):
            faults.append(f"{name} is not at edition {version}: {texts}")
    return faults


def _passages(db: sqlite3.Connection) -> list[str]:
    faults = []
    for what, sql in (
        ("passages twice", "SELECT source FROM passages GROUP BY source, ordinal HAVING count(*) > 1"),
        ("messages with two passages", "SELECT source FROM passages WHERE layer = 'sessions' GROUP BY source HAVING count(*) > 1"),
        (
            "messages without a passage",
            "SELECT text FROM messages m WHERE standing = 'indexed'"
            " AND NOT EXISTS(SELECT 1 FROM passages WHERE source = 'message:' || m.id)",
        ),
        ("passages without full text", "SELECT pk FROM passages WHERE pk NOT IN (SELECT rowid FROM passages_fts)"),
        ("full text of nothing", "SELECT rowid FROM passages_fts WHERE rowid NOT IN (SELECT pk FROM passages)"),
        ("embeddings of nothing", "SELECT hash FROM embeddings WHERE hash NOT IN (SELECT embed_hash FROM passages)"),
        ("dead letters", "SELECT error FROM dead_letters"),
    ):
        found = db.execute(sql).fetchall()
        if found:
            faults.append(f"{len(found)} {what}: {found[:3]}")
    return faults


def _left_behind(settings: Settings) -> list[str]:
    rejected = settings.spool_dir / "rejected"
    faults = [f"rejected: {path.name}" for path in rejected.iterdir()] if rejected.exists() else []
    faults += [f"waits in the spool: {path.name}" for path in settings.spool_dir.glob("[0-9]*.json")]
    if settings.backups_dir.exists():
        left = [path.name for pattern in _LEFT for path in settings.backups_dir.glob(pattern)]
        faults += [f"left in backups: {name}" for name in left]
    shards = [path.name for path in settings.vectors_dir.glob("*") if path.is_dir()]
    return faults + ([f"shards: {shards}"] if len(shards) > 1 else [])


def _leaks(settings: Settings) -> list[str]:
    path = settings.hermes_home / LEAKED
    return path.read_text("utf-8").splitlines() if path.exists() else []


def out_of_step(settings: Settings, on_server: Callable[[], list[str]] | None = None) -> list[str]:
    """How the collection differs from memory.db, where what is archived or over has no point. No service may run: it would
    hold the collection."""
    points = _embedded_points(settings) if on_server is None else on_server()
    with closing(sqlite3.connect(f"file:{settings.database}?mode=ro", uri=True)) as db:
        passages = {row[0] for row in db.execute(f"SELECT id FROM passages WHERE NOT {CLOSED}", (time.time(),))}
    faults = []
    if len(points) != len(set(points)):
        faults.append(f"{len(points) - len(set(points))} points twice")
    if set(points) != passages:
        faults.append(f"{len(passages - set(points))} passages without a point, {len(set(points) - passages)} points of nothing")
    return faults


def _embedded_points(settings: Settings) -> list[str]:
    current = read_current(settings.vectors_dir)
    assert current is not None
    collection = Collection.open(settings.vectors_dir, current.stamp.model, current.stamp.dimension)
    try:
        return list(collection.ids())
    finally:
        collection.close()
