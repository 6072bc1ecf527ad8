"""Restoring: checked first, what it replaces kept, what was forgotten since still forgotten, others' files left alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.engine import Engine
from memory_os.errors import BackupError, StoreNewer
from memory_os.facts.fact import Statement
from memory_os.maintenance import restore
from memory_os.maintenance.restore import plan, put_back
from memory_os.memory import Scope

from .conftest import DAY, NOW

SCOPE = Scope()
PORT = "The staging gateway listens on port 8443."
TEA = "Maria prefers tea in the morning."


def settings_of(folder: Path) -> Settings:
    return load_settings({}, hermes_home=folder)


@pytest.fixture
def lived(tmp_path: Path) -> tuple[Path, Path]:
    """A home that was backed up elsewhere, and went on: (the Hermes home, the full backup)."""
    home = tmp_path / "hermes"
    (home / "memory-os").mkdir(parents=True)
    (home / "memory-os" / "config.yaml").write_text("agent: blue\n")
    for name in ("fabric/note-a1b2c3d4.md", "fabric/task-e5f6a7b8.md", "vault/wiki/concepts/turbine.md", "memories/CREATIVE.md",
                 "memories/MEMORY.md"):  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name} as it was\n")
    engine = Engine.open(settings_of(home))
    for text in (PORT, TEA):
        engine.facts.state(Statement(text, SCOPE), NOW)
    made, _ = engine.maintenance.full.make(tmp_path / "disk", NOW + 1)
    engine.facts.state(Statement("The archive lies on disk B.", SCOPE), NOW + DAY)
    engine.close()
    return home, made


def facts(home: Path) -> list[str]:
    engine = Engine.open(settings_of(home))
    try:
        found = engine.call_tool("fact_store", {"action": "list"}, {})
        return sorted(item["text"] for item in found["results"])
    finally:
        engine.close()


def test_memory_is_as_it_was_and_what_was_there_is_kept(lived: tuple[Path, Path]) -> None:
    home, made = lived
    settings = settings_of(home)
    settings.config_file.write_text("agent: red\n")
    restored = put_back(settings, plan(settings, made), NOW + 2 * DAY)
    assert facts(home) == sorted([PORT, TEA])
    assert settings.config_file.read_text() == "agent: blue\n"
    kept = Path(restored.kept)
    assert (kept / "config.yaml").read_text() == "agent: red\n"
    with sqlite3.connect(kept / "memory.db") as db:
        assert db.execute("SELECT count(*) FROM facts").fetchone() == (3,)
    assert [path.name for path in settings.home.iterdir() if path.name.startswith(".")] == []


def test_what_a_restore_replaced_can_be_restored(lived: tuple[Path, Path]) -> None:
    home, made = lived
    settings = settings_of(home)
    kept = put_back(settings, plan(settings, made), NOW + 2 * DAY).kept
    put_back(settings, plan(settings, Path(kept)), NOW + 3 * DAY)
    assert "The archive lies on disk B." in facts(home)


def test_into_an_empty_home(lived: tuple[Path, Path], tmp_path: Path) -> None:
    _, made = lived
    fresh = settings_of(tmp_path / "new" / "hermes")
    restored = put_back(fresh, plan(fresh, made), NOW + DAY)
    assert facts(fresh.hermes_home) == sorted([PORT, TEA])
    assert (fresh.hermes_home / "fabric" / "note-a1b2c3d4.md").read_text() == "fabric/note-a1b2c3d4.md as it was\n"
    assert (restored.replaced, restored.added) == (0, 5)
    assert not (fresh.hermes_home / "memories" / "MEMORY.md").exists()
    assert any("MEMORY.md" in line for line in restored.left)


def test_files_others_write_come_back_only_where_they_are_missing(lived: tuple[Path, Path]) -> None:
    home, made = lived
    (home / "fabric" / "note-a1b2c3d4.md").unlink()
    (home / "fabric" / "task-e5f6a7b8.md").write_text("changed since\n")
    (home / "vault" / "wiki" / "concepts" / "turbine.md").unlink()
    (home / "memories" / "MEMORY.md").write_text("the host's, changed\n")
    settings = settings_of(home)
    restored = put_back(settings, plan(settings, made), NOW + DAY)
    assert (home / "fabric" / "note-a1b2c3d4.md").exists()
    assert (home / "fabric" / "task-e5f6a7b8.md").read_text() == "changed since\n"
    assert (home / "vault" / "wiki" / "concepts" / "turbine.md").exists()
    assert (home / "memories" / "MEMORY.md").read_text() == "the host's, changed\n"
    assert any("task-e5f6a7b8.md was changed since" in line for line in restored.left)


def test_what_was_forgotten_since_stays_forgotten(lived: tuple[Path, Path]) -> None:
    home, made = lived
    engine = Engine.open(settings_of(home))
    handle = engine.store.value("SELECT handle FROM facts WHERE text = ?", (PORT,))
    engine.call_tool("memory_forget", {"id": handle}, {"user": "local"})
    with engine.store.write() as db:
        db.execute("INSERT INTO fabric_forgotten(ref, at) VALUES('blue:a1b2c3d4', ?)", (NOW + DAY,))
    engine.close()
    (home / "fabric" / "note-a1b2c3d4.md").unlink()
    settings = settings_of(home)
    restored = put_back(settings, plan(settings, made), NOW + 2 * DAY)
    assert restored.forgotten_again == 1
    assert facts(home) == [TEA]
    assert b"8443" not in settings.database.read_bytes()
    assert not (home / "fabric" / "note-a1b2c3d4.md").exists()
    assert any("forgotten since" in line for line in restored.left)


def test_an_older_memory_knows_of_the_backup_it_came_from(lived: tuple[Path, Path]) -> None:
    """Forgetting names it as a place that still holds what goes."""
    home, made = lived
    settings = settings_of(home)
    put_back(settings, plan(settings, made), NOW + DAY)
    engine = Engine.open(settings)
    assert [one["path"] for one in engine.maintenance.full.listed()] == [str(made)]
    engine.close()


def test_vectors_are_written_anew(lived: tuple[Path, Path]) -> None:
    home, made = lived
    with sqlite3.connect(made / "memory.db") as db:
        db.execute("UPDATE passages SET indexed = 1")
    settings = settings_of(home)
    put_back(settings, plan(settings, made / "memory.db"), NOW + DAY)
    with sqlite3.connect(settings.database) as db:
        assert db.execute("SELECT count(*), sum(indexed) FROM passages").fetchone() == (2, 0)


def test_a_plan_changes_nothing(lived: tuple[Path, Path]) -> None:
    home, made = lived

    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}

    before = state()
    lines = plan(settings_of(home), made).lines()
    assert "memory.db from" in lines[0]
    assert state() == before


def test_what_is_no_sound_backup_is_refused_before_anything_moves(lived: tuple[Path, Path], tmp_path: Path) -> None:
    home, made = lived
    settings = settings_of(home)
    (made / "memories" / "CREATIVE.md").write_text("changed")
    with pytest.raises(BackupError, match=r"CREATIVE\.md was changed"):
        plan(settings, made)
    damaged = tmp_path / "memory-1.db"
    damaged.write_bytes(b"SQLite format 3\x00" + b"\xff" * 8000)
    with pytest.raises(BackupError, match="damaged"):
        plan(settings, damaged)
    foreign = tmp_path / "other.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t(x)")
    with pytest.raises(BackupError, match="no sound memory"):
        plan(settings, foreign)
    with pytest.raises(BackupError, match="no backup"):
        plan(settings, tmp_path)
    assert len(facts(home)) == 3


def test_a_newer_schema_is_refused(lived: tuple[Path, Path], tmp_path: Path) -> None:
    home, made = lived
    copy = tmp_path / "memory-2.db"
    copy.write_bytes((made / "memory.db").read_bytes())
    with sqlite3.connect(copy) as db:
        db.execute("PRAGMA user_version = 9999")
    with pytest.raises(StoreNewer, match="newer memory-os"):
        plan(settings_of(home), copy)


def test_a_failure_while_staging_leaves_all_as_it_was(lived: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    home, made = lived
    settings = settings_of(home)
    wanted = plan(settings, made)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restore.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        put_back(settings, wanted, NOW + DAY)
    monkeypatch.undo()
    assert len(facts(home)) == 3
    assert [path.name for path in settings.home.iterdir() if path.name.startswith(".")] == []
