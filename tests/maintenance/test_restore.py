"""Restoring: checked first, what it replaces kept, what was forgotten since still forgotten, others' files left alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.engine import Engine
from memory_os.errors import BackupError, StoreNewer
from memory_os.facts.fact import Statement
from memory_os.maintenance import restore
from memory_os.maintenance.manifest import digest
from memory_os.maintenance.portable import exported, imported
from memory_os.maintenance.restore import plan, put_back
from memory_os.memory import Scope
from memory_os.sessions import CapturedTurn
from memory_os.sessions.off import digest as digest_of
from memory_os.store import tombstones
from plugin import loading  # makes `memory_os_plugin` importable
from sessions.host import HostDb

from .conftest import DAY, NOW

from memory_os_plugin import offswitch, paths  # isort: skip

assert loading.PACKAGE in sys.modules

SCOPE = Scope()
PORT = "The staging gateway listens on port 8443."
TEA = "Maria prefers tea in the morning."
# Ends without closing: what it wrote is in the log alone.
_CRASHED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("INSERT INTO meta(key, value) VALUES('last', 'turn')")
os._exit(0)
"""


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


def messages(home: Path) -> list[str]:
    with closing(sqlite3.connect(settings_of(home).database)) as db:
        return [row[0] for row in db.execute("SELECT text FROM messages ORDER BY said_at, id")]


def test_memory_is_as_it_was_and_what_was_there_is_kept(lived: tuple[Path, Path]) -> None:
    home, made = lived
    settings = settings_of(home)
    creative = home / "memories" / "CREATIVE.md"
    creative.write_text("changed since\n")
    restored = put_back(settings, plan(settings, made), NOW + 2 * DAY)
    assert facts(home) == sorted([PORT, TEA])
    assert creative.read_text() == "memories/CREATIVE.md as it was\n"
    kept = Path(restored.kept)
    assert (kept / "CREATIVE.md").read_text() == "changed since\n"
    assert restored.replaced == [str(creative)]
    assert f"{creative} replaced" in restored.lines
    assert "CREATIVE.md replaced" in restored.line
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
    root = fresh.hermes_home
    names = ("memory-os/config.yaml", "memories/CREATIVE.md", "fabric/note-a1b2c3d4.md", "fabric/task-e5f6a7b8.md",
             "vault/wiki/concepts/turbine.md")  # fmt: skip
    assert restored.replaced == []
    assert sorted(restored.added) == sorted(str(root / name) for name in names)
    assert {f"{root / name} put back" for name in names} <= set(restored.lines)
    assert not (fresh.hermes_home / "memories" / "MEMORY.md").exists()
    assert any("MEMORY.md" in line for line in restored.left)


def test_a_configuration_that_is_there_stays(lived: tuple[Path, Path]) -> None:
    """What was closed since the backup is not opened by a restore."""
    home, made = lived
    settings = settings_of(home)
    closed = "capture: {enabled: false}\nmodels: {provider: none}\n"
    settings.config_file.write_text(closed)
    restored = put_back(settings, plan(settings, made), NOW + DAY)
    assert settings.config_file.read_text() == closed
    assert any(str(made / "config.yaml") in line and "stays as it is" in line for line in restored.left)


def backed_up(tmp_path: Path, config: str, **folders: Path) -> Path:
    """A full backup of a home with this configuration, whose fabric and wiki are in `folders`."""
    home = tmp_path / "first" / "hermes"
    (home / "memory-os").mkdir(parents=True)
    (home / "memory-os" / "config.yaml").write_text(config)
    for file in (folders["fabric"] / "note-a1b2c3d4.md", folders["vault"] / "wiki" / "turbine.md"):
        file.parent.mkdir(parents=True)
        file.write_text("as it was\n")
    engine = Engine.open(settings_of(home))
    made, _ = engine.maintenance.full.make(tmp_path / "disk", NOW)
    engine.close()
    return made


def test_files_land_where_the_restored_configuration_looks(tmp_path: Path) -> None:
    fabric, vault = tmp_path / "first" / "shared", tmp_path / "first" / "notes"
    made = backed_up(tmp_path, f"fabric_dir: {fabric}\nvault_path: {vault}\n", fabric=fabric, vault=vault)
    (fabric / "note-a1b2c3d4.md").unlink()
    shutil.rmtree(vault)  # can be made again: the folder above it is there
    fresh = settings_of(tmp_path / "second" / "hermes")
    restored = put_back(fresh, plan(fresh, made), NOW + DAY)
    after = settings_of(fresh.hermes_home)
    assert (after.fabric_dir, after.vault) == (fabric, vault)
    assert (fabric / "note-a1b2c3d4.md").exists()
    assert (vault / "wiki" / "turbine.md").exists()
    assert not any("not taken over" in line for line in restored.left)


