"""`memory-os bench`: tables of what the product promises and what it takes here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Group, Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from memory_os_workers.bench import Figure
    from memory_os_workers.bench.scale import Scale


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
@click.option("--turns", default=100, show_default=True, type=click.IntRange(4), help="Turns with a provider that hangs.")
@json_option
@pass_invocation
def model(invocation: Invocation, turns: int) -> int:
    """Measure the model client: what it adds to a call, the calls of a session, and turns while a provider hangs.

    Against endpoints of its own on this machine and services in scratch homes; nothing of yours is asked or sent. Exit
    code 1: more than was promised.
    """
    from memory_os_workers.bench.hanging import hanging_figures
    from memory_os_workers.bench.model import run_model_bench

    figures = run_model_bench()
    figures += hanging_figures(invocation.settings.models_dir, turns, lambda text: click.echo(text, err=True))
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


class _Sizes(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """Whole numbers with commas between them."""

    name = "n,n,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            sizes = tuple(int(one) for one in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r}: give whole numbers with commas between them.", param, ctx)
        if not all(100 <= one <= 1_000_000 for one in sizes):
            self.fail(f"{value!r}: each from 100 to 1000000.", param, ctx)
        return sizes


@bench.command("scale")
@click.option("--sizes", default="10000,100000", show_default=True, type=_Sizes(), help="How many memories, one home each.")
@json_option
@pass_invocation
def scale(invocation: Invocation, sizes: tuple[int, ...]) -> None:
    """Measure how cost grows with memory: recall in the hook, disk, memory and start for each size, embedded.

    Generated memories in scratch homes; 100,000 take some minutes and 1 GB. Nothing of yours is read or changed.
    """
    from memory_os_workers.bench.scale import run_scale_bench

    rows = list(run_scale_bench(invocation.settings.models_dir, sizes, lambda text: click.echo(text, err=True)))
    invocation.show([row.as_dict() for row in rows], lambda out: _render_scale(out, rows))


def _render_scale(out: Console, rows: list[Scale]) -> None:
    table = [
        (
            f"{row.memories:,}", f"{row.recall_p50_ms:.1f} / {row.recall_p95_ms:.1f}", f"{row.turn_cpu_ms:.0f}",
            f"{row.dense_p50_ms:.1f} / {row.lexical_p50_ms:.1f}", f"{row.database_mb:.0f} + {row.vectors_mb:.0f}",
            f"{row.resident_mb:.0f} ({row.anonymous_mb:.0f})", f"{row.answers_s:.1f} / {row.ready_s:.1f}", f"{row.load:.1f}",
        )
        for row in rows
    ]  # fmt: skip
    heads = (
        "memories", "recall p50 / p95, ms", "computed a turn, ms", "meaning / words p50, ms",
        "memory.db + vectors, MB", "resident (own), MB",
        "answers / ready, s", "load",
    )  # fmt: skip
    print_table(out, heads, table, title="cost by size")


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
