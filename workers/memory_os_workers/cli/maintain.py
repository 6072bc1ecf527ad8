"""`memory-os maintain`: what memory does for its own health: shown, run by hand, tried dry, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
    when,
)

if TYPE_CHECKING:
    from rich.console import Console

# A full backup copies and proves everything.
_TIMEOUT_S = 3600.0
_BAD = ("failed", "degraded")
_REVIEW = "review"


@click.command()
@click.argument("duty", required=False, default="")
@click.argument("pair", required=False, type=int)
@click.option("--dry-run", is_flag=True, help="Change nothing, say what the duty would do.")
@click.option("--undo", "run", type=int, help="Take back what a run changed; the list shows its number.")
@click.option("--merge", is_flag=True, help="With `review PAIR`: the two are one fact.")
@click.option("--apart", is_flag=True, help="With `review PAIR`: they are two facts, for good.")
@json_option
@pass_invocation
def maintain(
    invocation: Invocation, duty: str, pair: int | None, dry_run: bool, run: int | None, merge: bool, apart: bool
) -> int:
    """List the duties and how they fare, or run DUTY now.

    `memory-os maintain review` lists pairs of facts that may say the same; `review PAIR --merge` or `--apart` decides one.

    Exit code 1: the duty failed or is degraded; of the list: one is.
    """
    if run is not None:
        found = _ask(invocation, {"action": "undo", "run": run})
        invocation.show(found, lambda out: out.print(f"Run {run}: {found['said']}."))
        return OK
    if duty == _REVIEW:
        return _review(invocation, pair, merge=merge, apart=apart)
    if pair is not None or merge or apart:
        raise BadRequest("PAIR, --merge and --apart belong to `memory-os maintain review`.")
    if duty:
        found = _ask(invocation, {"action": "run", "duty": duty, "dry_run": dry_run})
        invocation.show(found, lambda out: _outcome(out, found))
        return FINDINGS if found["state"] in _BAD else OK
    found = _ask(invocation, {"action": "list"})
    invocation.show(found, lambda out: _overview(out, found))
    return FINDINGS if any(one["state"] in _BAD for one in found["duties"].values()) else OK


def _review(invocation: Invocation, pair: int | None, *, merge: bool, apart: bool) -> int:
    if pair is None:
        found = _ask(invocation, {"action": "reviews"})
        invocation.show(found["reviews"], lambda out: _pairs(out, found["reviews"]))
        return OK
    if merge == apart:
        raise BadRequest(f"Say what pair {pair} is: --merge or --apart.")
    found = _ask(invocation, {"action": "decide", "pair": pair, "merge": merge})
    invocation.show(found, lambda out: out.print(f"Pair {pair}: {found['said']}."))
    return OK


def _ask(invocation: Invocation, body: dict[str, Any]) -> dict[str, Any]:
    return invocation.service().post("/v1/maintain", body, timeout=_TIMEOUT_S)


def _overview(out: Console, found: dict[str, Any]) -> None:
    rows = [
        (name, one["state"], when(one["last_at"]), when(one["due_at"]), one["error"] or one["result"] or one["does"])
        for name, one in found["duties"].items()
    ]
    print_table(out, ("duty", "state", "last", "next", "result"), rows)
    if found["reviews"]:
        out.print(f"\n{found['reviews']} pairs of facts wait for you: `memory-os maintain review`.")
    runs = [one for one in found["runs"] if one["steps"] or one["undone_at"]]
    if runs:
        out.print()
        changes = [(one["id"], one["duty"], when(one["at"]), "taken back" if one["undone_at"] else one["result"]) for one in runs]
        print_table(out, ("run", "duty", "at", "what it changed (--undo RUN takes it back)"), changes)
    flights = found["canary"][:5]
    if flights:
        out.print()
        print_table(
            out, ("canary", "state", "detail"), [(when(one["at"]), one["state"], one["detail"]) for one in flights]
        )
    for one in found["backups"][:5]:
        out.print(f"Backup of {when(one['at'])}: {one['path']} ({one['verified']})")
    if not found["alerts"]:
        out.print("No alert route is set (`alerts.command`, `alerts.webhook`): failures are shown here and in `status`.")


def _outcome(out: Console, found: dict[str, Any]) -> None:
    out.print(f"{found['name']}: {found['state']}, {found['error'] or found['result']} ({found['milliseconds'] / 1e3:.1f} s)")
    for line in found["details"]:
        out.print(f"  {line}")
    if found["run"]:
        out.print(f"`memory-os maintain --undo {found['run']}` takes it back.")


def _pairs(out: Console, pairs: list[dict[str, Any]]) -> None:
    if not pairs:
        out.print("No pair waits.")
        return
    for one in pairs:
        out.print(f"{one['id']}  alike {one['likeness']}")
        for fact in one["facts"]:
            out.print(f"    {fact['id']}  {fact['text']}")
    out.print("`memory-os maintain review PAIR --merge` makes one fact of two, `--apart` keeps both for good.")
