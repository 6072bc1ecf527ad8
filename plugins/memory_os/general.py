"""The general role: hooks, tools, the slash command, `hermes memory-os`, and the rules' prompt section.

The host registers us at each of its starts, also for `hermes --help`; what only a turn or a command needs is imported
by the first of them.
"""

from __future__ import annotations

import logging
from typing import Any

from . import paths, toolset
from .state import shared

_log = logging.getLogger(__name__)

HOOKS = (
    "pre_llm_call",
    "post_llm_call",
    "on_session_start",
    "on_session_end",
    "on_session_finalize",
    "on_session_reset",
    "subagent_start",
    "subagent_stop",
    "pre_tool_call",
    "post_tool_call",
    "transform_tool_result",
)
_RULES = paths.PLUGIN_FOLDER / "ground_truth.md"


def register_general(ctx: Any) -> None:
    """Register everything. May run again in one process (the host's forced rediscovery)."""
    for name in HOOKS:
        ctx.register_hook(name, _hook(name))
    _register_lookups(ctx)
    toolset.register_tools(ctx)
    # `/memory` is the host's own command on both lines.
    ctx.register_command(
        paths.PLUGIN_KEY,
        _slash,
        description="Memory: status, recall, report, forget, off, on",
        args_hint="[status|recall <text>|report|forget <id>|off|on]",
    )
    ctx.register_cli_command(
        paths.PLUGIN_KEY,
        help="The memory-os command: status, doctor, ingest, recall, forget, …",
        setup_fn=_add_arguments,
        handler_fn=_run_cli,
        description="Passes everything on to the `memory-os` command of the service's own environment.",
    )
    _register_rules(ctx)
    _announce_role(ctx)


def _hook(name: str) -> Any:
    def call(**arguments: Any) -> Any:
        from . import hooks

        return hooks.HOOKS[name](**arguments)

    call.__name__ = call.__qualname__ = name
    return call


def _register_lookups(ctx: Any) -> None:
    """Watch tool calls by the host's middleware, which reaches every tool; without it, by the hooks before and after a call."""
    register = getattr(ctx, "register_middleware", None)
    shared().middleware = callable(register)
    if callable(register):
        register("tool_execution", _run_tool)


def _run_tool(**arguments: Any) -> Any:
    from . import lookups

    return lookups.run(**arguments)


async def _slash(raw_args: Any = "") -> str:
    from . import commands

    return await commands.slash(raw_args)


def _add_arguments(parser: Any) -> None:
    from . import commands

    commands.add_arguments(parser)


def _run_cli(args: Any) -> None:
    from . import commands

    commands.run_cli(args)


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
