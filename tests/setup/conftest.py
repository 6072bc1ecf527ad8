"""Homes to install into, and the real hosts of both lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memory_os import embedding
from memory_os.config import Settings, load_settings

HOSTS = {"0.19": "MEMORY_OS_TEST_HERMES_019", "0.22": "MEMORY_OS_TEST_HERMES_022"}


@pytest.fixture
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hermes home with a space in its path, the one of this process; no Hermes is to be found on this machine."""
    home = tmp_path / "a home"
    home.mkdir()
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("HOME", str(tmp_path))
    return home


@pytest.fixture
def settings(hermes_home: Path) -> Settings:
    return load_settings(hermes_home=hermes_home)


@pytest.fixture(params=sorted(HOSTS))
def hermes(request: pytest.FixtureRequest) -> Path:
    """The `hermes` executable of a real host. A missing one is a failure, never a skip."""
    variable = HOSTS[request.param]
    named = os.environ.get(variable)
    prepared = Path(__file__).parents[2] / ".venvs" / f"hermes-{request.param}" / "bin" / "hermes"
    executable = Path(named) if named else prepared
    if not executable.is_file():
        pytest.fail(f"no Hermes {request.param}: set {variable}, or run scripts/test once")
    return executable


@pytest.fixture
def with_host(hermes: Path, hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, with the real `hermes` on PATH."""
    monkeypatch.setenv("PATH", f"{hermes.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return hermes_home


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedding model, written once for all tests."""
    return embedding.prepare_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def prepared_model(hermes_home: Path, model_folder: Path) -> None:
    """The model in this home, linked, as a first setup would have left it."""
    target = hermes_home / "memory-os" / "models"
    target.mkdir(parents=True)
    for path in model_folder.iterdir():
        os.link(path, target / path.name)
