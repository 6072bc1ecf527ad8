"""Full backups: everything in one folder with hashes, proved by a restore, kept for so long, reached by forgetting."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from pathlib import Path

import pytest
from memory_os.constants import SCRATCH_PROFILE
from memory_os.engine import Engine
from memory_os.errors import BackupError, StoreNewer
from memory_os.facts.fact import Statement
from memory_os.maintenance import full_backup
from memory_os.maintenance.full_backup import PENDING_NOTE, sets
from memory_os.maintenance.manifest import MANIFEST, faults, read_manifest
from memory_os.memory import Scope
from support.library import passage

from .conftest import DAY, NOW, Home

SCOPE = Scope()


def filled(engine: Engine) -> Engine:
    engine.facts.state(Statement("The staging gateway listens on port 8443.", SCOPE), NOW)
    host = engine.settings.hermes_home
    for name, text in {
        "fabric/note-a1b2c3.md": "---\ntype: note\nsummary: turbine\n---\nNine bar.\n",
        "vault/wiki/concepts/turbine.md": "# Turbine\n",
        "memories/MEMORY.md": "host's\n",
        "memories/CREATIVE.md": "# Learnings\n",
        "SOUL.md": "soul\n",
    }.items():
        path = host / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return engine


@pytest.fixture
def engine(home: Home) -> Engine:
    return filled(home(config="agent: blue\n"))


def made(engine: Engine, now: float = NOW) -> Path:
    outcome = engine.maintenance.run("full_backup", now)
    assert outcome.error == ""
    return sets(engine.settings.backups_dir)[-1]


def test_everything_is_in_it_with_its_hash(engine: Engine) -> None:
    folder = made(engine)
    manifest = read_manifest(folder)
    assert {file.path for file in manifest.files} == {
        "memory.db", "config.yaml", "SOUL.md", "memories/MEMORY.md", "memories/CREATIVE.md", "fabric/note-a1b2c3.md",
        "wiki/concepts/turbine.md",
    }  # fmt: skip
    assert faults(folder, manifest) == []
    assert manifest.counts["facts"] == 1
    assert "rebuilt" in manifest.vectors
    assert {oct(path.stat().st_mode & 0o077) for path in folder.rglob("*")} == {"0o0"}


def test_it_was_asked_after_a_restore_and_leaves_no_scratch(engine: Engine) -> None:
    outcome = engine.maintenance.run("full_backup", NOW)
    assert "1 questions answered" in outcome.result
    assert [path.name for path in engine.settings.backups_dir.iterdir()] == ["full-20260921-141320"]
    assert engine.maintenance.full.listed()[0]["verified"]


def test_a_copy_that_does_not_answer_is_no_backup(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof can fail: a memory restored without its words is refused, and nothing is left of it."""

    def lost(settings: object) -> Engine:
        restored = type(engine).open(settings)  # type: ignore[arg-type]
        with restored.store.write() as db:
            db.execute("DELETE FROM passages_fts")
        return restored

    monkeypatch.setattr(engine.maintenance.full, "_reopen", lost)
    outcome = engine.maintenance.run("full_backup", NOW)
    assert (outcome.state, "1 of 1 questions" in outcome.error) == ("failed", True)
    assert list(engine.settings.backups_dir.iterdir()) == []


