"""What setup will do, as text. Standard library only: `setup.sh --dry-run` runs this file before any venv exists."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for. None leaves a value as it is."""

    hermes_home: Path
    home: Path
    fabric_dir: str | None = None
    vault_path: str | None = None
    qdrant_url: str | None = None
    redis_url: str | None = None
    start: bool = True

    @property
    def plugin_dir(self) -> Path:
        return self.hermes_home / "plugins" / "memory-os"

    @property
    def values(self) -> dict[str, str]:
        """The keys of config.yaml that the flags set."""
        given = {
            "fabric_dir": _absolute(self.fabric_dir),
            "vault_path": _absolute(self.vault_path),
            "servers.qdrant_url": self.qdrant_url,
            "servers.redis_url": self.redis_url,
        }
        return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Planned:
    """One step: its name in `steps.STEPS`, what it does, and whether it needs Hermes."""

    name: str
    what: str
    needs_host: bool = False


def planned(options: Options) -> list[Planned]:
    """All steps in order."""
    host = options.hermes_home
    values = ", ".join(f"{key}={value}" for key, value in options.values.items())
    if options.qdrant_url or options.redis_url:
        values += ", and the servers' secrets that stand in this environment,"
    steps = [
        Planned("folders", f"make {options.home} and its folders (mode 0700)"),
        Planned("config", f"set {values} in {options.home / 'config.yaml'}" if values else "keep config.yaml as it is"),
        Planned("model", f"write the embedding model to {options.home / 'models'} (from a wheel, no download)"),
        Planned("soul", f"put the ground-truth block into {host / 'SOUL.md'} (backup first)", needs_host=True),
        Planned("plugin", f"copy the plugin to {options.plugin_dir}"),
        Planned("enable", f"list memory-os in {host / 'config.yaml'} (backup first, comments kept)", needs_host=True),
        Planned("host", "load the plugin in Hermes's own interpreter and look at its hooks", needs_host=True),
    ]
    if options.start:
        steps.append(Planned("service", "start the service"))
        steps.append(Planned("round trip", "write a memory in a scratch scope, recall it, delete it"))
    return steps


def parser() -> argparse.ArgumentParser:
    """The flags of `memory-os setup`, for the dry run without a venv; those of setup.sh itself are ignored."""
    flags = argparse.ArgumentParser(prog="setup.sh", description=__doc__)
    for name in ("hermes-home", "fabric-dir", "vault-path", "qdrant-url", "redis-url", "python"):
        flags.add_argument(f"--{name}")
    for name in ("no-start", "yes", "dry-run", "uninstall", "purge", "json"):
        flags.add_argument(f"--{name}", action="store_true")
    return flags


def options_of(arguments: Sequence[str]) -> Options:
    """Options from a command line; exits with a message for an unknown flag."""
    given = parser().parse_args(list(arguments))
    host = Path(_absolute(given.hermes_home or os.environ.get("HERMES_HOME") or "~/.hermes") or "")
    home = Path(_absolute(os.environ.get("MEMORY_OS_HOME")) or host / "memory-os")
    return Options(
        host, home, given.fabric_dir, given.vault_path, given.qdrant_url, given.redis_url, start=not given.no_start
    )


def _absolute(path: str | None) -> str | None:
    return None if path is None or not path.strip() else os.path.abspath(os.path.expanduser(path))  # noqa: PTH100,PTH111


def main() -> None:
    options = options_of(sys.argv[1:])
    for number, step in enumerate(planned(options), 1):
        sys.stdout.write(f"  {number}. {step.what}{' (if Hermes is installed)' if step.needs_host else ''}\n")


if __name__ == "__main__":
    main()
