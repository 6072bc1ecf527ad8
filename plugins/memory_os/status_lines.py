"""What `hermes memory status` shows of us: where the memory is, whether its service runs, and who serves the turns."""

from __future__ import annotations

import time

from . import launch, paths, toolset
from .client import CallFailed, request
from .paths import Home

_SECONDS = 0.5


def of(home: Home) -> dict[str, str]:
    """Lines by name. Nothing is started for it."""
    if not toolset.facade_usable():
        return {"home": str(home.root), "setup": "has not been run: ./setup.sh, or `memory-os setup`"}
    return {
        "home": str(home.root),
        "service": _service(home),
        "recall and capture": "by the plugin's hooks" if _hooks_enabled() else "by this provider alone",
        "more": "memory-os status; memory-os doctor",
    }


def _service(home: Home) -> str:
    try:
        status, told = request(home.socket(), "GET", "/v1/health", None, time.monotonic() + _SECONDS)
    except CallFailed as failure:
        if not failure.nobody:
            return f"no answer ({failure.reason})"
        return launch.why_not_running(home) or "not running; the first turn starts it"
    if status != 200 or not isinstance(told, dict):
        return f"no answer (status {status})"
    return f"running, version {told.get('version', '?')}"


def _hooks_enabled() -> bool:
    """Whether the host's config.yaml enables the general role."""
    plugins = toolset.host_config().get("plugins")
    named = {name: plugins.get(name) for name in ("enabled", "disabled")} if isinstance(plugins, dict) else {}
    listed = {name: found if isinstance(found, list) else [] for name, found in named.items()}
    return paths.PLUGIN_KEY in listed.get("enabled", []) and paths.PLUGIN_KEY not in listed.get("disabled", [])