def test_what_memory_takes_in_meanwhile_is_no_fault_of_the_copy(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy used to be asked what memory answered a moment before: words that twenty others have by then."""
    copy = engine.store.backup

    def busy(target: Path) -> None:
        others = [f"note:{number}" for number in range(20)]
        for one in others:
            engine.index.replace(one, [passage("staging gateway listens port 8443", one)])
        copy(target)
        for one in others:
            engine.index.remove(one)

    monkeypatch.setattr(engine.store, "backup", busy)
    assert read_manifest(made(engine)).counts["passages"] == 1, "of the moment in which it was asked"


def test_so_many_are_kept_and_never_the_new_one_lost(home: Home) -> None:
    engine = filled(home("few", "maintenance: {backups_kept: 2}"))
    names = [made(engine, NOW + week * 7 * DAY).name for week in range(4)]
    assert [path.name for path in sets(engine.settings.backups_dir)] == names[-2:]
    older = engine.maintenance.run("full_backup", NOW - 700 * DAY)
    assert older.error == ""
    assert "full-20241021-141320" in [path.name for path in sets(engine.settings.backups_dir)]
    assert len(engine.maintenance.full.listed()) == 2


def test_it_comes_weekly_and_one_that_failed_leaves_the_others(engine: Engine) -> None:
    engine.maintenance.due(NOW - DAY)
    assert "full_backup" in engine.housekeeping(NOW)
    assert "full_backup" not in engine.maintenance.due(NOW + 6 * DAY)
    assert "full_backup" in engine.maintenance.due(NOW + 7 * DAY)


def test_elsewhere_by_hand(engine: Engine, tmp_path: Path) -> None:
    answer = engine.maintain({"action": "backup", "to": str(tmp_path / "disk")})
    assert Path(answer["path"]).parent == tmp_path / "disk"
    assert "questions answered" in answer["proof"]
    inside = engine.settings.fabric_dir / "backups"
    with pytest.raises(BackupError, match="lies inside"):
        engine.maintain({"action": "backup", "to": str(inside)})
    assert not inside.exists()


def test_links_are_not_followed_and_a_vanished_file_is_named(engine: Engine, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not ours")
    (engine.settings.fabric_dir / "link.md").symlink_to(secret)
    (engine.settings.fabric_dir / "folder").symlink_to(tmp_path)
    os.mkfifo(engine.settings.fabric_dir / "pipe.md")
    assert not any("link" in file.path or "secret" in file.path or "pipe" in file.path for file in read_manifest(made(engine)).files)


def test_a_name_that_is_not_utf8_is_in_it_like_any_other(engine: Engine) -> None:
    strange = os.fsdecode(os.fsencode(engine.settings.fabric_dir) + b"/latin\xe9.md")
    Path(strange).write_text("An old note.")
    folder = made(engine)
    manifest = read_manifest(folder)
    assert [file.bytes for file in manifest.files if file.path.endswith("\udce9.md")] == [12]
    assert not faults(folder, manifest)


def test_without_room_nothing_is_begun(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_backup, "_ROOM_BYTES", 1 << 60)
    outcome = engine.maintenance.run("full_backup", NOW)
    assert "MB free" in outcome.error
    assert not engine.settings.backups_dir.exists()


def test_what_a_killed_one_left_goes_with_the_next(engine: Engine) -> None:
    for name in (".full-partial-x", ".restored-y"):
        (engine.settings.backups_dir / name).mkdir(parents=True)
    made(engine)
    assert [path.name[:5] for path in engine.settings.backups_dir.iterdir()] == ["full-"]


def test_a_changed_newer_or_escaping_set_is_refused(engine: Engine) -> None:
    folder = made(engine)
    (folder / "SOUL.md").write_text("changed")
    assert faults(folder, read_manifest(folder)) == ["SOUL.md was changed"]
    data = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**data, "schema": 999}))
    with pytest.raises(StoreNewer):
        read_manifest(folder)
    data["files"][0]["path"] = "../../etc/passwd"
    (folder / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(BackupError, match="not inside"):
        faults(folder, read_manifest(folder))
    (folder / MANIFEST).write_text("{")
    with pytest.raises(BackupError, match="can't be read"):
        read_manifest(folder)


def test_forgetting_reaches_sets_and_what_a_restore_set_aside(engine: Engine, tmp_path: Path) -> None:
    made(engine)
    engine.maintain({"action": "backup", "to": str(tmp_path / "disk")})
    aside = engine.settings.backups_dir / "replaced-20260101-000000-x"
    aside.mkdir()
    (aside / "memory.db").write_bytes(b"old words")
    handle = engine.store.value("SELECT handle FROM facts")
    found = engine.call_tool("memory_forget", {"id": handle}, {"user": "local"})
    assert found["forgotten"]["full backups deleted"] == 1
    assert found["forgotten"]["set-aside copies deleted"] == 1
    assert any(str(tmp_path / "disk") in note for note in found["notes"])
    left = [path for path in engine.settings.home.rglob("*") if path.is_file() and b"port 8443" in path.read_bytes()]
    assert left == []
    assert "full_backup" in engine.maintenance.due(NOW + DAY)


GATEWAY = {"user": "telegram:42", "platform": "telegram"}


def theirs(engine: Engine, text: str = "The locker of the gym opens with quixoticpassphrase.") -> str:
    """A fact of a gateway's sender, by its handle."""
    engine.facts.state(Statement(text, Scope("telegram:42")), NOW)
    return str(engine.store.value("SELECT handle FROM facts WHERE text = ?", (text,)))


def put_aside(engine: Engine) -> Path:
    aside = engine.settings.backups_dir / "replaced-20260101-000000-x"
    aside.mkdir(parents=True)
    (aside / "memory.db").write_bytes(b"perhaps the only one")
    return aside


def test_a_sender_who_forgets_takes_no_home_its_last_copy(engine: Engine) -> None:
    handle = theirs(engine)
    made(engine)
    aside = put_aside(engine)
    found = engine.call_tool("memory_forget", {"id": handle}, GATEWAY)
    assert found["forgotten"]["full backups deleted"] == 1 and "set-aside copies deleted" not in found["forgotten"]
    assert any(str(aside) in note and "Delete the folder" in note for note in found["notes"])
    assert PENDING_NOTE in found["notes"] and found["status"] == "forgotten"
    (copy,) = engine.settings.backups_dir.glob("memory-*.db")
    assert b"quixoticpassphrase" not in copy.read_bytes() and b"port 8443" in copy.read_bytes()
    status = engine.status()
    assert status["maintenance"]["full_backup_pending"] and status["maintenance"]["holding_forgotten"] == [str(aside)]
    assert any(str(aside) in note for note in status["notes"])
    assert engine.maintenance.run_if_due("full_backup", time.time() + 1) is not None
    assert len(sets(engine.settings.backups_dir)) == 1
    assert not engine.maintenance.status()["full_backup_pending"]
    assert (aside / "memory.db").read_bytes() == b"perhaps the only one"


def test_on_the_command_line_what_a_restore_set_aside_goes_too(engine: Engine) -> None:
    first, second = theirs(engine), theirs(engine, "The gym closes at ten.")
    aside = put_aside(engine)
    engine.call_tool("memory_forget", {"id": first}, GATEWAY)
    assert engine.maintenance.status()["holding_forgotten"] == [str(aside)]
    engine.call_tool("memory_forget", {"id": second}, {"user": "telegram:42", "platform": "cli", "author": "user"})
    assert not aside.exists()
    assert engine.maintenance.status()["holding_forgotten"] == []


def test_what_went_is_made_again_also_where_the_duty_is_off(home: Home) -> None:
    engine = filled(home("off", "maintenance: {off: [full_backup]}"))
    made(engine)
    assert "full_backup" not in engine.maintenance.due(NOW + 30 * DAY)
    engine.call_tool("memory_forget", {"id": theirs(engine)}, GATEWAY)
    assert engine.maintenance.run_if_due("full_backup", time.time() + 1) is not None
    assert len(sets(engine.settings.backups_dir)) == 1
    assert "full_backup" not in engine.maintenance.due(time.time() + 30 * DAY)


def test_without_a_copy_in_its_place_a_set_stays_is_named_and_goes_with_the_next(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = theirs(engine)
    old = made(engine)

    def full(target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "backup", full)
        found = engine.call_tool("memory_forget", {"id": handle}, GATEWAY)
    assert old.exists() and any(str(old) in note and "No space left" in note for note in found["notes"])
    assert found["status"] == "incomplete"
    assert engine.maintenance.status()["holding_forgotten"] == [str(old)]
    assert made(engine, NOW + DAY) != old
    assert not old.exists() and engine.maintenance.status()["holding_forgotten"] == []


def test_what_doctor_writes_and_forgets_is_in_no_backup(engine: Engine) -> None:
    """Each `memory-os doctor` deleted every full backup, and what a restore had set aside a moment before."""
    kept = [made(engine), put_aside(engine)]
    caller = {"user": "doctor:1", "profile": SCRATCH_PROFILE, "session_id": "doctor-1", "platform": "cli"}
    engine.call_tool("fact_store", {"action": "add", "content": "The memory check keeps the word brikalu."}, caller)
    assert engine.call_tool("memory_forget", {"all_mine": True, "confirm": True}, caller)["status"] == "forgotten"
    assert all(path.exists() for path in kept)
    assert not engine.maintenance.status()["full_backup_pending"]


def test_the_copy_is_a_database_of_its_own(engine: Engine) -> None:
    folder = made(engine)
    with sqlite3.connect(folder / "memory.db") as db:
        assert db.execute("SELECT text FROM facts").fetchall() == [("The staging gateway listens on port 8443.",)]
