"""A service that cannot start: the turn goes on, and `memory-os status` says why."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.service import wait_until

from hermes.conftest import Installed, Make


@pytest.fixture(scope="module")
def faulty(new_home: Make) -> Installed:
    """One home for faults that are mended again; that its path has spaces is one that must not be."""
    return new_home("a home with spaces")


@pytest.fixture
def launched_by(faulty: Installed) -> Iterator[Callable[[str], None]]:
    """Says which interpreter the plugin starts the service with."""
    launch = faulty.hermes.path / "plugins" / "memory-os" / "launch.json"
    before = launch.read_text("utf-8")

    def choose(python: str) -> None:
        launch.write_text(json.dumps({**json.loads(before), "python": python}), "utf-8")

    yield choose
    launch.write_text(before, "utf-8")


@pytest.fixture
def gone_interpreter(launched_by: Callable[[str], None]) -> str:
    python = "/nonexistent/bin/python"
    launched_by(python)
    return python


@pytest.fixture
def upgrade(faulty: Installed, launched_by: Callable[[str], None], tmp_path: Path) -> Path:
    """The mark of a `setup.sh` that replaces the package: nothing of it can be imported as long as it stands."""
    python, mark = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / ".upgrading"
    python.parent.mkdir(parents=True)
    upgraded = f'[ -e "{mark}" ] && {{ echo "error: No module named memory_os" >&2; exit 4; }}'
    python.write_text(f'#!/bin/sh\n{upgraded}\nexec "{faulty.memory_os.python}" "$@"\n')
    python.chmod(0o755)
    mark.write_text(f"{os.getpid()}\n")
    launched_by(str(python))
    return mark


def _told_and_answered(installed: Installed, text: str) -> None:
    """One turn that memory has no part in."""
    assert installed.hermes.oneshot(text) == "Understood."
    assert installed.model.turn(text).blocks == []


def test_an_interpreter_that_is_gone(faulty: Installed, gone_interpreter: str) -> None:
    _told_and_answered(faulty, "The tide table hangs in the wheelhouse.")
    status = faulty.memory_os.json("status", expect=3)
    assert gone_interpreter in status["last_error"]["error"]
    assert status["spool_depth"] >= 1, "the turn waits on disk"

    faulty.memory_os.start()
    faulty.memory_os.settle()
    assert "wheelhouse" in faulty.oneshot("Where does the tide table hang?").injected, "nothing was lost"
    faulty.memory_os.stop()


def test_an_upgrade_meanwhile(faulty: Installed, upgrade: Path) -> None:
    """Nothing failed, so nothing is told; the first turn after it starts the service, which has what was said meanwhile."""
    _told_and_answered(faulty, "The lifebuoy is behind the coal hatch.")
    status = faulty.memory_os.json("status", expect=3)
    assert not status["last_error"] and status["spool_depth"] >= 1
    upgrade.unlink()
    assert faulty.hermes.oneshot("Is the kettle on?") == "Understood."
    faulty.memory_os.settle()
    wait_until(faulty.memory_os.ready, "the service that the turn started is ready", 60)
    assert "coal hatch" in faulty.oneshot("Where is the lifebuoy?").injected
    faulty.memory_os.stop()


def test_a_home_that_cannot_be_written(faulty: Installed) -> None:
    home = faulty.memory_os.home
    aside = home.rename(home.with_name("memory-os-aside"))
    home.write_text("a file in the way of the folder", "utf-8")
    try:
        _told_and_answered(faulty, "The anchor chain has eleven shackles.")
        done = faulty.memory_os.run("status", expect=None)
    finally:
        home.unlink()
        aside.rename(home)
    assert done.returncode != 0
    assert str(home) in done.stdout + done.stderr and "Traceback" not in done.stderr


# A mount of its own that nobody may write, not even root, for the command that follows.
_READ_ONLY = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$0" && exec "$@"')


def test_a_read_only_file_system(faulty: Installed) -> None:
    if subprocess.run([*_READ_ONLY, str(faulty.memory_os.home), "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no private mounts")
    within = (*_READ_ONLY, str(faulty.memory_os.home))
    text = "The winch is greased on Fridays."
    assert faulty.hermes.run("-z", text, within=within).strip() == "Understood."
    assert faulty.model.turn(text).blocks == []
    done = subprocess.run(
        [*within, *faulty.memory_os.command("serve")], env=faulty.hermes.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "Read-only file system" in done.stderr and "Traceback" not in done.stderr


def test_a_configuration_with_a_mistake(faulty: Installed) -> None:
    config = faulty.memory_os.home / "config.yaml"
    config.write_text("recall:\n  max_tokens: plenty\n", "utf-8")
    try:
        _told_and_answered(faulty, "The bilge pump is primed by hand.")
        done = faulty.memory_os.run("status", expect=None)
    finally:
        config.unlink()
    assert done.returncode != 0
    assert "recall.max_tokens" in done.stdout + done.stderr


def test_a_path_too_long_for_a_socket(new_home: Make) -> None:
    installed = new_home("x" * 90)
    _told_and_answered(installed, "The tide table hangs in the wheelhouse.")
    findings = " ".join(installed.memory_os.json("status", expect=3)["findings"])
    assert "service.socket" in findings
