"""`memory-os eval`: how well memory finds what it should, beside plain full text on the same questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from rich.console import Console

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_YAML = (".yaml", ".yml")
_MEASURES = (
    ("any_1", "any@1"), ("any_5", "any@5"), ("any_10", "any@10"), ("recall_10", "evidence-recall@10"),
    ("all_10", "all@10"), ("mrr", "MRR"),
)  # fmt: skip


@click.command("eval")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--cross", type=_FILE, help="Ask this file's questions of the documents of the one FILE given.")
@click.option("--inject", is_flag=True, help="Measure the injected block too: evidence in it, tokens, unrelated ones.")
@click.option("--cache", type=click.Path(dir_okay=False, path_type=Path), help="Where embeddings are kept for the next time.")
@json_option
@pass_invocation
def evaluate(invocation: Invocation, files: tuple[Path, ...], cross: Path | None, inject: bool, cache: Path | None) -> None:
    """Measure recall on FILES: corpora as JSON lines (docs/eval.md), or your own questions in YAML.

    Runs the path of a turn in a scratch home; questions in YAML are asked of a copy of your memory. Nothing of yours changes.
    """
    from memory_os_workers.eval import crossed, evaluate_own, load_corpora, load_questions
    from memory_os_workers.eval import evaluate as measure

    own = [path for path in files if path.suffix in _YAML]
    if own and (len(own) != len(files) or cross):
        raise BadRequest("Questions in YAML are asked of your memory, and corpora of themselves: measure them apart.")
    kept = cache or _cache_folder() / "eval-embeddings.db"
    if own:
        # Read before anything is opened or made, so that a slip in the file is told at once.
        questions = [question for path in own for question in load_questions(path)]
        settings = invocation.settings
        found = evaluate_own(questions, settings, kept, _progress(), inject=inject)
    else:
        corpora = [corpus for path in files for corpus in load_corpora(path)]
        if cross is not None:
            corpora = crossed(corpora, load_corpora(cross))
        found = measure(corpora, invocation.settings, kept, _progress(), inject=inject)
    invocation.show(found.as_dict(), lambda out: _render(out, found.as_dict()))


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "memory-os"


def _progress() -> Any:
    """A line a stage and a tenth of it on stderr: a pipe gets no bar, and nobody gets nothing for ten minutes."""
    told: dict[str, int] = {}

    def progress(done: int, total: int, what: str) -> None:
        tenth = 10 * done // max(total, 1)
        if told.get(what) != tenth:
            told[what] = tenth
            click.echo(f"{what}: {done} of {total}", err=True)

    return progress


def _render(out: Console, found: dict[str, Any]) -> None:
    head = f"{found['questions']:,} questions of {found['documents']:,} texts"
    rows = [(name, *_shares(scores), *_times(found, name)) for name, scores in found["systems"].items()]
    print_table(out, ("system", *(title for _, title in _MEASURES), "p50", "p95"), rows, title=head)
    if found["session_any_5"] is not None:
        rows = [(name, f"{100 * share:.1f}") for name, share in found["session_any_5"].items()]
        print_table(out, ("system", "any@5"), rows, title="\nsessions, each where its best text stands")
    for category, part in found["categories"].items():
        if len(found["categories"]) > 1:
            rows = [(name, *_shares(scores)) for name, scores in part["systems"].items()]
            title = f"{category or 'no category'}: {part['questions']} questions"
            print_table(out, ("system", *(title for _, title in _MEASURES)), rows, title=f"\n{title}")
    _render_gaps(out, found["hybrid_minus_plain_fts5"])
    if found["injected"] is not None:
        _render_injected(out, found["injected"])


def _render_gaps(out: Console, gaps: dict[str, dict[str, float | None]]) -> None:
    rows = [(title, *(_points(gaps[key][side]) for side in ("mean", "low", "high"))) for key, title in _MEASURES]
    print_table(out, ("hybrid - plain FTS5, points", "mean", "95 % from", "to"), rows, title="\npaired bootstrap")
    if any(gap["low"] is None for gap in gaps.values()):
        from memory_os_workers.eval.measures import QUESTIONS_MIN

        out.print(f"too few questions for an interval: it takes {QUESTIONS_MIN}")


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.1f}"


def _render_injected(out: Console, injected: dict[str, Any]) -> None:
    unrelated = injected["unrelated_injections"]
    rows = [
        ("some of the evidence stands in the block", f"{100 * injected['evidence_any']:.1f} %"),
        ("all of it does", f"{100 * injected['evidence_all']:.1f} %"),
        ("turns with a block", f"{100 * injected['turns_with_a_block']:.1f} %"),
        ("tokens of a block, mean and largest", f"{injected['tokens_mean']:.0f}, {injected['tokens_largest']}"),
        (
            f"blocks for another corpus's {injected['unrelated_questions']} questions",
            "not measured: one corpus" if unrelated is None else f"{100 * unrelated:.1f} %",
        ),
    ]
    print_table(out, ("the injected block", ""), rows, title="\ninjection")


def _shares(scores: dict[str, float]) -> list[str]:
    return [f"{scores[key]:.3f}" if key == "mrr" else f"{100 * scores[key]:.1f}" for key, _ in _MEASURES]


def _times(found: dict[str, Any], name: str) -> list[str]:
    return [f"{found['latency_ms'][name][part]:.1f} ms" for part in ("p50", "p95")]