def test_folders_of_another_machine_are_not_taken_over(tmp_path: Path) -> None:
    away = tmp_path / "first" / "elsewhere"
    fabric, vault = away / "shared", away / "notes"
    config = f"# mine\nagent: blue\nfabric_dir: {fabric}\nvault_path: {vault}\n"
    made = backed_up(tmp_path, config, fabric=fabric, vault=vault)
    shutil.rmtree(tmp_path / "first")
    fresh = settings_of(tmp_path / "second" / "hermes")
    wanted = plan(fresh, made)
    restored = put_back(fresh, wanted, NOW + DAY)
    after = settings_of(fresh.hermes_home)
    assert (after.agent, after.origins.keys()) == ("blue", {"agent"})
    assert after.config_file.read_text().startswith("# mine\n")
    assert (after.fabric_dir / "note-a1b2c3d4.md").is_relative_to(fresh.hermes_home)
    assert (after.fabric_dir / "note-a1b2c3d4.md").exists()
    assert (after.vault / "wiki" / "turbine.md").exists()
    assert not away.exists()
    for key in ("fabric_dir", "vault_path"):
        assert any(line.startswith(f"{key} is not taken over") for line in restored.left)
    assert set(wanted.left) <= {line.removeprefix("left: ") for line in wanted.lines()}


def test_a_variable_of_this_machine_goes_before_the_restored_configuration(tmp_path: Path) -> None:
    fabric, vault = tmp_path / "first" / "shared", tmp_path / "first" / "notes"
    made = backed_up(tmp_path, f"fabric_dir: {fabric}\nvault_path: {vault}\n", fabric=fabric, vault=vault)
    here = tmp_path / "here"
    fresh = load_settings({"FABRIC_DIR": str(here)}, hermes_home=tmp_path / "second" / "hermes")
    put_back(fresh, plan(fresh, made), NOW + DAY)
    assert (here / "note-a1b2c3d4.md").exists()


def test_a_configuration_that_is_none_is_not_put_back(tmp_path: Path) -> None:
    folders = {"fabric": tmp_path / "first" / "hermes" / "fabric", "vault": tmp_path / "first" / "hermes" / "vault"}
    made = backed_up(tmp_path, "agent: blue\n", **folders)
    manifest = json.loads((made / "manifest.json").read_text())
    (made / "config.yaml").write_text("no_such_key: 1\n")
    for file in manifest["files"]:
        if file["path"] == "config.yaml":
            file["sha256"] = digest(made / "config.yaml")
    (made / "manifest.json").write_text(json.dumps(manifest))
    fresh = settings_of(tmp_path / "second" / "hermes")
    restored = put_back(fresh, plan(fresh, made), NOW + DAY)
    assert not fresh.config_file.exists()
    assert any("no_such_key" in line for line in restored.left)
    assert (fresh.fabric_dir / "note-a1b2c3d4.md").exists()


def test_a_file_that_cannot_be_written_is_named_and_stops_no_other(lived: tuple[Path, Path]) -> None:
    home, made = lived
    shutil.rmtree(home / "fabric")
    (home / "fabric").write_text("a file where a folder was\n")
    (home / "vault" / "wiki" / "concepts" / "turbine.md").unlink()
    settings = settings_of(home)
    restored = put_back(settings, plan(settings, made), NOW + DAY)
    assert facts(home) == sorted([PORT, TEA])
    assert (home / "vault" / "wiki" / "concepts" / "turbine.md").exists()
    assert sum("could not be written" in line for line in restored.left) == 2


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


def test_what_was_said_anew_since_it_was_forgotten_survives_going_back_and_forth(lived: tuple[Path, Path], tmp_path: Path) -> None:
    home, made = lived
    settings = settings_of(home)
    said = CapturedTurn("t1", "s1", "The canteen closes at two.", "Noted, the canteen closes at two.", NOW - 5)
    engine = Engine.open(settings)
    engine.sessions.add_turn(said)
    older, _ = engine.maintenance.full.make(tmp_path / "disk", NOW + DAY)
    for (fact,) in engine.store.rows("SELECT id FROM facts WHERE text = ?", (PORT,)):
        engine.facts.forget(fact, NOW + 2 * DAY)
    engine.sessions.forget([row["id"] for row in engine.store.rows("SELECT id FROM messages")], SCOPE, NOW + 2 * DAY)
    engine.facts.state(Statement(PORT, SCOPE), NOW + 3 * DAY)
    engine.sessions.add_turn(replace(said, turn_id="t2", at=NOW + 3 * DAY))
    moved = exported(engine.facts, SCOPE, NOW + 4 * DAY)
    engine.close()
    back = put_back(settings, plan(settings, older), NOW + 5 * DAY)
    assert PORT not in facts(home)
    assert messages(home) == []
    put_back(settings, plan(settings, Path(back.kept)), NOW + 6 * DAY)
    assert PORT in facts(home)
    assert messages(home) == [said.user_text, said.assistant_text]
    put_back(settings, plan(settings, made), NOW + 7 * DAY)
    assert PORT not in facts(home)
    engine = Engine.open(settings)
    assert imported(engine.facts, SCOPE, moved, NOW + 8 * DAY)["forgotten"] == 0
    engine.close()
    assert PORT in facts(home)


