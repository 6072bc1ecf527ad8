"""`memory-os ingest` and `memory-os reindex`: long work with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console

_OUTCOMES = {
    "ok": "taken in",
    "unchanged": "unchanged",
    "renamed": "renamed",
    "skipped": "skipped",
    "removed": "removed",
    "stale": "still being written",
}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
@pass_invocation
def ingest(invocation: Invocation, paths: tuple[Path, ...]) -> int:
    """Take files or folders in as documents.

    An edited one replaces its old text, an unchanged one is left, one that is gone leaves memory.

    Exit code 1: at least one file was skipped; each is named with its reason.
    """
    client = invocation.service()
    reports: list[dict[str, Any]] = []
    for path in paths:
        work = client.stream("/v1/ingest", {"path": str(path.absolute())})
        reports.append(follow(invocation, work, f"ingest {path.name or path}"))
    waiting = int(client.get("/v1/status").get("pending_embeddings", 0))
    for report in reports:
        report["pending_embeddings"] = waiting
    invocation.show(reports[0] if len(reports) == 1 else reports, lambda out: _render_reports(out, reports, waiting))
    return FINDINGS if any(_skipped(report) for report in reports) else OK


@click.command()
@json_option
@pass_invocation
def reindex(invocation: Invocation) -> int:
    """Build the vector collection anew from memory.db, after a change of model or a damage.

    Exit code 1: the model failed on some texts, which were left out; they are named, and tried again in the background.
    """
    client = invocation.service()
    result = follow(invocation, client.stream("/v1/reindex"), "reindex")
    waiting = int(client.get("/v1/status").get("pending_embeddings", 0))
    left = result["left_out"]
    invocation.show(result, lambda out: _render_rebuilt(out, result["points"], left, waiting))
    return FINDINGS if left else OK


def _render_rebuilt(out: Console, points: int, left: dict[str, str], waiting: int) -> None:
    if left:
        print_table(out, ("left out", "reason"), list(left.items()))
    out.print(_rebuilt(points, len(left), waiting - len(left)))


def _rebuilt(points: int, left: int, waiting: int) -> str:
    """What a reindex has brought: a bare number would not say whether what `status` asked for is done."""
    parts = [f"The collection is built anew, in this version's form: {points} point{'s' * (points != 1)}."]
    if left:
        parts.append(f"The model failed on {left} passage{'s' * (left != 1)}; their words find them, and they are tried again.")
    if waiting > 0:
        parts.append(_still_waiting(waiting))
    return " ".join(parts if len(parts) > 1 else [*parts, "Search by meaning is whole."])


def _still_waiting(passages: int) -> str:
    if passages == 1:
        return "1 passage still waits for its vector; until then its words find it."
    return f"{passages} passages still wait for their vector; until then their words find them."


def follow(invocation: Invocation, lines: Iterator[dict[str, Any]], title: str) -> dict[str, Any]:
    """Show the progress of streamed work on stderr and return its result."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    result: dict[str, Any] = {}
    # On stderr: stdout belongs to the result, with --json above all.
    screen = Console(stderr=True, markup=False, emoji=False)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        for line in lines:
            if "result" in line:
                result = line["result"]
                continue
            step = line["progress"]
            what = f"{title}: {step['what']}" if step["what"] else title
            bar.update(task, completed=step["done"], total=step["total"], description=what[-60:])
    return result


def _render_reports(out: Console, reports: list[dict[str, Any]], waiting: int) -> None:
    """The files that need a look, then the totals."""
    rows = [
        (one["status"], one["path"], "; ".join(filter(None, (one["reason"], *one["notes"]))))
        for report in reports
        for one in report["files"]
        if one["status"] not in ("ok", "unchanged") or one["notes"]
    ]
    if rows:
        print_table(out, ("status", "file", "reason"), rows)
    total = {name: sum(report[name] for report in reports) for name in (*_OUTCOMES, "excluded", "chunks")}
    told = ", ".join(f"{total[name]} {said}" for name, said in _OUTCOMES.items() if total[name] or name == "ok")
    chunks = f"{total['chunks']} passage{'s' * (total['chunks'] != 1)}"
    out.print(f"{told}; {chunks}" + f" ({total['excluded']} not looked at)" * bool(total["excluded"]))
    if waiting:
        out.print(_still_waiting(waiting))


def _skipped(report: dict[str, Any]) -> bool:
    return any(one["status"] == "skipped" for one in report["files"])
