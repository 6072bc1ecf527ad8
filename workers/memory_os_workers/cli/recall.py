"""`memory-os recall` and `memory-os explain`: what would be injected, and why each line was."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    Invocation,
    json_option,
    pass_invocation,
    user_option,
    when,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console

_LAYERS = ("workspace", "sessions", "facts", "fabric", "vectors", "wiki")


@click.command()
@click.argument("query", nargs=-1, required=True, callback=words)
@user_option
@click.option("--session", default="", help="Ask as if inside this session (its own window is not quoted back).")
@click.option("--layers", multiple=True, type=click.Choice(_LAYERS), help="Only this layer; may be repeated.")
@json_option
@pass_invocation
def recall(invocation: Invocation, query: str, user: str, session: str, layers: tuple[str, ...]) -> int:
    """Show what QUERY would bring into a prompt, with every candidate's scores.

    Nothing is counted as used. Exit code 1: nothing relevant was found.
    """
    payload = {
        "v": 1,
        "turn_id": f"cli:{uuid.uuid4().hex}",
        "session_id": session,
        "platform": "cli",
        "user": user,
        "profile": invocation.settings.profile,
        "user_message": query,
        "first_turn": False,
        "visible": {},
        "at": time.time(),
        "dry_run": True,
        "layers": list(layers),
    }
    found = invocation.service().post("/v1/recall", payload)
    invocation.show(found, lambda out: _render_recall(out, found))
    return OK if found.get("context") else FINDINGS


@click.command()
@click.argument("turn", default="last")
@json_option
@pass_invocation
def explain(invocation: Invocation, turn: str) -> int:
    """Show why each line of a turn's block was there, or not (TURN: an id, or `last`)."""
    from urllib.parse import quote

    found = invocation.service().get(f"/v1/explain?turn={quote(turn, safe='')}")
    invocation.show(found, lambda out: _render_explanation(out, found))
    return OK


def _render_recall(out: Console, found: dict[str, Any]) -> None:
    out.print(found.get("context") or f"Nothing would be injected ({found.get('reason') or found.get('outcome')}).")
    out.print()
    _print_arms(out, found)
    candidates = found.get("candidates") or []
    if candidates:
        out.print()
        _print_lines(out, candidates)


def _render_explanation(out: Console, found: dict[str, Any]) -> None:
    reason = f" ({found['reason']})" if found.get("reason") else ""
    out.print(f"turn {found.get('turn_id')}, {when(found.get('at'))}: {found.get('outcome')}{reason}")
    spent = f"{found.get('tokens', 0)} tokens, {found.get('milliseconds', 0):.1f} ms"
    out.print(f"{spent}, session {found.get('session_id')}")
    _print_arms(out, found)
    out.print()
    _print_lines(out, found.get("lines") or [])


def _print_arms(out: Console, found: dict[str, Any]) -> None:
    for name, arm in (found.get("arms") or {}).items():
        took = f", {arm['milliseconds']} ms" if "milliseconds" in arm else ""
        out.print(f"  {name}: {arm['state']}{took}{' ' * bool(arm['reason'])}{arm['reason']}")


def _print_lines(out: Console, lines: list[dict[str, Any]]) -> None:
    """Each candidate on two lines: what it says, then its scores and why it was left out."""
    for line in lines:
        out.print(f"{'+' if line['shown'] else '-'} {line['handle'] or '(forgotten)'} {' '.join(line['text'].split())}")
        out.print(f"    {line['reason']}{': ' * bool(line['reason'])}{_scores(line['scores'])}", style="dim")


def _scores(scores: dict[str, Any]) -> str:
    return " · ".join(f"{key} {one:.2f}" if isinstance(one, float) else f"{key} {one}" for key, one in scores.items())
