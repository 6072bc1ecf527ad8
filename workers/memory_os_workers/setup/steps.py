"""The steps of setup, each safe to run again. Their order and wording stand in `plan`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import memory_os
from memory_os import config, constants, ground_truth
from memory_os.config import Settings
from memory_os.errors import HostError, SoulRejected

from memory_os_workers.client import ensure_service, stop_service
from memory_os_workers.setup import environment, host_config, manifest, plugin_folder, round_trip
from memory_os_workers.setup.host import HOW_TO_GET_HERMES, Host, find_host
from memory_os_workers.setup.plan import Options, Planned, planned

SAID_WITHOUT_HOST = f"no Hermes Agent found. {HOW_TO_GET_HERMES}"


class StepState(StrEnum):
    DONE = "done"
    SKIPPED = "skipped"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did, in one line."""

    name: str
    outcome: StepState
    detail: str


@dataclass(slots=True)
class Installation:
    """One run of setup over one home."""

    settings: Settings
    options: Options
    host: Host | None
    record: manifest.Manifest
    progress: Callable[[str], None]
    warnings: list[str] = field(default_factory=list)


def run_setup(options: Options, progress: Callable[[str], None] = lambda _: None) -> Iterator[StepResult]:
    """Run all steps, each result as it comes. Raises the first MemoryOSError; what is done stays done."""
    settings = config.load_settings(hermes_home=options.hermes_home)
    run = Installation(settings, options, find_host(), manifest.load(settings), progress)
    for step in planned(options):
        progress(step.what)
        yield _run_step(run, step)


def how_to_call(settings: Settings, results: Iterable[StepResult]) -> list[str]:
    """Shell lines that reach the command from anywhere: through Hermes if it has the plugin, and by its full path.

    Nothing is put on PATH. A home that isn't the default one is named in the line.
    """
    home, default = settings.hermes_home, Path("~/.hermes").expanduser()
    other = "" if home.resolve() == default.resolve() else shlex.quote(str(home))
    script = Path(sys.prefix) / "bin" / "memory-os"
    command = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "memory_os_workers.cli"]
    direct = f"{shlex.join(command)}{f' --home {other}' if other else ''} status"
    if not any(result.name == "enable" and result.outcome is not StepState.SKIPPED for result in results):
        return [direct]
    return [f"{f'HERMES_HOME={other} ' if other else ''}hermes memory-os status", direct]


def carrier_of(settings: Settings, host: Host | None) -> str:
    """Where the rules go: `section` if the user wants it and this host has prompt sections, else `soul`."""
    wanted = settings.values.ground_truth.carrier
    return wanted if wanted == "soul" or (host is not None and host.prompt_sections) else "soul"


def _run_step(run: Installation, step: Planned) -> StepResult:
    if step.needs_host and run.host is None:
        return StepResult(step.name, StepState.SKIPPED, SAID_WITHOUT_HOST)
    run.warnings.clear()
    detail = STEPS[step.name](run)
    if run.warnings:
        return StepResult(step.name, StepState.WARNING, " ".join([*filter(None, [detail]), *run.warnings]))
    return StepResult(step.name, StepState.DONE, detail)


def _folders(run: Installation) -> str:
    settings = run.settings
    try:
        ours = (settings.spool_dir, settings.run_dir, settings.logs_dir, settings.backups_dir, settings.models_dir)
        for folder in (settings.home, *ours):
            folder.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            folder.chmod(constants.DIRECTORY_MODE)
    except OSError as error:
        raise HostError(f"{error.filename} can't be made: {error.strerror}.", cure="Check its owner.") from error
    run.record.version = memory_os.__version__
    run.record.python = sys.executable
    run.record.host_python = str(run.host.python) if run.host else ""
    manifest.save(settings, run.record)
    if venv := environment.current():
        environment.join(venv, settings.home)
    return str(settings.home)


def _config(run: Installation) -> str:
    for key, value in run.options.values.items():
        config.set_value(run.settings, key, f"'{value.replace(chr(39), chr(39) * 2)}'")
    on_servers = run.options.qdrant_url or run.options.redis_url
    kept = config.keep_secrets(run.settings, os.environ) if on_servers else []
    if run.options.values:
        run.settings = config.load_settings(hermes_home=run.options.hermes_home)
    # What isn't there yet is made by what follows: the first fabric entry, a document in the vault.
    missing = [str(path) for path in (run.settings.fabric_dir, run.settings.vault) if not path.exists()]
    run.record.created_dirs += [path for path in missing if path not in run.record.created_dirs]
    manifest.save(run.settings, run.record)
    told = [f"{key}: {value}" for key, value in run.options.values.items()] + [f"{name} kept" for name in kept]
    return ", ".join(told) or "unchanged"