def test_of_the_same_words_only_what_was_said_before_goes(lived: tuple[Path, Path], tmp_path: Path) -> None:
    """In a copy that never knew of the forgetting, both stand."""
    home, _ = lived
    settings = settings_of(home)
    engine = Engine.open(settings)
    for number, at in enumerate((NOW, NOW + 4 * DAY)):
        engine.sessions.add_turn(CapturedTurn(f"t{number}", "s1", "The canteen closes at two.", "", at))
    copy, _ = engine.maintenance.full.make(tmp_path / "disk", NOW + 5 * DAY)
    with engine.store.write() as db:
        tombstones.bury(db, SCOPE.key, [row["content_hash"] for row in db.execute("SELECT content_hash FROM messages")], NOW + DAY)
    engine.close()
    assert put_back(settings, plan(settings, copy), NOW + 6 * DAY).forgotten_again == 1
    assert messages(home) == ["The canteen closes at two."]


@pytest.mark.parametrize("lost", [False, True])
def test_what_was_said_while_off_stays_out_of_an_older_memory(lived: tuple[Path, Path], lost: bool) -> None:
    home, made = lived
    settings, plugin = settings_of(home), paths.Home(home, home / "memory-os")
    host = HostDb(home / "state.db")
    host.session("s1")
    host.message("s1", "user", "The canteen closes at two.", time.time() - 60)
    offswitch.turn_off(plugin, "s1")
    host.message("s1", "user", "Whispered while it was off.", time.time())
    offswitch.turn_on(plugin, "s1")
    host.message("s1", "user", "The archive is in the cellar.", time.time() + 1)
    engine = Engine.open(settings)
    engine.sessions.import_history(now=time.time() + 3600)
    engine.close()
    said = messages(home)
    assert said == ["The canteen closes at two.", "The archive is in the cellar."]
    if lost:
        settings.database.write_bytes(b"SQLite format 3\x00" + b"\xff" * 8000)
    else:
        shutil.rmtree(home / "memory-os" / "off")
    put_back(settings, plan(settings, made), time.time())
    assert messages(home) == []
    engine = Engine.open(settings)
    engine.sessions.import_history(now=time.time() + 7200)
    engine.close()
    host.connection.close()
    assert messages(home) == said


def test_a_chat_that_is_off_is_off_in_another_home_too(lived: tuple[Path, Path], tmp_path: Path) -> None:
    home, _ = lived
    plugin = paths.Home(home, home / "memory-os")
    offswitch.turn_off(plugin, "s1")
    offswitch.turn_off(plugin, "s2")
    engine = Engine.open(settings_of(home))
    made, _ = engine.maintenance.full.make(tmp_path / "disk", time.time())
    engine.close()
    fresh = settings_of(tmp_path / "new" / "hermes")
    there = paths.Home(fresh.hermes_home, fresh.home)
    offswitch.turn_off(there, "s2")
    offswitch.turn_on(there, "s2")  # this home knows better
    restored = put_back(fresh, plan(fresh, made), time.time())
    assert (offswitch.is_off(there, "s1"), offswitch.is_off(there, "s2")) == (True, False)
    assert restored.off_again == 1
    assert "off in 1 chat" in restored.line
    engine = Engine.open(fresh)
    since = engine.store.value("SELECT since FROM off_periods WHERE digest = ?", (digest_of("s1"),))
    assert (fresh.home / "off" / digest_of("s1")).stat().st_mtime == since
    engine.close()
    # On again since, in the home the backup was made of:
    offswitch.turn_on(plugin, "s1")
    engine = Engine.open(settings_of(home))
    engine.sessions.off.observe(time.time())
    engine.close()
    assert put_back(settings_of(home), plan(settings_of(home), made), time.time()).off_again == 0
    assert (offswitch.is_off(plugin, "s1"), offswitch.is_off(plugin, "s2")) == (False, True)


def test_what_a_crash_left_in_the_log_comes_back(lived: tuple[Path, Path]) -> None:
    home, made = lived
    settings = settings_of(home)
    subprocess.run([sys.executable, "-c", _CRASHED, str(settings.database)], check=True, timeout=60)
    assert Path(f"{settings.database}-wal").stat().st_size > 0
    kept = put_back(settings, plan(settings, made), NOW + DAY).kept
    put_back(settings, plan(settings, Path(kept)), NOW + 2 * DAY)
    with sqlite3.connect(settings.database) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'last'").fetchone() == ("turn",)


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
