"""Whose the Python environment is that a command runs in: one may serve several homes, and only its maker removes it.

`setup.sh` leaves a mark in an environment it makes: a text file, one MEMORY_OS_HOME a line, first the home it was made
for. Each home that is set up from it adds itself. (Marks of earlier versions are empty.)
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from memory_os.errors import HostError

from memory_os_workers.setup import manifest

MARK = ".memory-os-venv"


def current() -> Path | None:
    """The environment this process runs in, if `setup.sh` made it; no other folder is ever removed as one."""
    prefix = Path(sys.prefix)
    return prefix if (prefix / MARK).is_file() and sys.prefix != sys.base_prefix else None


def join(venv: Path, home: Path) -> None:
    """Note that `home` runs from `venv`. Raises HostError."""
    mark = venv / MARK
    try:
        listed = mark.read_text("utf-8").splitlines()
        maker: list[str] = []
        if not listed and not _inside(venv, home):
            # An earlier version named nobody: it was made for the home it lies in, or nobody knows and it stays that way.
            maker = [str(venv.parent)] if (venv.parent / manifest.NAME).exists() else []
            if not maker:
                return
        if str(home) not in listed:
            mark.write_text("".join(f"{one}\n" for one in (*listed, *maker, str(home))), "utf-8")
    except OSError as error:
        raise HostError(f"{mark} can't be written: {error.strerror}.", cure="Check its owner.") from error


def why_kept(venv: Path, home: Path) -> str:
    """Why leaving `home` must not remove `venv`; "" if it may: it was made for this home, and no other runs from it."""
    listed = _listed(venv)
    if not _inside(venv, home) and (not listed or not _same(listed[0], home)):
        maker = f"it was made for {listed[0]}" if listed else "it isn't known to have been made for this home"
        return f"{maker}; if nothing else runs from it, remove it yourself"
    others = [one for one in listed if not _same(one, home) and _runs_from(one, venv)]
    return f"{', '.join(map(str, others))} also runs from it" if others else ""


def _listed(venv: Path) -> list[Path]:
    with suppress(OSError, ValueError):
        return [Path(line) for line in (venv / MARK).read_text("utf-8").splitlines() if line]
    return []


def _runs_from(home: Path, venv: Path) -> bool:
    """Whether that home is installed still, with this environment, by its own record. One that can't be read counts."""
    try:
        python = str(json.loads((home / manifest.NAME).read_text("utf-8"))["python"])
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True
    # Not resolved as a whole: an environment's python is a link to another place.
    return _same(Path(python).parent.parent, venv)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _inside(venv: Path, home: Path) -> bool:
    return venv.resolve().is_relative_to(home.resolve())
