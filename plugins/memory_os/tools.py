"""The thirteen tools: which role shows them to the model, and how a call reaches the service.

Newer hosts hide a plugin's tools behind a search tool, and show a memory provider's at once. So where we are the
configured provider the façade has them, on both lines; otherwise the general role registers them. Never both: the
model sees each tool once.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from typing import Any

from . import hooks, host, launch, paths, schemas, turn
from .client import CallFailed, request
from .paths import Home, current_home

_log = logging.getLogger(__name__)

TOOLSET = "memory_os"
# The host's own provider of these names has them if it is in charge.
_HOLOGRAPHIC = "holographic"
_HOLOGRAPHIC_TOOLS = frozenset({"fact_store", "fact_feedback"})

# A search that takes longer has failed; the model should go on without it.
CALL_SECONDS = 10.0
# Of which this much may go to a service that has to be started first.
_START_SECONDS = 6.0
_POLL_SECONDS = 0.05


def register_tools(ctx: Any) -> None:
    """Register what this role has to show."""
    for schema in general_schemas():
        ctx.register_tool(
            name=schema["name"],
            toolset=TOOLSET,
            schema=schema,
            handler=_handler(schema["name"]),
            description=schema["description"],
        )


def general_schemas() -> list[dict[str, Any]]:
    """The tools of the general role: none where the façade shows them, without those that somebody else owns."""
    provider = configured_provider()
    if provider == paths.PLUGIN_FOLDER.name and facade_usable():
        return []
    taken = _HOLOGRAPHIC_TOOLS if provider == _HOLOGRAPHIC else frozenset()
    return [schema for schema in schemas.SCHEMAS if schema["name"] not in taken and not _is_foreign(schema["name"])]


def configured_provider() -> str:
    """`memory.provider` of the host's config.yaml, or empty."""
    load = host.find("hermes_cli.config", "load_config_readonly")
    config = load() if load is not None else None
    memory = config.get("memory") if isinstance(config, dict) else None
    name = memory.get("provider") if isinstance(memory, dict) else ""
    return name.strip() if isinstance(name, str) else ""


def facade_usable() -> bool:
    """Whether we are of use as a provider: setup has been run, so there is a Python for the service."""
    python = paths.launch_config().python
    return bool(python) and (os.access(python, os.X_OK) or shutil.which(python) is not None)


def call(name: str, arguments: Any, caller: dict[str, Any], home: Home) -> str:
    """Run one tool in the service. Always a JSON string; a failure is `{"error", "cure"}`."""
    started = time.monotonic()
    body = {"arguments": arguments if isinstance(arguments, dict) else {}, "caller": caller}
    try:
        status, answer = _request(home, f"/v1/tools/{name}", body, started + CALL_SECONDS)
    except CallFailed as failure:
        hooks.record_missed(home, "tool", failure.reason, time.monotonic() - started)
        return _error(*_explain(home, failure))
    if status == 200:
        return json.dumps(answer, ensure_ascii=False)
    known = answer if isinstance(answer, dict) else {}
    return _error(str(known.get("error") or f"The memory service answered {status}."), str(known.get("cure") or ""))


def caller_of(home: Home, session_id: str, *, turn_id: str = "", identity: Any = None) -> dict[str, Any]:
    """On whose behalf a tool runs: the session's user as the hooks saw it, never what the model says."""
    known = identity or turn.identity_of(home, session_id)
    return {
        "user": known.user,
        "profile": known.profile,
        "session_id": session_id,
        "turn_id": turn_id or known.turn_id,
        "platform": known.platform,
        "project": known.project,
    }


def _handler(name: str) -> Any:
    def handle(args: Any = None, **more: Any) -> str:
        try:
            home = current_home()
            return call(name, args, caller_of(home, str(more.get("session_id") or "")), home)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host, which wants a string
            hooks.note_fault(f"tool:{name}:{type(error).__name__}", error)
            return _error("The memory plugin failed on this call.", "Go on without it.")

    handle.__name__ = f"memory_os_{name}"
    return handle


def _request(home: Home, target: str, body: dict[str, Any], until: float) -> tuple[int, Any]:
    """POST, starting the service first where nobody listens."""
    wait_until = min(until, time.monotonic() + _START_SECONDS)
    launched = False
    since = time.time()
    while True:
        try:
            return request(home.socket(), "POST", target, body, until)
        except CallFailed as failure:
            if not failure.nobody or time.monotonic() > wait_until:
                raise
            launched = launch.start(home) or launched or launch.is_young(home)
            if not launched or launch.failed_since(home, since):
                raise
        time.sleep(_POLL_SECONDS)


def _explain(home: Home, failure: CallFailed) -> tuple[str, str]:
    if failure.reason == "timeout":
        return "The memory service did not answer in time.", "Go on without it, or ask for less."
    if failure.nobody:
        why = launch.last_failure(home).get("error")
        return f"The memory service is not running. {why or ''}".strip(), "The user can run `memory-os doctor`."
    return f"The memory service could not be used ({failure.reason}).", "The user can run `memory-os doctor`."


def _error(message: str, cure: str) -> str:
    return json.dumps({"error": message, "cure": cure}, ensure_ascii=False)


def _is_foreign(name: str) -> bool:
    """Whether the host's registry has the name from somebody else (read only if the host has loaded it already)."""
    registry = getattr(sys.modules.get("tools.registry"), "registry", None)
    lookup = getattr(registry, "get_entry", None)
    entry = lookup(name) if callable(lookup) else None
    return entry is not None and getattr(entry, "toolset", TOOLSET) != TOOLSET
