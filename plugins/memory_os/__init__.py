"""memory-os inside Hermes: hooks, tools and commands that talk to the memory-os service. Standard library only.

One folder, two roles. As a general plugin (`plugins.enabled`) it recalls before and captures after each turn; as a
memory provider (`memory.provider: memory-os`) it shows the tools to the model directly, and stands in for the hooks
where the general plugin is not enabled. The service does the work; nothing heavy is imported here.
"""

from __future__ import annotations

from typing import Any


def register(ctx: Any) -> None:
    """Called by the host, once for each role, with the context of that role."""
    # Both hosts give only the general role a manifest (their validator: only a profile's name);
    # `register_memory_provider` tells nothing, newer hosts have it in both roles.
    if hasattr(ctx, "manifest") or hasattr(ctx, "profile_name"):
        from .general import register_general

        register_general(ctx)
    else:
        from .provider import make_provider

        ctx.register_memory_provider(make_provider())
