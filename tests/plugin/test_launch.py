from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_os_plugin import launch, paths, state

Python = Callable[[str], Path]


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_the_service_is_started_for_this_home(home: paths.Home, python_that: Python, tmp_path: Path) -> None:
    log = tmp_path / "log"
    python_that(
        f'echo "$@ $HERMES_HOME $MEMORY_OS_HOME ${{PYTHONPATH-none}} $PWD $MALLOC_ARENA_MAX $PYDANTIC_DISABLE_PLUGINS"'
        f" >> {log}; exec sleep 0.2"
    )
    os.environ["PYTHONPATH"] = "/of/the/host"
    try:
        assert launch.start(home)
    finally:
        del os.environ["PYTHONPATH"]
    wait_until(lambda: lines(log))
    assert lines(log) == [f"-P -m memory_os_workers.cli serve {home.hermes} {home.root} none {home.root} 2 __all__"]
    assert launch.is_young(home)


def test_it_is_tried_once_in_a_while_by_all_processes(home: paths.Home, python_that: Python, tmp_path: Path) -> None:
    log = tmp_path / "log"
    python_that(f"echo started >> {log}")
    assert [launch.start(home) for _ in range(3)] == [True, False, False]
    wait_until(lambda: lines(log))
    long_ago = time.time() - launch.RETRY_SECONDS - 1
    os.utime(home.run / "start-attempt", (long_ago, long_ago))
    assert launch.start(home)
    wait_until(lambda: len(lines(log)) == 2)


def test_a_clock_that_went_back_does_not_keep_it_from_starting(home: paths.Home, python_that: Python) -> None:
    python_that("exit 0")
    assert launch.start(home)
    tomorrow = time.time() + 86400
    os.utime(home.run / "start-attempt", (tomorrow, tomorrow))
    assert launch.start(home)


def test_after_a_failure_of_its_own_the_service_is_let_be(home: paths.Home, python_that: Python) -> None:
    python_that("exit 0")
    home.run.mkdir(parents=True)
    (home.run / "last-error.json").write_text('{"error": "the disk is full"}')
    assert not launch.start(home)
    assert launch.last_failure(home)["error"] == "the disk is full"


def test_a_service_that_ends_at_once_leaves_its_last_words(home: paths.Home, python_that: Python) -> None:
    python_that("echo 'Traceback' >&2; echo 'ImportError: no numpy' >&2; exit 1")
    before = time.time()
    assert launch.start(home)
    wait_until(lambda: launch.failed_since(home, before))
    assert launch.last_failure(home)["error"] == "The service ended at once: ImportError: no numpy"


def test_a_service_that_found_another_one_running_is_no_failure(home: paths.Home, python_that: Python) -> None:
    python_that("echo 'already running' >&2; exit 3")
    home.run.mkdir(parents=True)
    home.logs.mkdir()
    (home.logs / "start.log").write_text("already running")
    finished = subprocess.Popen([os.environ["MEMORY_OS_PYTHON"]], stderr=subprocess.DEVNULL)
    launch._reap(home, finished, os.environ["MEMORY_OS_PYTHON"])
    assert launch.last_failure(home) == {} and launch.start(home), "no attempt is held back"


def test_while_the_package_is_replaced_nothing_is_started_and_then_at_once(
    home: paths.Home, upgrading: Python, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    mark = upgrading(f"echo started >> {log}; exec sleep 0.2")
    assert not launch.start(home)
    assert "being upgraded" in launch.why_not_running(home)
    assert not home.run.exists() and not lines(log) and launch.last_failure(home) == {}
    assert state.shared().counts.take() == {}
    mark.unlink()
    assert launch.start(home) and launch.why_not_running(home) == ""
    wait_until(lambda: lines(log))


def test_a_service_whose_package_went_from_under_it_has_not_failed(home: paths.Home, upgrading: Python, tmp_path: Path) -> None:
    """setup.sh begins a moment after the start."""
    log = tmp_path / "log"
    mark = upgrading(f"echo started >> {log}; until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 1")
    pid = mark.read_text()
    mark.unlink()
    assert launch.start(home)
    mark.write_text(pid)
    (tmp_path / "go").touch()
    wait_until(lambda: launch.attempted_at(home) == 0.0)
    mark.unlink()
    assert launch.last_failure(home) == {}
    assert launch.start(home), "and no attempt is held back"
    wait_until(lambda: len(lines(log)) == 2)


def test_a_python_that_is_gone_is_said(home: paths.Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_OS_PYTHON", "/nowhere/bin/python")
    launch.start(home)
    assert "/nowhere/bin/python can't be run" in str(launch.last_failure(home)["error"])


def test_without_launch_json_nothing_is_started_and_it_is_counted(home: paths.Home) -> None:
    assert not launch.start(home)
    assert not home.root.exists()
    assert state.shared().counts.take() == {"not_installed": 1}


def test_a_home_that_cannot_be_written_is_counted(home: paths.Home, python_that: Python) -> None:
    python_that("exit 0")
    home.root.write_text("a file where the folder should be")
    assert not launch.start(home)
    assert [name.partition(":")[0] for name in state.shared().counts.take()] == ["launch"]


def test_what_it_leaves_is_private(home: paths.Home, python_that: Python) -> None:
    python_that("exit 4")
    assert launch.start(home)
    wait_until(lambda: (home.run / "last-error.json").exists())
    assert json.loads((home.run / "last-error.json").read_text())["code"] == "launch"
    for path in home.root.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
