"""Leaving a home: the host's files as they were to the byte, the memory kept unless it is to go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from memory_os import ground_truth
from memory_os.config import Settings
from memory_os.engine import Engine
from memory_os_workers.setup import environment, manifest, plugin_folder
from memory_os_workers.setup.host_config import enable_plugin, parse
from memory_os_workers.setup.manifest import Manifest, change_file
from memory_os_workers.setup.steps import StepState
from memory_os_workers.setup.uninstall import planned_removals, remove_environment, run_uninstall
from plugin import loading  # noqa: F401 - makes `memory_os_plugin` importable

from memory_os_plugin import offswitch, paths  # isort: skip

CONFIG = b"# by hand\nmodel:   # inline\r\n  default: x\nplugins:\n    enabled: [foo]   # mine"


def installed(settings: Settings, config: bytes | None = CONFIG, soul: bytes | None = b"be brief") -> None:
    """What setup leaves in a home, made from its parts, without a host."""
    for folder in (settings.home, settings.spool_dir, settings.run_dir, settings.logs_dir):
        folder.mkdir(parents=True, exist_ok=True)
    settings.database.write_bytes(b"memory")
    record = Manifest(created_dirs=[str(settings.hermes_home / "plugins")])
    manifest.save(settings, record)
    plugin_folder.place(settings.hermes_home / "plugins" / "memory-os", settings.home, "soul")
    path = settings.hermes_home / "config.yaml"
    if config is not None:
        path.write_bytes(config)
    edit = enable_plugin((config or b"").decode(), "memory-os")
    made = {"listed": edit.listed, "undenied": edit.undenied, "provider": edit.provider}
    change_file(settings, record, path, edit.text.encode(), made)
    if soul is not None:
        settings.soul_file.write_bytes(soul)
    ground_truth.apply_block(settings.soul_file, scan=lambda _: [], backups=settings.backups_dir, seed="Be Hermes.")


def host_files(settings: Settings) -> dict[str, bytes]:
    root = settings.hermes_home
    paths = (path for path in root.rglob("*") if path.is_file() and settings.home not in path.parents)
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def leave(settings: Settings, *, purge: bool = False) -> list[StepState]:
    return [result.outcome for result in run_uninstall(settings, purge=purge)]


def test_host_files_are_as_before_and_the_memory_stays(settings: Settings) -> None:
    installed(settings)
    assert set(leave(settings)) == {StepState.DONE}
    assert host_files(settings) == {"config.yaml": CONFIG, "SOUL.md": b"be brief"}
    assert settings.database.read_bytes() == b"memory"
    assert not (settings.hermes_home / "plugins").exists()


def test_files_that_did_not_exist_are_gone(settings: Settings) -> None:
    installed(settings, config=None, soul=None)
    leave(settings)
    assert host_files(settings) == {}


def test_a_config_edited_since_keeps_the_edit(settings: Settings) -> None:
    installed(settings)
    path = settings.hermes_home / "config.yaml"
    path.write_bytes(path.read_bytes() + b"added: later  # theirs\n")
    leave(settings)
    text = path.read_bytes().decode()
    assert "# theirs" in text and "# by hand" in text and "# mine" in text
    assert parse(text)["plugins"]["enabled"] == ["foo"]
    assert "memory" not in parse(text), "setup made it; it goes with what stood in it"
    assert parse(text)["added"] == "later"


def test_a_soul_edited_since_keeps_the_edit(settings: Settings) -> None:
    installed(settings)
    settings.soul_file.write_bytes(settings.soul_file.read_bytes() + b"and kind\n")
    leave(settings)
    assert settings.soul_file.read_bytes() == b"be brief\nand kind\n"


def test_a_users_plugins_folder_stays(settings: Settings) -> None:
    installed(settings)
    theirs = settings.hermes_home / "plugins" / "theirs" / "plugin.yaml"
    theirs.parent.mkdir()
    theirs.write_text("name: theirs\n")
    leave(settings)
    assert theirs.exists()


def test_purge_takes_the_memory_and_nothing_of_others(settings: Settings) -> None:
    installed(settings)
    (settings.home / "notes.txt").write_text("not ours")
    results = {result.name: result for result in run_uninstall(settings, purge=True)}
    assert [path.name for path in settings.home.iterdir()] == ["notes.txt"]
    assert "memory removed" in results["files"].detail and "notes.txt" in results["files"].detail


def test_purge_of_a_home_of_ours_alone_removes_it(settings: Settings) -> None:
    installed(settings)
    leave(settings, purge=True)
    remove_environment(settings)
    assert not settings.home.exists()


def test_purge_of_a_used_home_leaves_nothing(settings: Settings) -> None:
    """What memory, the plugin's `/memory-os off`, the service and killed writes leave there."""
    installed(settings)
    settings.database.unlink()
    engine = Engine.open(settings)
    try:
        engine.call_tool("fact_store", {"action": "add", "content": "The spare key hangs behind the fuse box."}, {})
        assert engine.maintenance.run("backup", 1_790_000_000.0).error == ""
    finally:
        engine.close()
    offswitch.turn_off(paths.Home(hermes=settings.hermes_home, root=settings.home), "telegram:42")
    for name in (".restoring-abc", "qdrant", "models"):
        (settings.home / name).mkdir(exist_ok=True)
    (settings.home / ".0123456789abcdef.new").touch()
    results = {result.name: result for result in run_uninstall(settings, purge=True)}
    assert not settings.home.exists() or list(settings.home.iterdir()) == []
    assert "nothing is left in" in results["files"].detail


