"""The plugin's folder in a Hermes home: copied whole from this installation, taken away whole."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import memory_os
from memory_os import constants, ground_truth
from memory_os.errors import HostError

# Not inside plugins/: Hermes loads any folder with a plugin.yaml there, hidden ones too.
_STAGING = ".memory-os-plugin.new"
_PREVIOUS = ".memory-os-plugin.old"

LAUNCH = "launch.json"
RULES = "ground_truth.md"


def source_folder() -> Path:
    """The plugin as it came with this installation. Raises HostError if it is missing."""
    package = Path(memory_os.__file__).resolve().parent
    for candidate in (package / "plugin", package.parents[1] / "plugins" / "memory_os"):
        if (candidate / "plugin.yaml").is_file():
            return candidate
    raise HostError("This installation carries no plugin folder.", cure="Reinstall memory-os with ./setup.sh.")


def place(target: Path, home: Path, carrier: str) -> None:
    """Put the plugin at `target`, beside it how to start the service and the rules' text. Raises HostError.

    The previous folder stays until the new one is complete; a killed run leaves one of the two.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise HostError(f"{target} is a link or a file, not a plugin folder.", cure="Remove it, then run setup again.")
    hermes_home = target.parents[1]
    staging, previous = hermes_home / _STAGING, hermes_home / _PREVIOUS
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        _gone(staging)
        shutil.copytree(source_folder(), staging, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*"))
        launch = {"python": sys.executable, "home": str(home), "carrier": carrier}
        (staging / LAUNCH).write_text(json.dumps(launch, indent=2) + "\n", "utf-8")
        (staging / RULES).write_text(ground_truth.RULES, "utf-8")
        _make_private(staging)
        if target.exists():
            _gone(previous)
            target.rename(previous)
        staging.rename(target)
        _gone(previous)
    except OSError as error:
        raise HostError(f"{target} can't be written: {error.strerror or error}.", cure="Check its owner.") from error


def take_away(target: Path) -> bool:
    """Remove the plugin's folder and what a killed run left beside it. True if there was one. Raises HostError."""
    if target.is_symlink():
        raise HostError(f"{target} is a link that setup did not make.", cure="Remove it yourself if you want it gone.")
    try:
        for leftover in (_STAGING, _PREVIOUS):
            _gone(target.parents[1] / leftover)
        if not target.exists():
            return False
        shutil.rmtree(target)
    except OSError as error:
        raise HostError(f"{target} can't be removed: {error.strerror or error}.", cure="Check its owner.") from error
    return True


def difference(target: Path) -> list[str]:
    """Names of files that differ from this installation's, or are missing; empty when the copy is current."""
    source = source_folder()
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = [path.relative_to(source) for path in files]
    return sorted(
        str(name)
        for name in names
        if not (target / name).is_file() or (target / name).read_bytes() != (source / name).read_bytes()
    )


def _make_private(folder: Path) -> None:
    folder.chmod(constants.DIRECTORY_MODE)
    for path in folder.rglob("*"):
        path.chmod(constants.DIRECTORY_MODE if path.is_dir() else constants.FILE_MODE)


def _gone(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
