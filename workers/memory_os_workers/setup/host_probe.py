"""Questions that only the host's own interpreter can answer. Runs there: standard library and Hermes, nothing of ours.

One JSON request on stdin, one answer line on stdout behind MARK (the host may print lines of its own).
"""

from __future__ import annotations

import json
import sys
from typing import Any

MARK = "memory-os-answer:"


def describe(request: dict[str, Any]) -> dict[str, Any]:
    """Version, the default SOUL.md, and whether this line has prompt sections."""
    import hermes_cli  # type: ignore[import-not-found]
    from hermes_cli.default_soul import DEFAULT_SOUL_MD  # type: ignore[import-not-found]
    from hermes_cli.plugins import PluginContext  # type: ignore[import-not-found]

    return {
        "version": str(getattr(hermes_cli, "__version__", "")),
        "default_soul": DEFAULT_SOUL_MD,
        "prompt_sections": hasattr(PluginContext, "register_system_prompt_section"),
    }


def scan(request: dict[str, Any]) -> dict[str, Any]:
    """What the host's scanner finds in `text` as a context file."""
    from tools.threat_patterns import scan_for_threats  # type: ignore[import-not-found]

    return {"findings": list(scan_for_threats(request["text"], "context"))}


def loaded(request: dict[str, Any]) -> dict[str, Any]:
    """Load all plugins as the host does and report on one, and on the memory provider of that name."""
    from hermes_cli import plugins

    plugins.discover_plugins()
    manager = plugins.get_plugin_manager()
    named = [item for item in manager.list_plugins() if request["name"] in (item["name"], item.get("key"))]
    # The public list gives counts only; the names are worth a look inside, and are left out where that fails.
    inner = getattr(manager, "_plugins", {}).get(request["name"])
    return {
        "found": bool(named),
        "enabled": bool(named and named[0]["enabled"]),
        "error": (named[0].get("error") or "") if named else "",
        "hooks": sorted(getattr(inner, "hooks_registered", []) or []),
        "tools": sorted(getattr(inner, "tools_registered", []) or []),
        "hook_count": named[0]["hooks"] if named else 0,
        "provider": _provider(request["name"]),
    }


def _provider(name: str) -> dict[str, Any]:
    from hermes_cli.config import load_config  # type: ignore[import-not-found]

    configured = (load_config().get("memory") or {}).get("provider") or ""
    if configured != name:
        return {"configured": configured, "loaded": False, "tools": []}
    from plugins.memory import load_memory_provider  # type: ignore[import-not-found]

    provider = load_memory_provider(name)
    tools = [] if provider is None else sorted(schema["name"] for schema in provider.get_tool_schemas())
    return {"configured": configured, "loaded": provider is not None, "tools": tools}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answer = {"describe": describe, "scan": scan, "loaded": loaded}[asked["ask"]](asked)
    sys.stdout.write(f"\n{MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()
