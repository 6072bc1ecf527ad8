"""FABRIC_DIR as files: what is there, read whole or not at all, written whole or not at all.

Several instances write here at once without a lock: each entry is a new file of a name of its own, made as a dot file
and renamed. No path leaves the folder, whatever an entry, a link or an agent is called.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memory_os import constants
from memory_os.atomic import write_whole
from memory_os.errors import FabricError

# An entry is something a model wrote or a person pasted; a larger file is a log or an export under the wrong name.
ENTRY_MAX_BYTES = 2 * 1024 * 1024

if TYPE_CHECKING:
    _Entries = os._ScandirIterator[str]

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_REFUSED = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may hold an entry. `path` is relative to the folder, with `/`."""

    path: str
    size: int
    modified_ns: int


@dataclass(slots=True)
class Listing:
    """All there is. `refused`: path -> reason; `unreadable`: folders whose files are unknown, not gone."""

    files: dict[str, Found] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def unknown(self, path: str) -> bool:
        return any(not one or path.startswith(f"{one}/") for one in self.unreadable)


class Folder:
    """One shared folder. All paths in and out are relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def scan(self) -> Listing:
        """Every Markdown file below the root, dot files and temporary names left out. Raises FabricError."""
        listing = Listing()
        try:
            real = self.root.resolve(strict=True)
            waiting: list[tuple[str, _Entries]] = [("", os.scandir(real))]
        except OSError as error:
            raise self._typed(error, "be read") from error
        while waiting:
            prefix, entries = waiting.pop()
            with entries:
                for one in _listed(entries, prefix, listing):
                    path = f"{prefix}{one.name}"
                    if one.is_dir(follow_symlinks=False):
                        self._enter(one, path, waiting, listing)
                    elif _is_entry(one.name) or one.is_symlink():
                        self._take(one, path, real, listing)
        return listing

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises FabricError if it can't be read or lies outside."""
        try:
            return self._inside(path).read_bytes()
        except OSError as error:
            raise FabricError(f"{path} can't be read: {error.strerror}.", cure="Check its owner and mode.") from error

    def look(self, path: str) -> Found:
        """Size and time of one file. Raises FabricError."""
        try:
            status = self._inside(path).stat()
        except OSError as error:
            raise FabricError(f"{path} can't be read: {error.strerror}.", cure="Check its owner and mode.") from error
        return Found(path, status.st_size, status.st_mtime_ns)

    def create(self, name: str, data: bytes) -> str:
        """A new file in the root, complete or absent. Returns its path. Raises FabricError."""
        self._make_root()
        target = self._inside(name)
        if target.exists():
            raise FabricError(f"{name} already exists in the fabric.", cure="Write the entry again.")
        self._publish(target, data)
        return name

    def ensure(self, path: str, data: bytes) -> bool:
        """A file that is not an entry, with its folder, if it is not there. False if it is. Raises FabricError."""
        self._make_root()
        target = self._inside(path)
        try:
            if target.exists():
                return False
            target.parent.mkdir(exist_ok=True, mode=self.root.stat().st_mode & 0o777)
        except OSError as error:
            raise self._typed(error, "be written") from error
        self._publish(target, data)
        return True

    def replace(self, path: str, data: bytes, *, expected: bytes) -> None:
        """Rewrite a file that still says `expected`. Raises FabricError if somebody edited it meanwhile."""
        target = self._inside(path)
        if self.read(path) != expected:
            raise FabricError(f"{path} was edited meanwhile.", cure="Call again; the edit is kept.")
        self._publish(target, data)

    def remove(self, path: str) -> bool:
        """Delete a file. False if it was gone already. Raises FabricError."""
        try:
            self._inside(path).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._typed(error, "be written") from error
        return True

    def mount_point(self) -> str:
        """The mount the folder lies on. When a share is not mounted, this is another one than before."""
        path = self.root.resolve()
        while not os.path.ismount(path) and path != path.parent:
            path = path.parent
        return str(path)

    def populated(self) -> bool:
        """Whether any entry can be seen. Raises FabricError."""
        return self.root.is_dir() and bool(self.scan().files)

    def writable(self) -> bool:
        return os.access(self.root, os.W_OK | os.X_OK)

    def _enter(self, one: os.DirEntry[str], path: str, waiting: list[tuple[str, _Entries]], listing: Listing) -> None:
        try:
            waiting.append((f"{path}/", os.scandir(one.path)))
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            listing.unreadable.append(path)
            listing.refused[path] = f"folder can't be read: {error.strerror}"

    def _take(self, one: os.DirEntry[str], path: str, real: Path, listing: Listing) -> None:
        try:
            if one.is_symlink():
                self._judge_link(one, path, real, listing)
                return
            status = one.stat(follow_symlinks=False)
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            listing.refused[path] = f"can't be read: {error.strerror}"
            return
        if not stat.S_ISREG(status.st_mode):
            listing.refused[path] = "not a regular file"
        elif status.st_size > ENTRY_MAX_BYTES:
            listing.refused[path] = f"larger than {ENTRY_MAX_BYTES // 1024} KB"
        else:
            listing.files[path] = Found(path, status.st_size, status.st_mtime_ns)

    def _judge_link(self, one: os.DirEntry[str], path: str, real: Path, listing: Listing) -> None:
        """A link is never followed: inside the folder its target is read by its own name, outside it is refused."""
        if not Path(one.path).resolve().is_relative_to(real):
            listing.refused[path] = "a link out of the folder"

    def _inside(self, path: str) -> Path:
        """The absolute path of `path`, its folder resolved. Raises FabricError if that is not inside the root."""
        root = self.root.resolve()
        target = (root / path).parent.resolve() / Path(path).name
        if not path or target == root or not target.is_relative_to(root) or target.is_symlink():
            raise FabricError(f"{path!r} is not inside {self.root}.", cure="Entries stay in FABRIC_DIR.")
        return target

    def _make_root(self) -> None:
        try:
            if not self.root.is_dir():
                self.root.mkdir(parents=True, mode=constants.DIRECTORY_MODE)
        except OSError as error:
            raise self._typed(error, "be made") from error

    def _publish(self, target: Path, data: bytes) -> None:
        """A file is as readable as the folder it lies in: 0600 in a private one, open to the group where the group
        shares the folder."""
        try:
            write_whole(target, data, mode=target.parent.stat().st_mode & 0o666 | constants.FILE_MODE)
        except OSError as error:
            raise self._typed(error, "be written") from error

    def _typed(self, error: OSError, what: str) -> FabricError:
        if error.errno in _FULL:
            return FabricError(f"{self.root} is full.", cure="Free some space there; nothing was half written.")
        if isinstance(error, FileNotFoundError):
            return FabricError(f"{self.root} is not there.", cure="Mount the share, or set FABRIC_DIR to a folder.")
        if isinstance(error, (NotADirectoryError, FileExistsError)):
            return FabricError(f"{self.root} is not a folder.", cure="Set FABRIC_DIR to a folder.")
        if error.errno in _REFUSED:
            return FabricError(
                f"{self.root} can't {what}: {error.strerror}.", cure="Check the folder's owner, mode and mount options."
            )
        return FabricError(f"{self.root} can't {what}: {error.strerror}.", cure="Check the disk or the share.")


def _listed(entries: Iterator[os.DirEntry[str]], prefix: str, listing: Listing) -> Iterator[os.DirEntry[str]]:
    """A folder's visible names. A share that breaks off in the middle makes the folder unreadable, not empty."""
    while True:
        try:
            one = next(entries, None)
        except OSError as error:
            folder = prefix.rstrip("/")
            listing.unreadable.append(folder)
            listing.refused[folder or "."] = f"folder can't be read: {error.strerror}"
            return
        if one is None:
            return
        if one.name.startswith((".", "~", "#")):
            continue
        if any("\ud800" <= char <= "\udfff" for char in one.name):
            shown = f"{prefix}{one.name}".encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            listing.refused[shown] = "its name is not UTF-8"
            continue
        yield one


def _is_entry(name: str) -> bool:
    return name.lower().endswith(".md")
