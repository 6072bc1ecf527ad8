"""Where things are: the Hermes home of this call, our folder in it, the service's socket, the installer's launch.json.

A gateway serves several profiles in one process, so the home is asked for in each call and never kept.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import host

# Links not followed: the host goes by the name in its plugins folder.
PLUGIN_FOLDER = Path(os.path.abspath(__file__)).parent  # noqa: PTH100
# What the host calls us, in both roles: the key of `plugins.enabled` and the value of `memory.provider`.
PLUGIN_KEY = "memory-os"


@dataclass(frozen=True, slots=True)
class Home:
    """One Hermes home and the memory-os folder that belongs to it."""

    hermes: Path
    root: Path

    @property
    def profile(self) -> str:
        """`default`, or the folder's name for a home below `profiles/`."""
        return self.hermes.name if self.hermes.parent.name == "profiles" else "default"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def socket(self) -> str:
        """The path the running service announced, else the default one."""
        announced = read_object(self.run / "service.json").get("socket")
        return announced if isinstance(announced, str) and announced else str(self.run / "service.sock")


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """launch.json, written beside this file by `memory-os setup`."""

    python: str = ""
    home: str = ""
    carrier: str = "soul"


def current_home() -> Home:
    """The home of the call that runs now. Ask on the host's thread: a gateway keeps it in a context variable."""
    return home_of(_hermes_home())


def home_of(hermes: Path) -> Home:
    """Our folder for one Hermes home: MEMORY_OS_HOME or the installer's choice for the process's own home, else inside.

    A home of another profile never gets the process's folder, so that two profiles don't share one memory by accident.
    """
    hermes = Path(os.path.abspath(hermes.expanduser()))  # noqa: PTH100 - absolute without following links, as in config
    chosen = ""
    if hermes == _process_home():
        chosen = os.environ.get("MEMORY_OS_HOME", "").strip() or launch_config().home
    root = Path(chosen).expanduser() if chosen else hermes / "memory-os"
    return Home(hermes=hermes, root=Path(os.path.abspath(root)))  # noqa: PTH100


def launch_config() -> LaunchConfig:
    """How to start the service. MEMORY_OS_PYTHON wins over the file; without either `python` is empty."""
    found = read_object(PLUGIN_FOLDER / "launch.json")
    python = os.environ.get("MEMORY_OS_PYTHON", "").strip() or _text(found.get("python"))
    return LaunchConfig(python=python, home=_text(found.get("home")), carrier=_text(found.get("carrier")) or "soul")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a small file; empty when the file is absent, unreadable or something else."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _hermes_home() -> Path:
    ask = host.find("hermes_constants", "get_hermes_home")
    return _process_home() if ask is None else Path(ask())


def _process_home() -> Path:
    given = os.environ.get("HERMES_HOME", "").strip() or "~/.hermes"
    return Path(os.path.abspath(Path(given).expanduser()))  # noqa: PTH100


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