def test_purge_takes_the_shared_folders_that_setup_made_while_they_are_empty(settings: Settings) -> None:
    installed(settings)
    record = manifest.load(settings)
    record.created_dirs += [str(settings.fabric_dir), str(settings.vault)]
    manifest.save(settings, record)
    for folder in (settings.fabric_dir, settings.vault):
        folder.mkdir()
    (settings.vault / "mine.md").write_text("mine")
    leave(settings)
    assert settings.fabric_dir.exists(), "the memory stays, and so does where it is shared"
    manifest.save(settings, record)
    leave(settings, purge=True)
    assert not settings.fabric_dir.exists()
    assert (settings.vault / "mine.md").exists()


def test_purge_leaves_an_empty_folder_that_was_there_before(settings: Settings) -> None:
    installed(settings)
    settings.fabric_dir.mkdir()
    leave(settings, purge=True)
    assert settings.fabric_dir.exists()


def test_leaving_twice_is_leaving_once(settings: Settings) -> None:
    installed(settings)
    leave(settings)
    before = host_files(settings)
    assert set(leave(settings)) == {StepState.DONE}
    assert host_files(settings) == before


def test_leaving_a_home_that_was_never_installed(settings: Settings) -> None:
    (settings.hermes_home / "config.yaml").write_bytes(CONFIG)
    assert set(leave(settings)) == {StepState.DONE}
    assert host_files(settings) == {"config.yaml": CONFIG}


def test_one_step_that_fails_does_not_keep_the_others(settings: Settings) -> None:
    installed(settings)
    settings.soul_file.write_bytes(b"<!-- memory-os:begin v1 -->\n")
    results = {result.name: result for result in run_uninstall(settings)}
    assert results["ground truth"].outcome is StepState.WARNING
    assert results["files"].outcome is StepState.SKIPPED
    assert host_files(settings)["config.yaml"] == CONFIG
    assert (settings.home / manifest.NAME).exists(), "the record is needed for the next try"


def test_an_environment_that_another_home_made_stays(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEMORY_OS_VENV named that of another home, which still runs from it."""
    installed(settings)
    other = tmp_path / "other" / "memory-os"
    venv = other / "venv"
    venv.mkdir(parents=True)
    (venv / environment.MARK).write_text(f"{other}\n", "utf-8")
    monkeypatch.setattr(sys, "prefix", str(venv))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    environment.join(venv, settings.home)
    assert f"keep the environment {venv}" in planned_removals(settings, purge=False)[-1]
    results = {result.name: result for result in run_uninstall(settings, purge=True)}
    assert str(other) in results["files"].detail and "stays" in results["files"].detail
    remove_environment(settings)
    assert (venv / environment.MARK).exists()


def test_a_command_can_remove_the_environment_it_runs_in(settings: Settings) -> None:
    """Whatever it still has to import or to print, it has done before."""
    installed(settings)
    venv = settings.home / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (venv / environment.MARK).touch()
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))
    ours = Path(sysconfig.get_path("purelib"))
    for name in ("rich", "click", "pygments", "markdown_it"):
        shutil.copytree(ours / name, packages / name)
    root = Path(__file__).parents[2]
    (packages / "others.pth").write_text(f"{root / 'layers'}\n{root / 'workers'}\n{ours}\n")
    done = subprocess.run(
        [str(venv / "bin" / "python"), "-m", "memory_os_workers.cli", "uninstall", "--purge"],
        env={**os.environ, "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert not settings.home.exists()
    assert host_files(settings) == {"config.yaml": CONFIG, "SOUL.md": b"be brief"}


def test_the_plan_names_what_stays(settings: Settings) -> None:
    text = "\n".join(planned_removals(settings, purge=False))
    assert f"keep the memory in {settings.home}" in text
    assert str(settings.fabric_dir) in text


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(soul=st.binary(max_size=80), comment=st.text(alphabet="abc äß漢字#: ", max_size=20), crlf=st.booleans())
def test_any_files_come_back_to_the_byte(settings: Settings, soul: bytes, comment: str, crlf: bool) -> None:
    if soul.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    config = f"# {comment}\nmodel: x\nplugins:\n  enabled:\n  - a\n".replace("\n", "\r\n" if crlf else "\n").encode()
    installed(settings, config=config, soul=soul)
    leave(settings, purge=True)
    assert host_files(settings) == {"config.yaml": config, "SOUL.md": soul}
