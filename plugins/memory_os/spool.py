"""The durable hand-over to the service: one file a record, complete or not there at all, private to the user.

Names sort in the order of writing, also when the clock goes backwards within one process.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from .paths import Home

_lock = threading.Lock()
_last_stamp = 0


def write(home: Home, record: dict[str, Any]) -> Path:
    """Put one record on disk (fsync, then rename). Raises OSError."""
    # ASCII only: a lone surrogate survives as an escape, where UTF-8 could not hold it.
    data = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    name = f"{_stamp():020d}-{secrets.token_hex(4)}.json"
    temporary = home.spool / f".{name}.part"
    try:
        _write_durably(temporary, data)
    except FileNotFoundError:
        _make_private(home.spool)
        _write_durably(temporary, data)
    target = home.spool / name
    temporary.replace(target)
    return target


def _stamp() -> int:
    """Nanoseconds since the epoch, later than any this process gave before."""
    global _last_stamp
    with _lock:
        _last_stamp = max(time.time_ns(), _last_stamp + 1)
        return _last_stamp


def _write_durably(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _make_private(folder: Path) -> None:
    """The folder and ours above it, 0700 each (mkdir's own `parents` would take the umask's mode)."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
