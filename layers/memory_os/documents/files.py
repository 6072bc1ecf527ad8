"""Which files a path means, and their bytes. Only regular files are ever opened, and nothing is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memory_os import constants
from memory_os.errors import DocumentUnreadable

__all__ = ["Content", "Found", "find_files", "find_folders", "is_gone", "is_meant", "read_file", "status_of"]

# Folders that hold no documents of the user, wherever they stand.
_PASSED_OVER = frozenset({"_archive", "_maps", "node_modules", "__pycache__"})
# A wiki's own bookkeeping, beside its SCHEMA.md.
_BOOKKEEPING = frozenset({"SCHEMA.md", "index.md", "log.md"})
# What curation proposes to change is not said yet; and names that programs give to a file they are still writing.
_NOT_YET = (".proposal.md", "~", ".part", ".partial", ".crdownload", ".download", ".tmp", ".swp", ".lock")


@dataclass(frozen=True, slots=True)
class Found:
    """A file to ingest; or, with `refused` set, one that is not and why; or, `excluded`, one not meant at all.

    `status` is its own, as the walk saw it; None if it could not be looked at.
    """

    path: Path
    refused: str = ""
    excluded: bool = False
    status: os.stat_result | None = None


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    mtime_ns: int


def find_files(root: Path, wiki: Path | None = None, own: Collection[Path] = ()) -> Iterator[Found]:
    """A file itself, or everything in a folder, sorted by name; `root` is resolved, links below it are not followed.

    Dot files, `_archive/`, `node_modules/`, `__pycache__/`, proposals, files still being written by their name, and the
    SCHEMA.md, index.md and log.md of a wiki (`wiki`, and any folder with a SCHEMA.md) are excluded, and so are the folders in `own`.
    """
    status = status_of(root)
    if status is None or not stat.S_ISDIR(status.st_mode):
        yield Found(root, excluded=_is_bookkeeping(root, wiki) or root.name.endswith(_NOT_YET), status=status)
        return
    # A stack and no recursion: folders may be nested deeper than Python calls.
    waiting = [Found(root, status=status)]
    while waiting:
        found = waiting.pop()
        if found.path in own:
            yield Found(found.path, excluded=True)
            continue
        if found.refused or found.excluded or found.status is None or not stat.S_ISDIR(found.status.st_mode):
            yield found
            continue
        try:
            waiting += reversed(list(_inside(found.path, root, wiki)))
        except OSError as error:
            yield Found(found.path, refused=_because(error))


def find_folders(root: Path) -> Iterator[Path]:
    """A folder and all below it in which `find_files` looks, the upper ones first. What can't be listed is passed over."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                below = [
                    folder / one.name for one in listing if is_meant(one.name) and one.is_dir(follow_symlinks=False)
                ]
        except OSError:
            continue
        waiting += below
        yield folder


def is_meant(name: str) -> bool:
    """Whether a file or folder of this name can hold a document, wherever it stands."""
    return not (name.startswith(".") or name in _PASSED_OVER or name.endswith(_NOT_YET))


def _is_bookkeeping(path: Path, wiki: Path | None) -> bool:
    return path.name in _BOOKKEEPING and (path.parent == wiki or (path.parent / "SCHEMA.md").exists())


def _inside(folder: Path, root: Path, wiki: Path | None) -> Iterator[Found]:
    """What a folder holds, by name. Raises OSError if it can't be listed."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    bookkeeping = folder == wiki or any(entry.name == "SCHEMA.md" for entry in entries)
    for entry in entries:
        path = folder / entry.name
        if not is_meant(entry.name) or (bookkeeping and entry.name in _BOOKKEEPING):
            yield Found(path, excluded=True)
        elif entry.is_symlink():
            yield Found(path, refused=_link_reason(path, root))
        else:
            status = _entry_status(entry)
            # A pipe, a socket or a device: whoever opens one waits for somebody at its other end.
            regular = status is None or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
            yield Found(path, refused="" if regular else "is no regular file", status=status)


def _entry_status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def read_file(path: Path) -> Content:
    """The bytes of a regular file. Raises DocumentUnreadable for anything else, too large, gone, or not readable."""
    try:
        # Not blocking: opening a pipe would wait for its writer. Not following: it was checked as what it is.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise DocumentUnreadable("is gone", gone=True) from error
    except OSError as error:
        raise _unreadable(_because(error), status_of(path)) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable("is a folder" if stat.S_ISDIR(status.st_mode) else "is no regular file", status)
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = _bounded(stream, status)
    except OSError as error:
        raise _unreadable(_because(error), status) from error
    finally:
        os.close(handle)
    return Content(data, status.st_mtime_ns)


def _bounded(stream: BinaryIO, status: os.stat_result) -> bytes:
    """The whole of it. A PDF may be larger than a text: most of it is pictures and fonts."""
    head = stream.read(1024)
    limit = constants.PDF_MAX_BYTES if b"%PDF-" in head else constants.DOCUMENT_MAX_BYTES
    # Its size first, and then what was read: it may grow meanwhile, or have no size that is known beforehand.
    size = status.st_size
    if size <= limit:
        data = head + stream.read(max(0, limit + 1 - len(head)))
        if len(data) <= limit:
            return data
        size = len(data)
    raise _unreadable(f"has {size / 2**20:.0f} MiB; at most {limit // 2**20} are taken", status)


def is_gone(path: Path) -> bool:
    """Surely gone, that is; a folder that can't be searched says nothing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _unreadable(reason: str, status: os.stat_result | None) -> DocumentUnreadable:
    if status is None:
        return DocumentUnreadable(reason)
    return DocumentUnreadable(reason, size=status.st_size, mtime_ns=status.st_mtime_ns)


def status_of(path: Path) -> os.stat_result | None:
    """A path's own status, or None if it can't be looked at."""
    try:
        return path.lstat()
    except OSError:
        return None


def _link_reason(path: Path, root: Path) -> str:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link to nothing"
    inside = target.is_relative_to(root)
    return "is a link to something in this folder" if inside else "is a link that leaves the folder"


def _because(error: OSError) -> str:
    return f"can't be read: {error.strerror}"
