"""`install.json`: every change setup made outside its own home, so that uninstall undoes exactly those.

The record of a file is written before the file is: after a kill between the two, its digests tell what happened.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memory_os.config import Settings
from memory_os.errors import HostError
from memory_os.ground_truth import back_up, replace_bytes

NAME = "install.json"


@dataclass(slots=True)
class FileRecord:
    """A host file that was changed. `before` and `after` are SHA-256 of its bytes; `before` is "" if it was missing."""

    path: str
    before: str
    after: str
    backup: str = ""
    made: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Manifest:
    """What is installed for one home."""

    version: str = ""
    python: str = ""
    host_python: str = ""
    plugin_dir: str = ""
    created_dirs: list[str] = field(default_factory=list)
    files: dict[str, FileRecord] = field(default_factory=dict)


def load(settings: Settings) -> Manifest:
    """The manifest of this home; an empty one if nothing was installed. Raises HostError if it can't be read."""
    path = settings.home / NAME
    try:
        data = json.loads(path.read_text("utf-8"))
        files = {name: FileRecord(**record) for name, record in data.pop("files", {}).items()}
        return Manifest(**data, files=files)
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise HostError(
            f"{path} can't be read ({type(error).__name__}).",
            cure="Move it away and run setup again; backups of the host's files stand in backups/.",
        ) from error


def save(settings: Settings, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all. Raises HostError."""
    text = json.dumps(asdict(manifest), indent=2, sort_keys=True) + "\n"
    replace_bytes(settings.home / NAME, text.encode())


def digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


def change_file(settings: Settings, manifest: Manifest, path: Path, after: bytes, made: dict[str, bool]) -> None:
    """Write `after` to a host file: backup, record, then the file. Raises HostError.

    While the file still holds what setup wrote last time, the first backup stays the one to go back to.
    """
    target = path.resolve()
    before = target.read_bytes() if target.exists() else None
    known = manifest.files.get(path.name)
    if known is not None and digest(before) == known.after:
        known.after = digest(after)
        known.made |= {name: True for name, value in made.items() if value}
    else:
        backup = str(back_up(path, before, settings.backups_dir)) if before is not None else ""
        manifest.files[path.name] = FileRecord(str(path), digest(before), digest(after), backup, dict(made))
    save(settings, manifest)
    replace_bytes(target, after)


def original(record: FileRecord, current: bytes | None) -> tuple[bool, bytes | None]:
    """(True, the bytes to go back to) if nobody edited the file since; (False, None) otherwise. None bytes: no file."""
    if digest(current) != record.after:
        return False, None
    if not record.before:
        return True, None
    try:
        data = Path(record.backup).read_bytes()
    except OSError:
        return False, None
    return (True, data) if digest(data) == record.before else (False, None)
