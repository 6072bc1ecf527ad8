"""What a full backup says of itself: every file with its size and SHA-256, and with what it was written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from memory_os import __version__, constants
from memory_os.errors import BackupError, StoreNewer
from memory_os.store.schema import SCHEMA_VERSION

MANIFEST = "manifest.json"
# Raised when an older memory-os couldn't read a set any more.
FORMAT = 1
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """One file of a set: its path inside, POSIX, relative."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`made_at` in epoch seconds; `roots` says where `fabric/`, `wiki/` and `memories/` came from."""

    made_at: float
    home_id: str
    files: list[File]
    counts: dict[str, int]
    roots: dict[str, str]
    skipped: list[str] = field(default_factory=list)
    vectors: str = "not copied: rebuilt from the embeddings in memory.db at the first start"
    version: str = __version__
    schema: int = SCHEMA_VERSION
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def write(self, folder: Path) -> None:
        path = folder / MANIFEST
        # ASCII: a name of a file need not be UTF-8, and its odd bytes are kept as escapes.
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "ascii")
        path.chmod(constants.FILE_MODE)


def read_manifest(folder: Path) -> Manifest:
    """Raises BackupError if it isn't there or isn't one, StoreNewer if a newer memory-os made the set."""
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text("utf-8"))
        files = [File(str(one["path"]), int(one["bytes"]), str(one["sha256"])) for one in data.pop("files")]
        newer = max(int(data["format"]) - FORMAT, int(data["schema"]) - SCHEMA_VERSION) > 0
    except FileNotFoundError:
        raise BackupError(f"{folder} has no {MANIFEST}: it is no full backup.", cure="Name a folder `full-…`.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{path} can't be read: {error}.", cure="Take another backup.") from error
    if newer:
        raise StoreNewer(f"{folder} was made by a newer memory-os ({data.get('version')}).", cure="Upgrade memory-os.")
    return _made(path, data, files)


def faults(folder: Path, manifest: Manifest) -> list[str]:
    """What is not as the manifest says; empty when every file is there to the byte."""
    found = []
    for file in manifest.files:
        path = inside(folder, file.path)
        try:
            if digest(path) != file.sha256:
                found.append(f"{file.path} was changed")
        except OSError as error:
            found.append(f"{file.path}: {error.strerror}")
    return found


def inside(folder: Path, relative: str) -> Path:
    """The path of a file of a set. Raises BackupError for one that leaves the folder, by its name or by a link."""
    pure = PurePosixPath(relative)
    path = (folder / pure).resolve()
    if pure.is_absolute() or ".." in pure.parts or not path.is_relative_to(folder.resolve()):
        raise BackupError(f"The manifest names {relative!r}, which is not inside the backup.", cure="Take another backup.")
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError."""
    hashed = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()


def _made(path: Path, data: dict[str, Any], files: list[File]) -> Manifest:
    known = {name: data[name] for name in Manifest.__slots__ if name in data}
    try:
        return Manifest(files=files, **known)
    except TypeError as error:
        raise BackupError(f"{path} is incomplete: {error}.", cure="Take another backup.") from error
