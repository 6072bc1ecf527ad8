"""The general role: hooks, tools, the slash command, `hermes memory-os`, and the rules' prompt section."""

from __future__ import annotations

import logging
from typing import Any

from . import commands, hooks, paths, tools
from .state import shared

_log = logging.getLogger(__name__)

_RULES = paths.PLUGIN_FOLDER / "ground_truth.md"


def register_general(ctx: Any) -> None:
    """Register everything. May run again in one process (the host's forced rediscovery)."""
    for name, hook in hooks.HOOKS.items():
        ctx.register_hook(name, hook)
    tools.register_tools(ctx)
    # `/memory` is the host's own command on both lines.
    ctx.register_command(
        paths.PLUGIN_KEY,
        commands.slash,
        description="Memory: status, recall, report, forget, off, on",
        args_hint="[status|recall <text>|report|forget <id>|off|on]",
    )
    ctx.register_cli_command(
        paths.PLUGIN_KEY,
        help="The memory-os command: status, doctor, ingest, recall, forget, …",
        setup_fn=commands.add_arguments,
        handler_fn=commands.run_cli,
        description="Passes everything on to the `memory-os` command of the service's own environment.",
    )
    _register_rules(ctx)
    _announce_role(ctx)


def _register_rules(ctx: Any) -> None:
    """Put the ground-truth rules into the prompt where the user chose that carrier and the host has it."""
    register = getattr(ctx, "register_system_prompt_section", None)
    if not callable(register) or paths.launch_config().carrier != "section":
        return
    try:
        text = _RULES.read_text("utf-8").strip()
        if text:
            register("memory-os.ground-truth", text)
    except (OSError, ValueError, TypeError) as error:
        _log.warning("memory-os: the rules did not get into the prompt: %s", error)


def _announce_role(ctx: Any) -> None:
    """Let the façade know that the hooks serve this home, until the host unloads us."""
    home = str(paths.current_home().hermes)
    homes: set[str] = shared().hook_homes
    homes.add(home)
    on_unload = getattr(ctx, "on_unload", None)
    if callable(on_unload):
        on_unload(lambda: homes.discard(home))
