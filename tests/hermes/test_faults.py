"""A service that cannot start: the turn goes on, and `memory-os status` says why."""

from __future__ import annotations

import json

import pytest

from hermes.conftest import Installed, Make


def _told_and_answered(installed: Installed) -> None:
    """One turn that memory has no part in."""
    assert installed.hermes.oneshot("The tide table hangs in the wheelhouse.") == "Understood."
    assert installed.model.turn("The tide table").blocks == []


def test_an_interpreter_that_is_gone(new_home: Make) -> None:
    installed = new_home("no-interpreter")
    launch = installed.hermes.path / "plugins" / "memory-os" / "launch.json"
    config = json.loads(launch.read_text("utf-8"))
    launch.write_text(json.dumps({**config, "python": "/nonexistent/bin/python"}), "utf-8")
    _told_and_answered(installed)
    status = installed.memory_os.json("status", expect=3)
    assert "/nonexistent/bin/python" in status["last_error"]["error"]
    assert status["spool_depth"] >= 1, "the turn waits on disk"

    launch.write_text(json.dumps(config), "utf-8")
    installed.memory_os.start()
    installed.memory_os.settle()
    installed.hermes.oneshot("Where does the tide table hang?")
    assert "wheelhouse" in installed.model.turn("Where does the tide table hang?").injected, "nothing was lost"


def test_a_home_that_cannot_be_written(new_home: Make) -> None:
    installed = new_home("unwritable")
    home = installed.memory_os.home
    home.rename(home.with_name("memory-os-aside"))
    home.write_text("a file in the way of the folder", "utf-8")
    _told_and_answered(installed)
    done = installed.memory_os.run("status", expect=None)
    assert done.returncode != 0
    assert str(home) in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_a_configuration_with_a_mistake(new_home: Make) -> None:
    installed = new_home("misconfigured")
    (installed.memory_os.home / "config.yaml").write_text("recall:\n  max_tokens: plenty\n", "utf-8")
    _told_and_answered(installed)
    done = installed.memory_os.run("status", expect=None)
    assert done.returncode != 0
    assert "recall.max_tokens" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["a home with spaces", "x" * 90])
def test_a_home_with_an_awkward_path(new_home: Make, name: str) -> None:
    """Spaces are fine; a path too long for a socket is said, with its cure, and breaks no turn."""
    installed = new_home(name)
    installed.hermes.oneshot("The tide table hangs in the wheelhouse.")
    if len(name) < 80:
        installed.memory_os.start()
        assert installed.memory_os.running
        return
    findings = " ".join(installed.memory_os.json("status", expect=3)["findings"])
    assert "service.socket" in findings
