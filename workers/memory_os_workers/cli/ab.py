"""`memory-os ab`: the same questions to the real Hermes, with memory and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from memory_os_workers.ab.figures import Run
    from memory_os_workers.ab.questions import QuestionSet

_ROWS = (("right", "right"), ("from_memory", "answered from memory"))
_MEANS = (("tool_calls", "tool calls"), ("tokens", "tokens"), ("seconds", "seconds"))


@click.command()
@click.argument("questions", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--limit", type=click.IntRange(1), help="Only the first N of each group.")
@click.option("--toolsets", default="", help="Give Hermes these toolsets only (its -t); for models with a small window.")
@click.option("--judge", is_flag=True, help="Let the configured language model judge instead of the set's own rules.")
@json_option
@pass_invocation
def ab(invocation: Invocation, questions: Path | None, limit: int | None, toolsets: str, judge: bool) -> int:
    """Ask a question set of the real Hermes with memory and without, and compare.

    QUESTIONS is a YAML file (default: the starter set that comes along). Runs in two scratch homes with the model of your
    Hermes home; your own memory is neither read nor changed. Exit code 1: some question got no answer.
    """
    from memory_os_workers.ab.figures import summary
    from memory_os_workers.ab.questions import STARTER, load

    chosen = _limited(load(questions or STARTER), limit)
    runs = _runs(invocation, chosen, ["-t", toolsets] if toolsets else [])
    if judge:
        from memory_os_workers.ab.judge import judged

        runs = judged(invocation.settings, chosen, runs)
    found = {"project": chosen.project, "figures": summary(runs), "runs": [run.as_dict() for run in runs]}
    invocation.show(found, lambda out: _render(out, found))
    return FINDINGS if any(run.error for run in runs) else OK


def _runs(invocation: Invocation, chosen: QuestionSet, options: list[str]) -> list[Run]:
    from memory_os_workers.ab.scratch import ask, homes, teach
    from memory_os_workers.setup.host import required_host

    host = required_host()
    runs = []
    with homes(invocation.settings.hermes_home) as both:
        teach(both[0], chosen)
        for at, question in enumerate(chosen.questions, 1):
            click.echo(f"{at}/{len(chosen.questions)} {question.ask}", err=True)
            runs += [ask(home, question, host, options) for home in both]
    return runs


def _limited(chosen: QuestionSet, limit: int | None) -> QuestionSet:
    if limit is None:
        return chosen
    kept = [one for free in (False, True) for one in [q for q in chosen.questions if q.free is free][:limit]]
    return replace(chosen, questions=tuple(kept))


def _render(out: Console, found: dict[str, Any]) -> None:
    out.print(found["project"])
    for name, group in found["figures"].items():
        title = "Questions of memory" if name == "memory" else "Questions that need no memory"
        rows = [(label, _share(group["on"][key]), _share(group["off"][key]), _gain(group, key)) for key, label in _ROWS]
        rows += [(label, _mean(group["on"][key]), _mean(group["off"][key]), _mean(group["difference"][key])) for key, label in _MEANS]
        out.print()
        failed = f", {group['failed']} runs without an answer" if group["failed"] else ""
        print_table(out, ("", "memory on", "off", "difference"), rows, title=f"{title}: {group['questions']}{failed}")
    out.print("\nIntervals are 95 %: Wilson for shares, bootstrap over the questions for means and differences.")


def _share(value: dict[str, Any]) -> str:
    low, high = value["interval"]
    return f"{100 * value['share']:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def _gain(group: dict[str, Any], key: str) -> str:
    return _mean(group["difference"][key]) if key in group["difference"] else ""


def _mean(value: dict[str, Any]) -> str:
    low, high = value["interval"]
    return f"{value['mean']:.2f} ({low:.2f} to {high:.2f})"
