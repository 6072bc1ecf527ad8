"""Leaving a Hermes home: every recorded change undone, host files as they were to the byte, the memory kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_os import constants, ground_truth
from memory_os.config import Settings
from memory_os.errors import HostError, MemoryOSError

from memory_os_workers.client import stop_service
from memory_os_workers.setup import host_config, manifest, plugin_folder
from memory_os_workers.setup.environment import current, why_kept
from memory_os_workers.setup.steps import StepResult, StepState, read_config, rulebook_file

# What can be made again from what stays.
_DERIVED = ("run", "models", "logs", manifest.NAME)
# All that memory-os writes below its home; MEMORY_OS_HOME may be a folder that holds other things too.
_OURS = (
    *_DERIVED, "config.yaml*", "memory.db*", "qdrant*", "spool", "backups", "off",
    ".restoring-*", f".{'[0-9a-f]' * 16}.new",  # of a restore and of a write that were killed
)  # fmt: skip
# So many names of what isn't ours are told.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Leaving:
    """One run of uninstall."""

    settings: Settings
    record: manifest.Manifest
    purge: bool


def planned_removals(settings: Settings, *, purge: bool) -> list[str]:
    """What uninstall will do, as text."""
    host = settings.hermes_home
    lines = [
        "stop the service",
        f"restore {host / 'config.yaml'} (from its backup, or by taking our lines out)",
        f"take the ground-truth block out of {host / 'SOUL.md'} and rulebook.md",
        f"remove {host / 'plugins' / constants.PLUGIN_KEY}",
        f"remove the memory in {settings.home}" if purge else f"keep the memory in {settings.home}",
        f"keep the shared fabric in {settings.fabric_dir} and the vault in {settings.vault}"
        + (", unless setup made them and they are empty" if purge else ""),
    ]
    venv = current()
    if venv is None:
        return lines
    kept = why_kept(venv, settings.home)
    return [*lines, f"keep the environment {venv}: {kept}" if kept else f"remove the environment {venv}"]


def run_uninstall(settings: Settings, *, purge: bool = False) -> Iterator[StepResult]:
    """Undo setup, each result as it comes. One step that fails does not keep the others; it is reported."""
    leaving = Leaving(settings, manifest.load(settings), purge)
    failed = False
    for name, step in _STEPS.items():
        try:
            yield StepResult(name, StepState.DONE, step(leaving))
        except MemoryOSError as error:
            failed = True
            yield StepResult(name, StepState.WARNING, str(error))
    if failed:
        yield StepResult("files", StepState.SKIPPED, "kept, because a step above failed; run uninstall again")
        return
    yield StepResult("files", StepState.DONE, _files(leaving))


def _service(leaving: Leaving) -> str:
    pid = stop_service(leaving.settings)
    return "did not run" if pid is None else f"stopped, pid {pid}"


def _config(leaving: Leaving) -> str:
    record = leaving.record.files.get("config.yaml")
    path = Path(record.path) if record else leaving.settings.hermes_home / "config.yaml"
    target = path.resolve()
    current = target.read_bytes() if target.exists() else None
    if current is None:
        return "absent"
    if record is not None:
        untouched, before = manifest.original(record, current)
        if untouched and before is None:
            target.unlink()
            return "removed: it was made by setup"
        if untouched and before is not None:
            ground_truth.replace_bytes(target, before)
            return "restored to the byte"
    made = record.made if record else {}
    text = read_config(target)
    edited = host_config.disable_plugin(
        text, constants.PLUGIN_KEY, denied_before=made.get("undenied", False), was_provider=True
    )
    if edited == text:
        return "holds nothing of ours"
    if record is not None:
        edited = host_config.drop_emptied(edited, _before(record))
    ground_truth.back_up(target, current, leaving.settings.backups_dir)
    ground_truth.replace_bytes(target, edited.encode())
    return "our lines taken out; it was edited since setup"


def _before(record: manifest.FileRecord) -> str:
    """config.yaml as it was before setup; the record's own backup holds it."""
    return read_config(Path(record.backup)) if record.backup and Path(record.backup).exists() else ""


def _rules(leaving: Leaving) -> str:
    settings = leaving.settings
    files = (settings.soul_file, rulebook_file(settings))
    changes = [ground_truth.remove_block(path, backups=settings.backups_dir) for path in files]
    return ", ".join(f"{change.path.name}: {change.detail}" for change in changes)


def _plugin(leaving: Leaving) -> str:
    target = leaving.settings.hermes_home / "plugins" / constants.PLUGIN_KEY
    found = plugin_folder.take_away(target)
    if str(target.parent) in leaving.record.created_dirs and target.parent.exists():
        _drop_if_empty(target.parent)
    return "removed" if found else "absent"


_STEPS: dict[str, Callable[[Leaving], str]] = {
    "service": _service,
    "config.yaml": _config,
    "ground truth": _rules,
    "plugin": _plugin,
}


def remove_environment(settings: Settings) -> None:
    """The last act: remove the environment this process runs in, if it is this home's, and our folder if that empties it.

    After it nothing can be imported any more, so whatever there is to print has to be printed before.
    """
    venv = current()
    try:
        if venv is not None and not why_kept(venv, settings.home):
            shutil.rmtree(venv)
        if settings.home.is_dir():
            _drop_if_empty(settings.home)
    except OSError as error:
        raise HostError(f"{error.filename} can't be removed: {error.strerror}.", cure="Remove it yourself.") from error


def _files(leaving: Leaving) -> str:
    home = leaving.settings.home
    try:
        for pattern in _OURS if leaving.purge else _DERIVED:
            for path in sorted(home.glob(pattern)):
                _remove(path)
        for folder in (leaving.settings.spool_dir, leaving.settings.backups_dir, *_shared_made(leaving)):
            _drop_if_empty(folder)
    except OSError as error:
        raise HostError(f"{error.filename} can't be removed: {error.strerror}.", cure="Remove it yourself.") from error
    venv = current()
    left = [path for path in home.iterdir() if path != venv] if home.is_dir() else []
    told = _told(home, left, purge=leaving.purge)
    if venv is None:
        return told
    kept = why_kept(venv, home)
    return f"{told}; the environment {venv} stays: {kept}" if kept else f"{told}; the environment {venv} goes last"


def _told(home: Path, left: list[Path], *, purge: bool) -> str:
    if not left:
        return f"nothing is left in {home}"
    if not purge:
        return f"memory kept in {home}"
    names = [path.name for path in sorted(left)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"memory removed; not ours, and left in {home}: {', '.join(names[:_NAMED])}{more}"


def _shared_made(leaving: Leaving) -> list[Path]:
    """With --purge the fabric and the vault that were not there before setup; they go only if they hold nothing."""
    shared = (leaving.settings.fabric_dir, leaving.settings.vault)
    return [path for path in shared if leaving.purge and str(path) in leaving.record.created_dirs]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _drop_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
