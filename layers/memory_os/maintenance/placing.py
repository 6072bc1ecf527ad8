"""Where a restore puts the fabric and the wiki: where the configuration looks that is valid afterwards.

A config.yaml that is there stays, so it is that one. Where none is, the backup's is put back, without the folders of another
machine: then its files go to the home's own places.
"""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from memory_os.config import ENVIRONMENT, Settings, load_settings
from memory_os.errors import ConfigError

_KEYS = ("fabric_dir", "vault_path")


@dataclass(frozen=True, slots=True)
class Placing:
    """`roots` by the first part of a file's path in a backup. `without`: keys of its config.yaml that can't hold here, and
    where they point. `refused`: why that file is not put back at all, or ""."""

    roots: dict[str, Path]
    without: dict[str, Path] = field(default_factory=dict)
    refused: str = ""

    @property
    def notes(self) -> list[str]:
        """For a person."""
        return [
            f"{key} is not taken over: {folder} is not there, or can't be written. Its files are in {self.roots[_ROOT_OF[key]]}"
            for key, folder in self.without.items()
        ]


_ROOT_OF = {"fabric_dir": "fabric", "vault_path": "wiki"}


def placing(settings: Settings, config: Path | None) -> Placing:
    """`config` is the backup's config.yaml, if it has one."""
    if config is None or settings.config_file.exists():
        return Placing(_roots(settings))
    try:
        read = load_settings({"MEMORY_OS_HOME": str(config.parent)}, hermes_home=settings.hermes_home)
    except ConfigError as error:
        return Placing(_roots(settings), refused=error.message)
    # A variable of this machine goes before any file.
    fixed = {key: getattr(settings.values, key) for key in _KEYS if settings.origins.get(key) in ENVIRONMENT}
    values = read.values.model_copy(update=fixed)
    after = dataclasses.replace(settings, values=values)
    folders = {"fabric_dir": after.fabric_dir, "vault_path": after.vault}
    without = {
        key: folder
        for key, folder in folders.items()
        if key in read.origins and key not in fixed and not _is_usable(folder)
    }
    values = values.model_copy(update=dict.fromkeys(without))
    return Placing(_roots(dataclasses.replace(after, values=values)), without)


def config_without(config: Path, keys: Iterable[str]) -> bytes:
    """A config.yaml that lacks some of its keys, everything else and its comments kept. Raises OSError."""
    yaml = YAML()
    document = yaml.load(config.read_text("utf-8"))
    for key in keys:
        del document[key]
    written = io.BytesIO()
    yaml.dump(document, written)
    return written.getvalue()


def _roots(settings: Settings) -> dict[str, Path]:
    return {"fabric": settings.fabric_dir, "wiki": settings.vault / "wiki"}


def _is_usable(folder: Path) -> bool:
    """Whether it is there, or can be made in a folder that is."""
    there = folder if folder.exists() else folder.parent
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
