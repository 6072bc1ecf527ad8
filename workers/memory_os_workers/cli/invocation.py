"""What the commands share: the home they work on, `--json`, the caller's scope, the exit codes, tables."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
from memory_os.errors import (
    BackupError,
    BadRequest,
    ConfigError,
    DocumentError,
    EmbeddingError,
    MemoryOSError,
    ModelError,
    ServiceError,
    ServiceRunning,
    StoreError,
    VectorsError,
    WikiBusy,
    WikiError,
)

if TYPE_CHECKING:
    from memory_os.config import Settings
    from rich.console import Console

    from memory_os_workers.client import ServiceClient

_P = ParamSpec("_P")
_R = TypeVar("_R")

_PIPE_WIDTH = 160

OK, FINDINGS, USAGE, RUNNING, UNAVAILABLE = 0, 1, 2, 3, 4


@dataclass
class Invocation:
    """One call of `memory-os`."""

    hermes_home: Path | None = None
    as_json: bool = False
    makes_home: bool = False  # setup may be given a home that isn't there yet

    @functools.cached_property
    def settings(self) -> Settings:
        """The configuration of the home. Raises ConfigError, or BadRequest for a named home that isn't there."""
        from memory_os.config import load_settings

        if self.hermes_home is not None and not self.makes_home and not self.hermes_home.is_dir():
            raise BadRequest(
                f"There is no Hermes home {self.hermes_home}.", cure="Name an existing folder; `memory-os setup` makes one."
            )
        return load_settings(hermes_home=self.hermes_home)

    def service(self) -> ServiceClient:
        """A client of the running service, started if need be. Raises ServiceError, StoreError."""
        from memory_os_workers.client import ensure_service

        return ensure_service(self.settings, tell=lambda text: click.echo(text, err=True))

    def caller(self, user: str = "local", **more: str) -> dict[str, str]:
        """On whose behalf the service is asked: the terminal's user unless another is named."""
        return {"user": user, "profile": self.settings.profile, "platform": "cli", "author": "user", **more}

    def show(self, data: Any, render: Callable[[Console], None]) -> None:
        """Print the exact data with `--json`, else what `render` makes of it for a person."""
        if self.as_json:
            print_json(data)
        else:
            render(console())


pass_invocation = click.make_pass_decorator(Invocation)


class Group(click.Group):
    """A group that names the nearest command to one it doesn't have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1) if args else []
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]}?", ctx) from error


def words(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str:
    """The callback of an argument that takes a text, quoted or not: its words joined. A blank one is wrong usage."""
    text = " ".join(value).strip()
    if not text and not ctx.resilient_parsing:
        raise click.BadParameter("it is empty.", ctx, parameter)
    return text


def json_option(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """`--json` on a command; the command itself only calls `Invocation.show`."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.ensure_object(Invocation).as_json |= value

    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Print exact data as JSON.",
    )(command)


def user_option(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """`--user` on a command that reads or writes private memory."""
    return click.option(
        "--user", default="local", show_default=True, help="Whose memory: local, or <platform>:<sender> of a gateway."
    )(command)


def exit_code(error: MemoryOSError) -> int:
    """The exit code of an error that ended a command."""
    if isinstance(error, (ServiceRunning, WikiBusy)):
        return RUNNING
    if isinstance(error, (BackupError, BadRequest, ConfigError, DocumentError, WikiError)):
        return USAGE
    if isinstance(error, (ServiceError, StoreError, EmbeddingError, VectorsError, ModelError)):
        return UNAVAILABLE
    return FINDINGS


def print_json(data: Any) -> None:
    """One JSON document on stdout, readable text in every script."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=not _stdout_is_utf8()) + "\n")


def console() -> Console:
    """A console for people. Recalled text is data: no markup, no emoji codes are read out of it."""
    from rich.console import Console

    # Into a pipe or a file a table may be as wide as it needs; 80 columns would cut it for nobody.
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True, width=width)


def print_table(target: Console, columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """A plain table; long text wraps in the last column."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="bold") if title else None, title_justify="left", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        table.add_column(column, overflow="fold", no_wrap=not last, header_style="dim")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    target.print(table, soft_wrap=False)


def print_tree(target: Console, data: Any, indent: int = 0) -> None:
    """Any result, indented: for what has no table of its own."""
    pad = "  " * indent
    for key, value in data.items() if isinstance(data, dict) else enumerate(data, 1):
        if isinstance(value, (dict, list)) and value:
            target.print(f"{pad}{key}:")
            print_tree(target, value, indent + 1)
        else:
            target.print(f"{pad}{key}: {_cell(value)}")


def when(epoch: object) -> str:
    """A time in the reader's zone, to the minute; empty for none."""
    if not isinstance(epoch, (int, float)) or not epoch:
        return ""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch))


def _cell(value: object) -> str:
    if value is None or value == {} or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(_cell(one) for one in value)
    return str(value)


def _stdout_is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
