"""What doctor asks of Hermes: does it load the plugin, are its hooks there, do SOUL.md and state.db read well."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from memory_os import constants, ground_truth
from memory_os.config import Settings
from memory_os.errors import HostError, MemoryOSError
from memory_os.ground_truth import BlockState

from memory_os_workers.findings import Finding, fail, failed_by, ok, warn
from memory_os_workers.setup import host_config, plugin_folder
from memory_os_workers.setup.host import HOW_TO_GET_HERMES, Host, find_host
from memory_os_workers.setup.steps import carrier_of, read_config, rulebook_file

GROUND_TRUTH = "7 ground truth"

_SETUP = "Run `memory-os setup`."
_APPLY = "Run `memory-os soul apply`."

# Without these the plugin can neither recall nor capture; the others make it better.
_NEEDED_HOOKS = frozenset({"pre_llm_call", "post_llm_call"})
# The columns that both schemas of state.db have and the import reads.
_MESSAGE_COLUMNS = frozenset({"id", "session_id", "role", "content", "timestamp", "active", "compacted"})


def host_findings(settings: Settings) -> Iterator[Finding]:
    """Hermes itself, the plugin in it, the memory provider, SOUL.md, state.db."""
    host: Host | None = None
    try:
        host = find_host()
    except HostError as error:
        yield failed_by("host", error)
    else:
        if host is None:
            yield warn("host", "no Hermes Agent was found.", HOW_TO_GET_HERMES)
        else:
            yield ok("host", f"Hermes {host.version}, {host.python}")
    yield from _plugin_findings(settings, host)
    if host is not None:
        yield from _loader_findings(settings, host)
    yield from soul_findings(settings, host)
    yield _history_finding(settings)


def soul_findings(settings: Settings, host: Host | None) -> Iterator[Finding]:
    """How SOUL.md (and an existing rulebook.md) stand to this version's block and to the host's scanner."""
    section = carrier_of(settings, host) == "section"
    yield from _block_findings(settings.soul_file, host, wanted=not section, note="")
    if rulebook_file(settings).exists():
        yield from _block_findings(rulebook_file(settings), host, wanted=not section, note=ground_truth.RULEBOOK_NOTE)


def _block_findings(path: Path, host: Host | None, *, wanted: bool, note: str) -> Iterator[Finding]:
    layer = GROUND_TRUTH
    try:
        data = path.read_bytes() if path.exists() else b""
        state = ground_truth.block_state(data, note=note, name=path.name)
        findings = host.scan(data.decode("utf-8", "replace").removeprefix("\ufeff")) if host and data else []
    except OSError as error:
        yield fail(layer, f"{path} can't be read: {error.strerror}.", "Check its owner and mode.")
        return
    except MemoryOSError as error:
        yield failed_by(layer, error)
        return
    if findings:
        refused = f"Hermes's scanner refuses {path.name} ({', '.join(findings)})."
        yield fail(layer, refused, f"Reword that passage. {_APPLY}")
    elif not wanted:
        yield ok(layer, "the plugin shows the rules as a prompt section")
    elif state is BlockState.APPLIED:
        yield ok(layer, f"{path.name}: v{ground_truth.VERSION} applied, passes the scanner" if host else f"{path.name}")
    else:
        yield warn(layer, f"{path.name}: the block is {state}.", _APPLY)
    for warning in ground_truth.cautions(path, data):
        yield warn(layer, warning, "Shorten it or save it as UTF-8.")


def _plugin_findings(settings: Settings, host: Host | None) -> Iterator[Finding]:
    target = settings.hermes_home / "plugins" / constants.PLUGIN_KEY
    try:
        if not target.is_dir():
            yield fail("plugin", f"{target} does not exist.", _SETUP)
            return
        stale = plugin_folder.difference(target)
        launch = json.loads((target / plugin_folder.LAUNCH).read_text("utf-8"))
        listed = host_config.is_enabled(read_config(settings.hermes_home / "config.yaml"), constants.PLUGIN_KEY)
    except MemoryOSError as error:
        yield failed_by("plugin", error)
        return
    except (OSError, ValueError):
        yield fail("plugin", f"{target / plugin_folder.LAUNCH} can't be read.", _SETUP)
        return
    python = Path(str(launch.get("python", "")))
    if not python.is_file():
        yield fail("plugin", f"its environment is gone: {python}.", "Run ./setup.sh again.")
    elif Path(str(launch.get("home", ""))).resolve() != settings.home.resolve():
        yield fail("plugin", f"it starts the service of {launch.get('home')}, not of {settings.home}.", _SETUP)
    elif not listed and host is None:
        yield warn("plugin", "in place; it is enabled by the setup that finds Hermes.", HOW_TO_GET_HERMES)
    elif not listed:
        yield fail("plugin", "Hermes's config.yaml does not enable memory-os.", _SETUP)
    elif stale:
        yield warn("plugin", f"{len(stale)} files differ from this version ({', '.join(stale[:3])}).", _SETUP)
    else:
        yield ok("plugin", f"enabled, {target}")


def _loader_findings(settings: Settings, host: Host) -> Iterator[Finding]:
    try:
        answer = host.loaded(settings.hermes_home, constants.PLUGIN_KEY)
    except HostError as error:
        yield failed_by("loader", error)
        return
    provider = answer["provider"]
    missing = _NEEDED_HOOKS - set(answer["hooks"])
    log = settings.hermes_home / "logs" / "agent.log"
    if answer["error"] or not answer["enabled"]:
        reason = answer["error"] or ("not enabled" if answer["found"] else "not found")
        yield fail("loader", f"Hermes does not load the plugin: {reason}.", f"See {log}. {_SETUP}")
    elif missing:
        yield fail("loader", f"hooks are missing: {', '.join(sorted(missing))}.", f"See {log}. {_SETUP}")
    else:
        yield ok("loader", f"loaded in Hermes: {answer['hook_count']} hooks, {_tools(answer['tools'], provider)}")
    if provider["configured"] != constants.PLUGIN_KEY:
        other = provider["configured"] or "none"
        yield ok("provider", f"memory.provider is {other}; recall and capture do not need it")
    elif provider["loaded"]:
        yield ok("provider", f"memory provider loaded, {len(provider['tools'])} tools shown directly")
    else:
        yield fail("provider", "Hermes does not load the memory provider.", f"See {log}. {_SETUP}")


def _tools(registered: list[str], provider: dict[str, Any]) -> str:
    """Who shows the tools: the model sees each once, so one of the two roles has none."""
    if not registered and provider["tools"]:
        return f"{len(provider['tools'])} tools (shown by the memory provider)"
    return f"{len(registered)} tools"


def _history_finding(settings: Settings) -> Finding:
    path, layer = settings.state_db, "state.db"
    if not path.exists():
        return ok(layer, "not there yet; Hermes makes it in its first session")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as connection:
            columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(messages)")}
            schema = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
            return ok(layer, "holds a write that Hermes did not finish; its next start mends that")
        return warn(layer, f"Hermes's state.db can't be read: {error}.", "Earlier sessions are imported once it can be.")
    missing = sorted(_MESSAGE_COLUMNS - columns)
    if missing:
        return warn(layer, f"unknown schema {schema}: no {', '.join(missing)}.", "Upgrade memory-os.")
    return ok(layer, f"readable, schema {schema}")
