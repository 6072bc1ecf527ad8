"""Whose an environment is: only the home it was made for may remove it, and only while no other runs from it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from memory_os_workers.setup import environment, manifest


def home_of(folder: Path, venv: Path | None = None) -> Path:
    """A MEMORY_OS_HOME, installed from `venv` if one is given."""
    folder.mkdir(parents=True, exist_ok=True)
    if venv is not None:
        (folder / manifest.NAME).write_text(json.dumps({"python": str(venv / "bin" / "python")}), "utf-8")
    return folder


def venv_of(folder: Path, *homes: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / environment.MARK).write_text("".join(f"{home}\n" for home in homes), "utf-8")
    return folder


def test_only_an_environment_with_the_mark_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert environment.current() is None
    venv_of(tmp_path)
    assert environment.current() == tmp_path
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert environment.current() is None, "no environment at all"


def test_its_maker_removes_it_and_no_other(tmp_path: Path) -> None:
    maker, other = home_of(tmp_path / "a"), home_of(tmp_path / "b")
    venv = venv_of(tmp_path / "elsewhere", maker)
    environment.join(venv, other)
    environment.join(venv, other)
    assert (venv / environment.MARK).read_text("utf-8") == f"{maker}\n{other}\n"
    assert environment.why_kept(venv, maker) == ""
    assert str(maker) in environment.why_kept(venv, other)


@pytest.mark.parametrize("inside", [True, False])
def test_its_maker_leaves_it_while_another_home_runs_from_it(tmp_path: Path, inside: bool) -> None:
    maker = home_of(tmp_path / "a")
    venv = venv_of(maker / "venv" if inside else tmp_path / "elsewhere", maker)
    other = home_of(tmp_path / "b", venv)
    environment.join(venv, other)
    assert str(other) in environment.why_kept(venv, maker)
    home_of(other, tmp_path / "b" / "venv")
    assert environment.why_kept(venv, maker) == "", "that home has moved to an environment of its own"
    (other / manifest.NAME).write_text("{", "utf-8")
    assert str(other) in environment.why_kept(venv, maker), "in doubt it stays"
    (other / manifest.NAME).unlink()
    assert environment.why_kept(venv, maker) == "", "that home was left"


def test_an_empty_mark_of_an_earlier_version(tmp_path: Path) -> None:
    """In the home's own folder it was made for that home; elsewhere nobody knows, so it stays."""
    home = home_of(tmp_path / "a")
    assert environment.why_kept(venv_of(home / "venv"), home) == ""
    assert "isn't known" in environment.why_kept(venv_of(tmp_path / "elsewhere"), home)


def test_joining_an_earlier_versions_environment_makes_nobody_its_maker(tmp_path: Path) -> None:
    venv, other = venv_of(tmp_path / "a" / "venv"), home_of(tmp_path / "b")
    environment.join(venv, other)
    assert "isn't known" in environment.why_kept(venv, other)
    owner = home_of(tmp_path / "a", venv)
    environment.join(venv, other)
    assert str(owner) in environment.why_kept(venv, other)
    assert environment.why_kept(venv, owner) == ""
