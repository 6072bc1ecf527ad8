"""The plugin's folder: whole or not there, and nothing of it where the host would load it twice."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from memory_os import ground_truth
from memory_os.errors import HostError
from memory_os_workers.setup.plugin_folder import difference, place, source_folder, take_away


@pytest.fixture
def target(hermes_home: Path) -> Path:
    return hermes_home / "plugins" / "memory-os"


def test_it_is_the_source_and_how_to_start_the_service(target: Path, tmp_path: Path) -> None:
    place(target, tmp_path / "home", "soul")
    assert (target / "plugin.yaml").read_bytes() == (source_folder() / "plugin.yaml").read_bytes()
    launch = json.loads((target / "launch.json").read_text("utf-8"))
    assert launch == {"python": sys.executable, "home": str(tmp_path / "home"), "carrier": "soul"}
    assert (target / "ground_truth.md").read_text("utf-8") == ground_truth.RULES
    assert difference(target) == []
    assert not any("__pycache__" in str(path) for path in target.rglob("*"))
    assert stat.S_IMODE((target / "launch.json").stat().st_mode) == 0o600


def test_a_new_version_replaces_all_of_the_old(target: Path, tmp_path: Path) -> None:
    place(target, tmp_path, "soul")
    (target / "left_over.py").write_text("old")
    (target / "plugin.yaml").write_text("old")
    assert difference(target) == ["plugin.yaml"]
    place(target, tmp_path, "soul")
    assert difference(target) == []
    assert not (target / "left_over.py").exists()


def test_nothing_stays_beside_it(target: Path, tmp_path: Path, hermes_home: Path) -> None:
    for _ in range(2):
        place(target, tmp_path, "soul")
    assert [path.name for path in target.parent.iterdir()] == ["memory-os"]
    assert [path.name for path in hermes_home.iterdir()] == ["plugins"]


def test_a_killed_run_is_cleared_up(target: Path, tmp_path: Path, hermes_home: Path) -> None:
    (hermes_home / ".memory-os-plugin.new").mkdir()
    (hermes_home / ".memory-os-plugin.new" / "half").write_text("x")
    (hermes_home / ".memory-os-plugin.old").mkdir()
    place(target, tmp_path, "soul")
    assert take_away(target)
    assert list(hermes_home.iterdir()) == [target.parent]
    assert not take_away(target)


def test_a_link_is_left_alone(target: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "mine.py").write_text("x")
    target.parent.mkdir()
    target.symlink_to(checkout)
    for change in (lambda: place(target, tmp_path, "soul"), lambda: take_away(target)):
        with pytest.raises(HostError, match="link"):
            change()
    assert (checkout / "mine.py").exists()
