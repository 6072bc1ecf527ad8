"""`memory-os bench`: a table of what the product promises and what it takes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from memory_os_workers.bench import Figure


@click.command()
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100, 1_000_000), help="How many to fill in.")
@json_option
@pass_invocation
def bench(invocation: Invocation, memories: int) -> int:
    """Measure recall, capture, start and memory in a scratch home filled with generated memories.

    Nothing of yours is read or changed. Exit code 1: a promised figure was missed.
    """
    from memory_os_workers.bench import run_bench

    figures = run_bench(invocation.settings.models_dir, memories, lambda text: click.echo(text, err=True))
    invocation.show([figure.as_dict() for figure in figures], lambda out: _render(out, figures, memories))
    return FINDINGS if any(figure.met is False for figure in figures) else OK


def _render(out: Console, figures: list[Figure], memories: int) -> None:
    rows = [
        (
            figure.name,
            f"{figure.value:.1f} {figure.unit}",
            "" if figure.limit is None else f"≤ {figure.limit:g} {figure.unit}",
            {True: "met", False: "missed", None: ""}[figure.met],
        )
        for figure in figures
    ]
    print_table(out, ("figure", "measured", "promised", ""), rows, title=f"{memories:,} memories")
