"""`memory-os doctor`: every layer by a real write and recall, the machine, the host. Each finding with its cure.

Nothing is changed but what a check writes in its own scratch scope and deletes again. Works without a service: then it
says why there is none, and what can be looked at without one.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memory_os import constants
from memory_os.config import Settings
from memory_os.errors import HostError, MemoryOSError, StoreError

from memory_os_workers import run_files
from memory_os_workers.client import ServiceClient, ensure_service
from memory_os_workers.findings import Finding, fail, failed_by, ok, warn
from memory_os_workers.setup import host_checks, restore
from memory_os_workers.setup.host import find_host
from memory_os_workers.setup.round_trip import TRIPS, wait_until_ready

# Below the first, memory.db and its daily backup soon can't be written; below the second they can't now.
_DISK_WARN_BYTES = 500 * 1024 * 1024
_DISK_FAIL_BYTES = 50 * 1024 * 1024
# The service takes a spooled turn within a second: more than this waiting means that it does not.
_SPOOL_WARN = 50
_HOLDING_CURE = "Delete the folder if nothing in it is needed, or forget something at this machine: that deletes it too."


def examine(load: Callable[[], Settings]) -> Iterator[Finding]:
    """All findings, as they come. `load` gives the settings, or raises the ConfigError that is then the only finding."""
    try:
        settings = load()
    except MemoryOSError as error:
        yield failed_by("configuration", error)
        return
    yield ok("configuration", f"{settings.config_file}" if settings.config_file.exists() else "all defaults")
    yield _permissions(settings)
    yield _disk(settings)
    yield _socket(settings)
    yield _model(settings)
    database = _database(settings)
    yield database
    yield from _service_and_layers(settings, sound=database.state == "ok")
    # After the layers: what was still in the spool has been taken by now.
    yield _spool(settings)
    yield from host_checks.host_findings(settings)


def soul_findings(settings: Settings) -> Iterator[Finding]:
    """How SOUL.md stands, for `memory-os soul check`."""
    try:
        host = find_host()
    except HostError as error:
        yield failed_by("host", error)
        return
    yield from host_checks.soul_findings(settings, host)


def _permissions(settings: Settings) -> Finding:
    """Memory is private: no other user of the machine may read it."""
    layer = "permissions"
    if not settings.home.is_dir():
        return fail(layer, f"{settings.home} does not exist.", "Run `memory-os setup`.")
    if not os.access(settings.home, os.W_OK | os.X_OK):
        return fail(layer, f"{settings.home} can't be written by this user.", "Check its owner and mode.")
    open_to_others = [path for path in _private_paths(settings) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_to_others:
        named = ", ".join(path.name for path in open_to_others[:5])
        cure = f"chmod -R go-rwx '{settings.home}'"
        return warn(layer, f"other users may read {len(open_to_others)} paths ({named}).", f"`{cure}`")
    return ok(layer, f"{settings.home} is private")


def _private_paths(settings: Settings) -> Iterator[Path]:
    yield settings.home
    for folder in (settings.spool_dir, settings.run_dir, settings.logs_dir, settings.backups_dir, settings.vectors_dir):
        if folder.is_dir():
            yield folder
    for path in (settings.config_file, settings.database):
        if path.exists():
            yield path


def _disk(settings: Settings) -> Finding:
    folder = settings.home if settings.home.exists() else settings.hermes_home
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return warn("disk", f"{folder}: {error.strerror}.", "Check the path.")
    detail = f"{free / 1e9:.1f} GB free"
    if free < _DISK_FAIL_BYTES:
        return fail("disk", detail, "Free some disk space: captured turns wait in the spool until then.")
    return warn("disk", detail, "Free some disk space.") if free < _DISK_WARN_BYTES else ok("disk", detail)


def _socket(settings: Settings) -> Finding:
    try:
        path = run_files.checked_socket_path(settings)
    except MemoryOSError as error:
        return failed_by("socket", error)
    return ok("socket", f"{path} ({len(os.fsencode(path))} of {constants.SOCKET_PATH_MAX} bytes)")


def _model(settings: Settings) -> Finding:
    name = settings.values.embedding.model
    files = [path for path in settings.models_dir.glob("*") if path.is_file()] if settings.models_dir.is_dir() else []
    if settings.values.embedding.engine == "wheel":
        return ok("model", f"{name}, the wheel's own engine")
    if settings.values.embedding.engine in ("endpoint", "fastembed"):
        from memory_os.embedding.naming import model_line

        return ok("model", model_line(settings))
    if not files:
        return warn("model", f"{name} is not prepared in {settings.models_dir}.", "Run `memory-os setup`.")
    return ok("model", f"{name}, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB")


def _database(settings: Settings) -> Finding:
    try:
        faults = restore.database_faults(settings.database)
    except StoreError as error:
        return failed_by("memory.db", error)
    if restore.is_emptied(settings):
        return warn(
            "memory.db",
            "it has 0 bytes, and there are backups: a start would begin an empty memory.",
            "`memory-os doctor --restore` puts the newest backup in its place.",
        )
    if not faults:
        held = "sound" if settings.database.exists() else "not there yet"
        return ok("memory.db", held)
    backup = next(restore.sound_backups(settings), None)
    if backup is None:
        cure = f"No sound backup was found. Move {settings.database} away; the next start makes a new one."
    else:
        cure = f"`memory-os doctor --restore` puts {backup.name} in its place and keeps the damaged file."
    return fail("memory.db", f"damaged: {'; '.join(faults)}.", cure)


def _service_and_layers(settings: Settings, *, sound: bool) -> Iterator[Finding]:
    if not settings.home.is_dir():
        yield fail("service", f"memory-os is not installed in {settings.hermes_home}.", "Run `memory-os setup`.")
        return
    if not sound:
        yield fail("service", "was not started on this memory.db.", "See memory.db above.")
        return
    try:
        client = ensure_service(settings)
        wait_until_ready(client)
        status = client.get("/v1/status")
    except MemoryOSError as error:
        yield failed_by("service", error)
        return
    yield _service(status)
    yield from _health(status)
    yield from _backups(status)
    yield _queue(status.get("pipeline") or {})
    for layer, trip in TRIPS.items():
        yield _round_trip(client, layer, trip)


def _service(status: dict[str, Any]) -> Finding:
    service = status.get("service", {})
    detail = f"pid {service.get('pid')}, {service.get('memory_bytes', 0) / 1e6:.0f} MB"
    if service.get("errors"):
        return warn("service", f"{detail}, {service['errors']} errors ({service['last_error']}).", "See logs/service.log.")
    return ok("service", detail)


def _backups(status: dict[str, Any]) -> Iterator[Finding]:
    """What still holds something forgotten."""
    maintenance = status.get("maintenance") or {}
    for path in maintenance.get("holding_forgotten") or []:
        yield warn("backups", f"{path} still holds something that was forgotten.", _HOLDING_CURE)


def _queue(pipeline: dict[str, Any]) -> Finding:
    """The job queue and its workers. Without them the service does the work itself, so nothing of it is a failure."""
    if pipeline.get("findings"):
        cure = "Nothing is lost: the service works without it. `memory-os status` shows how it stands."
        return warn("queue", "; ".join(pipeline["findings"]), cure)
    mode = pipeline.get("mode", "off")
    if mode == "off":
        return ok("queue", "none: the service does the work itself")
    workers, depth = len(pipeline.get("workers") or {}), pipeline.get("depth", 0)
    where = "the bundled one" if mode == "embedded" else pipeline.get("address")
    return ok("queue", f"{where}: {workers} worker{'s' * (workers != 1)} alive, {depth} job{'s' * (depth != 1)} waiting")


def _health(status: dict[str, Any]) -> Iterator[Finding]:
    """What the layers say of themselves."""
    for name, health in status.get("layers", {}).items():
        if name == host_checks.GROUND_TRUTH:
            continue  # looked at below in full: with the host's scanner
        state, detail = str(health.get("state", "")), str(health.get("detail", ""))
        if state == "degraded":
            yield fail(name, detail or "degraded", str(health.get("cure", "")) or "See logs/service.log.")
        else:
            yield ok(name, f"{state}: {detail}" if detail else state)


def _round_trip(client: ServiceClient, layer: str, trip: Callable[[ServiceClient], Any]) -> Finding:
    try:
        return ok(layer, str(trip(client).line))
    except MemoryOSError as error:
        return failed_by(layer, error)


def _spool(settings: Settings) -> Finding:
    depth = run_files.spool_depth(settings)
    rejected_dir = settings.spool_dir / "rejected"
    rejected = len(list(rejected_dir.glob("*.json"))) if rejected_dir.is_dir() else 0
    if rejected:
        return warn("spool", f"{rejected} records were rejected.", f"See {rejected_dir}; `memory-os status` counts why.")
    if depth > _SPOOL_WARN:
        return warn("spool", f"{depth} turns wait to be taken in.", "`memory-os status` shows whether the service works.")
    return ok("spool", f"{depth} waiting, none rejected")
