"""The command `memory-os`. A command's module is imported when the command is called, so that `status` stays fast.

Exit codes: 0 good · 1 done, with findings or failures · 2 wrong usage or input · 3 already running, or not running ·
4 unavailable (the service, memory.db, the model, the disk).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from memory_os import __version__
from memory_os.errors import MemoryOSError

from memory_os_workers.cli.invocation import UNAVAILABLE, Group, Invocation, exit_code, print_json

# Every command, in the order of `--help`, and where its click command stands.
COMMANDS = {
    "setup": "memory_os_workers.cli.install:setup",
    "uninstall": "memory_os_workers.cli.install:uninstall",
    "doctor": "memory_os_workers.cli.install:doctor",
    "soul": "memory_os_workers.cli.install:soul",
    "serve": "memory_os_workers.cli.lifecycle:serve",
    "stop": "memory_os_workers.cli.lifecycle:stop",
    "worker": "memory_os_workers.cli.worker:worker",
    "dlq": "memory_os_workers.cli.dlq:dlq",
    "status": "memory_os_workers.cli.status:status",
    "recall": "memory_os_workers.cli.recall:recall",
    "explain": "memory_os_workers.cli.recall:explain",
    "report": "memory_os_workers.cli.report:report",
    "ingest": "memory_os_workers.cli.documents:ingest",
    "reindex": "memory_os_workers.cli.documents:reindex",
    "forget": "memory_os_workers.cli.forget:forget",
    "facts": "memory_os_workers.cli.facts:facts",
    "maintain": "memory_os_workers.cli.maintain:maintain",
    "backup": "memory_os_workers.cli.backup:backup",
    "restore": "memory_os_workers.cli.backup:restore",
    "export": "memory_os_workers.cli.backup:export_facts",
    "import": "memory_os_workers.cli.backup:import_facts",
    "wiki": "memory_os_workers.cli.wiki:wiki",
    "fabric": "memory_os_workers.cli.fabric:fabric",
    "config": "memory_os_workers.cli.config:config",
    "bench": "memory_os_workers.cli.bench:bench",
    "ab": "memory_os_workers.cli.ab:ab",
    "eval": "memory_os_workers.cli.eval:evaluate",
}


class _Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--home", type=click.Path(path_type=Path), help="The Hermes home to work on; default: HERMES_HOME, then ~/.hermes."
)
@click.version_option(__version__, prog_name="memory-os", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, home: Path | None) -> None:
    """A seven-layer memory for Hermes Agent that runs on your own machine."""
    ctx.ensure_object(Invocation).hermes_home = home


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code; what a user can mend is one line on stderr, never a traceback."""
    invocation = Invocation()
    try:
        result: Any = cli.main(args=arguments, prog_name="memory-os", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("stopped", err=True)
        return 130
    except BrokenPipeError:
        # `memory-os … | head`: the reader has what it wanted. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryOSError as error:
        if invocation.as_json:
            print_json({"error": error.message, "cure": error.cure, "code": error.code})
        with suppress(OSError):  # stderr may be a file on the very disk that is full
            click.echo(f"error: {error}", err=True)
        return exit_code(error)
    except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
        click.echo(f"error: {error.filename} can't be used: {error.strerror}.", err=True)
        return UNAVAILABLE
    return result if isinstance(result, int) else 0