def _model(run: Installation) -> str:
    # numpy and onnx: half a second that the other commands of this package need not pay.
    from memory_os import embedding

    folder = embedding.prepare_model(run.settings.models_dir, run.progress)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return f"{run.settings.values.embedding.model}, {size / 1e6:.0f} MB in {folder}"


def _soul(run: Installation) -> str:
    host = _required(run.host)
    settings = run.settings
    if carrier_of(settings, host) == "section":
        change = ground_truth.remove_block(settings.soul_file, backups=settings.backups_dir)
        return f"SOUL.md: {change.detail}; the plugin shows the rules as a prompt section"
    try:
        changes = apply_rules(settings, host)
    except SoulRejected as error:
        # The user's identity file is theirs to mend; everything else works without the block.
        run.warnings.append(str(error))
        return ""
    for change in changes:
        run.warnings.extend(change.warnings)
    return ", ".join(f"{change.path.name}: {change.detail}" for change in changes)


def apply_rules(settings: Settings, host: Host) -> list[ground_truth.Change]:
    """The block into SOUL.md (seeded with the host's own text if missing) and into an existing rulebook.md."""
    soul = ground_truth.apply_block(
        settings.soul_file, scan=host.scan, backups=settings.backups_dir, seed=host.default_soul
    )
    rulebook = ground_truth.apply_block(
        rulebook_file(settings), scan=host.scan, backups=settings.backups_dir, note=ground_truth.RULEBOOK_NOTE
    )
    return [soul] if rulebook.detail == "absent" else [soul, rulebook]


def rulebook_file(settings: Settings) -> Path:
    return settings.hermes_home / "rulebook.md"


def _plugin(run: Installation) -> str:
    target = run.options.plugin_dir
    record = run.record
    record.plugin_dir = str(target)
    if not target.parent.exists() and str(target.parent) not in record.created_dirs:
        record.created_dirs.append(str(target.parent))
    manifest.save(run.settings, record)
    plugin_folder.place(target, run.settings.home, carrier_of(run.settings, run.host))
    return str(target)


def _enable(run: Installation) -> str:
    path = run.settings.hermes_home / "config.yaml"
    before = read_config(path)
    edit = host_config.enable_plugin(before, constants.PLUGIN_KEY)
    if edit.text != before:
        made = {"listed": edit.listed, "undenied": edit.undenied, "provider": edit.provider}
        manifest.change_file(run.settings, run.record, path, edit.text.encode(), made)
    provider = host_config.provider_of(edit.text)
    if provider != constants.PLUGIN_KEY:
        run.warnings.append(
            f"memory.provider stays {provider}: recall and capture work beside it; on Hermes 0.22 the tools are then"
            " found through tool_search."
        )
    return "plugins.enabled lists memory-os" + (", memory.provider set" if provider == constants.PLUGIN_KEY else "")


def read_config(path: Path) -> str:
    """Hermes's config.yaml, "" if missing. Raises HostError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise HostError(f"{path} is not UTF-8 at byte {error.start}.", cure="Save it as UTF-8.") from error
    except OSError as error:
        raise HostError(f"{path} can't be read: {error.strerror}.", cure="Check its owner and mode.") from error


def _host(run: Installation) -> str:
    host = _required(run.host)
    answer = host.loaded(run.settings.hermes_home, constants.PLUGIN_KEY)
    if answer["error"] or not answer["enabled"] or not answer["hook_count"]:
        reason = answer["error"] or ("not enabled" if answer["found"] else "not found")
        raise HostError(
            f"Hermes {host.version} does not load the plugin: {reason}.",
            cure=f"See {run.settings.hermes_home / 'logs' / 'agent.log'}, then run setup again.",
        )
    tools = len(set(answer["tools"]) | set(answer["provider"]["tools"]))
    return f"Hermes {host.version} ({host.python}): {answer['hook_count']} hooks, {tools} tools"


def _service(run: Installation) -> str:
    # One that runs already may be of the version before this one.
    stop_service(run.settings)
    health = ensure_service(run.settings).health() or {}
    return f"runs, pid {health.get('pid')}"


def _round_trip(run: Installation) -> str:
    return round_trip.prove(ensure_service(run.settings)).line


def _required(host: Host | None) -> Host:
    if host is None:
        raise HostError(f"There is {SAID_WITHOUT_HOST}")
    return host


STEPS: dict[str, Callable[[Installation], str]] = {
    "folders": _folders,
    "config": _config,
    "model": _model,
    "soul": _soul,
    "plugin": _plugin,
    "enable": _enable,
    "host": _host,
    "service": _service,
    "round trip": _round_trip,
}

