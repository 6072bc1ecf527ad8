"""A command whose package is taken away under it ends in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import memory_os_workers
import pytest
from memory_os_workers import cli, entry


def test_a_command_whose_module_is_gone_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(cli.COMMANDS, "status", "memory_os_workers.cli.taken_away:status")
    monkeypatch.setattr(sys, "argv", ["memory-os", "status"])
    assert entry.main() == 4
    said = capsys.readouterr().err
    assert "being upgraded" in said and "./setup.sh" in said and said.count("\n") == 1


def test_a_package_that_is_half_there_is_no_traceback(tmp_path: Path) -> None:
    """memory_os_workers stands again, memory_os not yet."""
    for package in (Path(memory_os_workers.__file__).parent, Path(click.__file__).parent):
        (tmp_path / package.name).symlink_to(package)
    script = "import sys; from memory_os_workers.entry import main; sys.exit(main())"
    # -S: the environment's own packages are not found.
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("error: memory_os can't be imported") and "Traceback" not in done.stderr


def test_while_setup_runs_any_missing_module_is_the_upgrades(tmp_path: Path) -> None:
    missing = ModuleNotFoundError("No module named 'click'", name="click")
    assert entry.why_missing(missing, tmp_path) == "", "a fault of its own: the traceback is wanted"
    (tmp_path / entry.UPGRADING).write_text(f"{os.getpid()}\n")
    assert entry.why_missing(missing, tmp_path) == "memory-os is being upgraded; try again in a minute."
    for killed in ("2147483647\n", "", "x", "9" * 30):
        (tmp_path / entry.UPGRADING).write_text(killed)
        assert entry.why_missing(missing, tmp_path) == ""
