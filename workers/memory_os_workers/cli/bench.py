"""`memory-os bench`: tables of what the product promises and what it takes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Group, Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from memory_os_workers.bench import Figure


@click.group(cls=Group, invoke_without_command=True)
@click.option(
    "--memories", default=10_000, show_default=True, type=click.IntRange(100, 1_000_000), help="How many to fill in."
)
@json_option
@click.pass_context
def bench(ctx: click.Context, memories: int) -> int:
    """Measure recall, capture, start and memory in a scratch home filled with generated memories.

    Nothing of yours is read or changed. Exit code 1: a promised figure was missed.
    """
    if ctx.invoked_subcommand is not None:
        return OK
    from memory_os_workers.bench import run_bench

    invocation = ctx.ensure_object(Invocation)
    figures = run_bench(invocation.settings.models_dir, memories, lambda text: click.echo(text, err=True))
    invocation.show(
        [figure.as_dict() for figure in figures], lambda out: _render(out, figures, f"{memories:,} memories")
    )
    return _code(figures)


@bench.command("model")
@json_option
@pass_invocation
def model(invocation: Invocation) -> int:
    """Measure what the model client adds to a call, against an endpoint of its own on this machine.

    Nothing of yours is asked or sent. Exit code 1: more than was promised.
    """
    from memory_os_workers.bench.model import run_model_bench

    figures = run_model_bench()
    invocation.show([figure.as_dict() for figure in figures], lambda out: _render(out, figures, "the model client"))
    return _code(figures)


@bench.command("ingest")
@click.option(
    "--files", default=500, show_default=True, type=click.IntRange(50), help="Files whose throughput is measured."
)
@click.option(
    "--beside", default=1000, show_default=True, type=click.IntRange(20), help="Files taken in while recalls are timed."
)
@click.option(
    "--known", default=10_000, show_default=True, type=click.IntRange(100), help="Files compared when nothing changed."
)
@click.option("--turns", default=200, show_default=True, type=click.IntRange(10), help="Recalls while idle.")
@click.option("--jobs", default=2000, show_default=True, type=click.IntRange(100), help="Jobs that do nothing.")
@json_option
@pass_invocation
def ingest(invocation: Invocation, files: int, beside: int, known: int, turns: int, jobs: int) -> int:
    """Measure the pipeline: throughput, recall meanwhile, the diff, the queue, in scratch homes with generated files.

    Each is compared with what the machine can do, measured in the same run; it takes some minutes. Nothing of yours is
    read or changed. Exit code 1: a promised figure was missed.
    """
    from memory_os_workers.bench.ingest import Sizes, run_ingest_bench

    sizes = Sizes(bulk=files, beside=beside, known=known, turns=turns, jobs=jobs)
    figures = run_ingest_bench(invocation.settings.models_dir, sizes, lambda text: click.echo(text, err=True))
    invocation.show([figure.as_dict() for figure in figures], lambda out: _render(out, figures, "the pipeline"))
    return _code(figures)


def _code(figures: list[Figure]) -> int:
    return FINDINGS if any(figure.met is False for figure in figures) else OK


def _render(out: Console, figures: list[Figure], title: str) -> None:
    rows = [
        (
            figure.name,
            f"{figure.value:.1f} {figure.unit}",
            figure.promised,
            {True: "met", False: "missed", None: ""}[figure.met],
        )
        for figure in figures
    ]
    print_table(out, ("figure", "measured", "promised", ""), rows, title=title)
