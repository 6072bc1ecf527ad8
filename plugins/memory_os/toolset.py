"""Which role shows the eighteen tools to the model.

Newer hosts hide a plugin's tools behind a search tool, and show a memory provider's at once. So where we are the
configured provider the façade has them, on both lines; otherwise the general role registers them. Never both: the
model sees each tool once.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from . import host, paths, schemas

TOOLSET = "memory_os"
# The host's own provider of these names has them if it is in charge.
_HOLOGRAPHIC = "holographic"
_HOLOGRAPHIC_TOOLS = frozenset({"fact_store", "fact_feedback"})


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
    memory = host_config().get("memory")
    name = memory.get("provider") if isinstance(memory, dict) else ""
    return name.strip() if isinstance(name, str) else ""


def host_config() -> dict[str, Any]:
    """The host's config.yaml as it has read it; empty outside a host."""
    load = host.find("hermes_cli.config", "load_config_readonly")
    config = load() if load is not None else None
    return config if isinstance(config, dict) else {}


def facade_usable() -> bool:
    """Whether we are of use as a provider: setup has been run, so there is a Python for the service."""
    python = paths.launch_config().python
    return bool(python) and (os.access(python, os.X_OK) or shutil.which(python) is not None)


def _handler(name: str) -> Any:
    def handle(args: Any = None, **more: Any) -> str:
        from . import tools  # registering must stay cheap

        return tools.handle(name, args, more)

    handle.__name__ = f"memory_os_{name}"
    return handle


def _is_foreign(name: str) -> bool:
    """Whether the host's registry has the name from somebody else (read only if the host has loaded it already)."""
    registry = getattr(sys.modules.get("tools.registry"), "registry", None)
    lookup = getattr(registry, "get_entry", None)
    entry = lookup(name) if callable(lookup) else None
    return entry is not None and getattr(entry, "toolset", TOOLSET) != TOOLSET
