from __future__ import annotations

import json
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os_plugin import paths


@pytest.mark.parametrize("variables", [{}, {"MEMORY_OS_HOME": "/elsewhere/mo"}])
@pytest.mark.parametrize("hermes", ["/data/hermes", "/data/hermes/profiles/travel", "/data/with space/h"])
def test_plugin_and_service_agree_on_every_path(
    monkeypatch: pytest.MonkeyPatch, hermes: str, variables: dict[str, str]
) -> None:
    environment = {"HERMES_HOME": hermes, **variables}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings, home = load_settings(environment), paths.current_home()
    assert (home.hermes, home.root, home.profile) == (settings.hermes_home, settings.home, settings.profile)
    assert (home.spool, home.run, home.logs) == (settings.spool_dir, settings.run_dir, settings.logs_dir)
    assert home.socket() == str(settings.socket)


def test_the_processs_own_folder_is_not_given_to_another_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_OS_HOME", "/elsewhere/mo")
    assert paths.current_home().root == Path("/elsewhere/mo")
    assert paths.home_of(Path("/h/profiles/travel")).root == Path("/h/profiles/travel/memory-os")


def test_launch_json_is_read_and_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "PLUGIN_FOLDER", tmp_path)
    assert paths.launch_config() == paths.LaunchConfig()
    (tmp_path / "launch.json").write_text(json.dumps({"python": "/v/bin/python", "home": "/mo", "carrier": "section"}))
    assert paths.launch_config() == paths.LaunchConfig("/v/bin/python", "/mo", "section")
    assert paths.current_home().root == Path("/mo")
    monkeypatch.setenv("MEMORY_OS_PYTHON", "/dev/python")
    assert paths.launch_config().python == "/dev/python"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"python": 5, "carrier": null}', "\xff"])
def test_a_spoilt_launch_json_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(paths, "PLUGIN_FOLDER", tmp_path)
    (tmp_path / "launch.json").write_bytes(content.encode("latin-1"))
    assert paths.launch_config() == paths.LaunchConfig()
