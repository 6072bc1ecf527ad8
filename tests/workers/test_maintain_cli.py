"""`memory-os maintain`, `backup` and `restore` as a person meets them: a real service, real files, exit codes."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import AlertError, BackupError
from memory_os_workers.cli.invocation import FINDINGS, USAGE, exit_code
from memory_os_workers.cli.status import findings

from workers.running import PATIENCE_S, Home, wait_until

TEXT = "The staging gateway listens on port 8443."


def run(home: Home, *arguments: str, code: int = 0) -> Any:
    done = home.command(*arguments, "--json")
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else done.stderr


def kept(home: Home) -> list[str]:
    return [one["text"] for one in run(home, "facts", "list")["results"]]


def test_maintain_lists_runs_and_tries_dry(home: Home) -> None:
    home.serve()
    # What is due at a start: a duty that runs is not run beside itself.
    wait_until(lambda: home.client.get("/v1/status")["background"].get("housekeeping", {}).get("runs", 0) > 0)
    listed = run(home, "maintain")
    assert {"canary", "decay", "duplicates", "full_backup", "backup"} <= listed["duties"].keys()
    dry = run(home, "maintain", "rotation", "--dry-run")
    assert (dry["state"], "would go" in dry["result"]) == ("dry run", True)
    assert run(home, "maintain", "decay")["state"] == "ok"
    said = home.command("maintain")
    assert "decay" in said.stdout
    assert run(home, "maintain", "review") == []


def test_wrong_usage_is_one_line_with_its_cure(home: Home) -> None:
    home.serve()
    for arguments, said in (
        (("maintain", "compact"), "Duties: canary"),
        (("maintain", "--undo", "7"), "no run 7"),
        (("maintain", "review", "1"), "--merge or --apart"),
        (("maintain", "review", "1", "--merge"), "no open pair 1"),
        (("maintain", "decay", "--merge"), "review"),
    ):
        done = home.command(*arguments)
        assert (done.returncode, said in done.stderr) == (USAGE, True), (arguments, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_failing_duty_is_a_finding_of_status(home: Home) -> None:
    home.configure("agent: blue\n")
    home.settings.backups_dir.write_text("a file in the way")
    home.serve()
    assert run(home, "maintain", "full_backup", code=FINDINGS)["state"] == "failed"
    found = run(home, "status", code=FINDINGS)
    assert any("full_backup is failed" in line for line in found["findings"])
    # Twice where the service's own round came to it as well.
    counter = found["counters"]["full_backup_failed"]
    assert counter["value"] >= 1
    assert str(home.settings.backups_dir) in counter["last_reason"]


def test_findings_name_degraded_duties() -> None:
    duties = {"dead_letters": {"state": "degraded", "result": "2 jobs failed"}, "decay": {"state": "ok", "result": ""}}
    assert findings({"maintenance": {"duties": duties}}) == [
        "maintenance: dead_letters is degraded: 2 jobs failed · memory-os maintain"
    ]


def test_backup_then_restore_brings_memory_back_and_keeps_what_was_there(home: Home, tmp_path: Path) -> None:
    process = home.serve()
    # As a child of nobody's it would be gone once it ended; as ours it must be asked for.
    threading.Thread(target=process.wait, daemon=True).start()
    run(home, "facts", "add", TEXT)
    made = run(home, "backup", "--to", str(tmp_path / "disk"))
    assert "questions answered" in made["proof"]
    assert run(home, "backup", "--list")[0]["path"] == made["path"]
    run(home, "facts", "add", "The archive lies on disk B.")
    assert len(kept(home)) == 2
    plan = run(home, "restore", made["path"], "--dry-run")
    assert plan[0].startswith("memory.db from")
    assert len(kept(home)) == 2
    restored = run(home, "restore", made["path"])
    assert kept(home) == [TEXT]
    assert home.command("stop").returncode == 0  # the one that the last question started
    with sqlite3.connect(Path(restored["kept"]) / "memory.db") as db:
        assert db.execute("SELECT count(*) FROM facts").fetchone() == (2,)


def test_restore_of_a_sound_memory_needs_a_path(home: Home, tmp_path: Path) -> None:
    home.serve()
    done = home.command("restore")
    assert (done.returncode, "memory-os restore PATH" in done.stderr) == (4, True), done.stderr
    done = home.command("restore", str(tmp_path))
    assert (done.returncode, "is no backup" in done.stderr) == (USAGE, True)


def test_a_damaged_memory_is_restored_without_a_path_from_a_full_backup_too(home: Home) -> None:
    process = home.serve()
    run(home, "facts", "add", TEXT)
    run(home, "backup")
    home.command("stop")
    process.wait(PATIENCE_S)
    for path in home.settings.backups_dir.glob("memory-*.db"):
        path.unlink()
    home.settings.database.write_bytes(b"SQLite format 3\x00" + b"\xff" * 8000)
    restored = run(home, "restore")
    assert "full-" in restored["source"]
    assert kept(home) == [TEXT]
    assert home.command("stop").returncode == 0


@pytest.mark.parametrize(("error", "code"), [(BackupError("x"), USAGE), (AlertError("x"), FINDINGS)])
def test_exit_codes(error: Any, code: int) -> None:
    assert exit_code(error) == code
