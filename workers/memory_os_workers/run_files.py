"""What a running service leaves in `run/`: the lock, the socket, who it is, why it could not start.

The service writes these files; the CLI and the plugin read them. None of them outlives its meaning: the lock is the
kernel's (a killed process holds none), a socket is removed only by the lock's holder, `last-error.json` goes at the
next good start.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

from memory_os import __version__, constants
from memory_os.atomic import write_whole
from memory_os.config import Settings
from memory_os.errors import MemoryOSError, ServiceError, ServiceRunning, SocketPathTooLong

from memory_os_workers.entry import is_upgrading

# Clients that connect at the same moment wait here; a full backlog refuses a unix socket with EAGAIN.
BACKLOG = 1024
_UNCLEAN = "unclean-end.json"


class InstanceLock:
    """`run/service.lock`, held for life: the proof that this is the only service of its home."""

    def __init__(self, settings: Settings) -> None:
        self.path = settings.run_dir / "service.lock"
        self._descriptor = -1

    def acquire(self) -> None:
        """Take the lock and write our pid into it. Raises ServiceRunning (naming the holder) or ServiceError."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, constants.FILE_MODE)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise ServiceRunning(
                f"A service already runs for {self.path.parent.parent} (pid {holder or 'unknown'}).",
                cure="`memory-os status` shows it, `memory-os stop` ends it.",
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise cannot_write(self.path, error) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back. The file stays: unlinking a lock file lets two processes hold two locks of one name."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def lock_holder(settings: Settings) -> int | None:
    """The pid of the service that holds the home's lock, whether or not its socket can be reached; None if none does."""
    try:
        descriptor = os.open(settings.run_dir / "service.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdecimal() and int(text) > 1 else None
    finally:
        os.close(descriptor)
    return None


def socket_identity(path: Path) -> tuple[int, int] | None:
    """Which file the socket's path names now: (device, inode), or None if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove_socket(settings: Settings, bound: tuple[int, int] | None) -> None:
    """Remove our own socket; one that another service has put in its place stays."""
    if bound is not None and socket_identity(settings.socket) == bound:
        settings.socket.unlink(missing_ok=True)


def prepare_home(settings: Settings) -> None:
    """Make the folders a service needs, private to the user. Raises ServiceError naming the folder and the reason."""
    for folder in (settings.home, settings.run_dir, settings.spool_dir, settings.logs_dir):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            folder.chmod(constants.DIRECTORY_MODE)
        except OSError as error:
            raise cannot_write(folder, error) from error


def checked_socket_path(settings: Settings) -> Path:
    """The socket's path, if the kernel can take it. Raises SocketPathTooLong."""
    path = settings.socket
    length = len(os.fsencode(path))
    if length > constants.SOCKET_PATH_MAX:
        raise SocketPathTooLong(
            f"The socket path {path} has {length} bytes; the system allows {constants.SOCKET_PATH_MAX}.",
            cure=f"Set a shorter one: `service.socket: /tmp/memory-os-{os.getuid()}/service.sock`"
            f" in {settings.config_file}.",
        )
    return path


def bind_socket(settings: Settings) -> socket.socket:
    """A listening unix socket, mode 0600. Call only with the instance lock held: a stale socket is removed here.

    It listens before the service has loaded anything, so an early client waits in the backlog and is not refused.
    """
    path = checked_socket_path(settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        if path.parent != settings.run_dir:  # which we keep private
            _check_own(path.parent)
        _remove_stale(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Between bind and chmod the socket would be open to others; the mask closes that gap.
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError:
            listener.close()
            raise
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except OSError as error:
        raise cannot_write(path, error) from error
    listener.setblocking(False)
    return listener


def _check_own(folder: Path) -> None:
    """Whoever else can write to the socket's folder could put a socket of their own there, and be told what is said."""
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ServiceError(
            f"{folder} is no folder for a socket: others can write to it.",
            cure="Set `service.socket` in a folder that is yours alone (`chmod 700`).",
        )


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ServiceError(f"{path} is in the way: it is not a socket.", cure="Move it, or set `service.socket`.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        if probe.connect_ex(str(path)) == 0:
            # Our lock is free, so this is somebody else's: two homes were given one `service.socket`.
            raise ServiceError(
                f"{path} is used by another program, perhaps the service of another home.",
                cure="Give each home its own `service.socket`.",
            )
    path.unlink()


def announce(settings: Settings, started_at: float) -> None:
    """Write `run/service.json` and `run/service.pid`: who runs here, for the plugin and `status`.

    A record that is still there is of a service that did not end well; `status` tells of it once.
    """
    before = left_behind(settings)
    if before:
        write_json(settings.run_dir / _UNCLEAN, before)
    write_json(
        settings.run_dir / "service.json",
        {
            "pid": os.getpid(),
            "socket": str(settings.socket),
            "version": __version__,
            "started_at": started_at,
            "python": sys.executable,
        },
    )
    pid_file = settings.run_dir / "service.pid"
    pid_file.write_text(f"{os.getpid()}\n", "ascii")
    pid_file.chmod(constants.FILE_MODE)


def left_behind(settings: Settings) -> dict[str, Any]:
    """The record of a service that was killed or crashed. Only meaningful where no service runs."""
    return read_json(settings.run_dir / "service.json")


def take_unclean_end(settings: Settings) -> dict[str, Any]:
    """What is known of the service before this one if it did not end well; told once, then forgotten."""
    found = read_json(settings.run_dir / _UNCLEAN)
    with contextlib.suppress(OSError):
        (settings.run_dir / _UNCLEAN).unlink(missing_ok=True)
    return found


def withdraw(settings: Settings, bound: tuple[int, int] | None) -> None:
    """Remove what says that this service runs here. `bound`: the identity of the socket it made.

    Where `run/` was deleted under it, another may have started since, and what says so stays.
    """
    remove_socket(settings, bound)
    if left_behind(settings).get("pid") in (None, os.getpid()):
        for name in ("service.json", "service.pid"):
            (settings.run_dir / name).unlink(missing_ok=True)


def record_failure(settings: Settings, error: MemoryOSError) -> None:
    """Leave the reason why the service could not start, as well as the disk allows.

    Not while `setup.sh` replaces the package under it: that is no failure of this home, and no start is to wait for it.
    """
    if is_upgrading(Path(sys.prefix)):
        return
    try:
        settings.run_dir.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        write_json(
            settings.run_dir / "last-error.json",
            {"at": time.time(), "pid": os.getpid(), "error": error.message, "cure": error.cure, "code": error.code},
        )
    except (ServiceError, OSError):
        return  # on a read-only or full disk the reason stands on stderr and in `status`, which looks for itself


def last_failure(settings: Settings) -> dict[str, Any]:
    """What `record_failure` left, or an empty dict."""
    return read_json(settings.run_dir / "last-error.json")


def clear_failure(settings: Settings) -> None:
    (settings.run_dir / "last-error.json").unlink(missing_ok=True)


def service_token(settings: Settings) -> str:
    """The bearer token of the TCP address, made once and kept in `run/token` (0600)."""
    path = settings.run_dir / "token"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, constants.FILE_MODE)
    except FileExistsError:
        found = path.read_text("ascii", "replace").strip()
        if len(found) < 32:
            raise ServiceError(f"{path} holds no usable token.", cure="Remove the file; a new one is made.") from None
        return found
    except OSError as error:
        raise cannot_write(path, error) from error
    made = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(made + "\n")
    return made


def spool_depth(settings: Settings) -> int:
    """How many captured records wait on disk."""
    return len(spool_files(settings))


def spool_files(settings: Settings) -> list[str]:
    """Names of finished spool files; half-written ones begin with a dot."""
    try:
        with os.scandir(settings.spool_dir) as entries:
            return [entry.name for entry in entries if entry.name.endswith(".json") and entry.name[0] != "."]
    except (FileNotFoundError, NotADirectoryError):
        return []


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a small JSON file atomically, mode 0600. Raises ServiceError."""
    try:
        write_whole(path, json.dumps(value).encode(), mode=constants.FILE_MODE, durable=False)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty when it is absent, unreadable or something else."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def cannot_write(path: Path, error: OSError) -> ServiceError:
    """One sentence with the cause, and what mends it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        cure = "Free some disk space."
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        cure = "Check its owner and mode, or point MEMORY_OS_HOME at a folder you can write."
    else:
        cure = "Check the path, or point MEMORY_OS_HOME at another folder."
    return ServiceError(f"{path} can't be used: {error.strerror or error}.", cure=cure)
