"""Writing a file whole or not at all: beside it under a name of its own, then renamed over it."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from memory_os import constants

__all__ = ["write_whole"]

# What a file system that can't sync a folder says: a share, a container's mount.
_NO_FOLDER_SYNC = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM))


def write_whole(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Put `data` at `path`; whoever reads it meanwhile has the old file or the new one. The folder must exist.

    `mode`: None keeps that of the file that is there (and, for root, its owner), else 0600. At no moment is the file more
    readable than that: it may hold keys. `durable`: on disk before this returns, and its name too.
    Raises OSError, and leaves nothing behind.
    """
    kept = None
    with suppress(FileNotFoundError):
        kept = path.stat()
    temporary = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, constants.FILE_MODE)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        _dress(temporary, kept, mode)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync_folder(path.parent)


def _dress(temporary: Path, kept: os.stat_result | None, mode: int | None) -> None:
    wanted = mode if mode is not None else kept.st_mode & 0o7777 if kept is not None else constants.FILE_MODE
    if wanted != constants.FILE_MODE:
        temporary.chmod(wanted)
    if kept is not None and mode is None and os.geteuid() == 0:
        os.chown(temporary, kept.st_uid, kept.st_gid)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the file system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
