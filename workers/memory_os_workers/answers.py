"""What a failed request answers: a typed error for what the caller can mend, and no insides for what it can't."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

from memory_os.errors import MemoryOSError, ServiceUnavailable, StoreCorrupt

from memory_os_workers.background import is_disk_full

if TYPE_CHECKING:
    from memory_os_workers.service import Service

_log = logging.getLogger(__name__)


def failure(service: Service, error: Exception, what: str) -> tuple[int, dict[str, str]]:
    """(HTTP status, `{"error", "cure", "code"}`). A fault of ours is logged with its traceback and counted."""
    if isinstance(error, sqlite3.Error):
        error = _damage(service, error, what) or error
    if isinstance(error, MemoryOSError):
        status = 503 if isinstance(error, ServiceUnavailable | StoreCorrupt) else 400
        return status, body(error.code, error.message, error.cure)
    service.note_error(error)
    _log.error("%s failed", what, exc_info=error)
    if is_disk_full(error):
        home = service.settings.home
        return 507, body("store", f"The disk of {home} is full; nothing was written.", "Free some disk space.")
    if _passes(error):
        return 503, body("store", f"{service.settings.database} can't be used at the moment.", "Try again.")
    return 500, body("internal", "The service failed on this request.", f"See {service.settings.logs_dir}.")


def _passes(error: Exception) -> bool:
    """Whether SQLite met what may be over soon (busy, out of files or memory), and no fault of a statement."""
    code = getattr(error, "sqlite_errorcode", None) if isinstance(error, sqlite3.OperationalError) else None
    return code is not None and code & 0xFF != sqlite3.SQLITE_ERROR


def _damage(service: Service, error: sqlite3.Error, what: str) -> StoreCorrupt | None:
    # Here and not above: what brings in the database's library would hold up the first answer of a start.
    from memory_os.store import damage, is_damage

    if not is_damage(error):
        return None
    service.note_error(error)
    _log.error("%s met damage in memory.db", what, exc_info=error)
    return damage(service.settings.database, error)


def body(code: str, message: str, cure: str = "") -> dict[str, str]:
    """An error as JSON."""
    return {"error": message, "cure": cure, "code": code}
