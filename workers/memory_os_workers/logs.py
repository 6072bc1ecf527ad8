"""The logs: `logs/service.log` and `logs/worker.log`, five old files of 2 MB each, private to the user.

Nobody's words are logged at INFO and above: ids, counts, durations and errors only.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from logging.handlers import RotatingFileHandler
from typing import IO, Any

from memory_os import constants
from memory_os.config import Settings

from memory_os_workers.run_files import cannot_write

MAX_BYTES = 2 * 1024 * 1024
OLD_FILES = 5


class _PrivateRotatingFile(RotatingFileHandler):
    def _open(self) -> IO[Any]:  # type: ignore[override]
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, constants.FILE_MODE)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")


def configure_logs(settings: Settings, name: str = "service") -> None:
    """Send all logging of this process to the file, and to the terminal if there is one. Raises ServiceError."""
    path = settings.logs_dir / f"{name}.log"
    formatter = _formatter()
    try:
        handlers: list[logging.Handler] = [_PrivateRotatingFile(path, maxBytes=MAX_BYTES, backupCount=OLD_FILES)]
    except OSError as error:
        raise cannot_write(path, error) from error
    if sys.stderr is not None and sys.stderr.isatty():
        handlers.append(logging.StreamHandler())
    _install(settings, formatter, handlers)


def log_to_stderr(settings: Settings) -> None:
    """For a process that something else watches over, such as a container: its output is its log."""
    _install(settings, _formatter(), [logging.StreamHandler()])


def _install(settings: Settings, formatter: logging.Formatter, handlers: list[logging.Handler]) -> None:
    root = logging.getLogger()
    root.setLevel(settings.values.service.log_level)
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    # A full disk must not turn every log line into a traceback on stderr.
    logging.raiseExceptions = False


def _formatter() -> logging.Formatter:
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    return formatter
