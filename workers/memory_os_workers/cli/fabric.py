"""`memory-os fabric`: the shared folder's entries, by the agent's own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    Group,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console

_BRIEF = {
    "pending": "Waits for this agent",
    "recent_decisions": "Decided",
    "hot": "Own work of late",
    "from_other_agents": "From other agents",
}
_PENDING = {
    "open_task": "task",
    "review_of_my_work": "review",
    "open_ticket": "ticket",
    "waiting_for_others": "waits for others",
}


@click.group(cls=Group)
def fabric() -> None:
    """Look into the fabric: what is pending, a brief, a search, a report."""


@fabric.command("brief")
@json_option
@pass_invocation
def fabric_brief(invocation: Invocation) -> int:
    """Show what an agent would want to know at the start of a session."""
    return _show(invocation, "fabric_brief", {}, _render_brief)


@fabric.command("pending")
@click.option("--customer", default="", help="Only entries of this customer id.")
@json_option
@pass_invocation
def fabric_pending(invocation: Invocation, customer: str) -> int:
    """Show open tasks and reviews. Exit code 0 whether or not there are any."""
    return _show(invocation, "fabric_pending", {"customer_id": customer} if customer else {}, _render_pending)


@fabric.command("search")
@click.argument("query", nargs=-1, required=True, callback=words)
@json_option
@pass_invocation
def fabric_search(invocation: Invocation, query: str) -> int:
    """Find entries by the words of QUERY. Exit code 1: none."""
    return _show(invocation, "fabric_search", {"query": query}, _render_search, empty=FINDINGS)


@fabric.command("report")
@json_option
@pass_invocation
def fabric_report(invocation: Invocation) -> int:
    """Show figures on the folder: types, tiers, agents, retrievals."""
    return _show(invocation, "fabric_report", {}, _render_report)


def _show(
    invocation: Invocation,
    tool: str,
    arguments: dict[str, Any],
    render: Callable[[Console, dict[str, Any]], None],
    *,
    empty: int = OK,
) -> int:
    body = {"arguments": arguments, "caller": invocation.caller()}
    found = invocation.service().post(f"/v1/tools/{tool}", body)
    invocation.show(found, lambda out: _render(out, found, render))
    return empty if found.get("results") == [] else OK


def _render(out: Console, found: dict[str, Any], render: Callable[[Console, dict[str, Any]], None]) -> None:
    render(out, found)
    if found.get("cursor"):
        out.print(f"The first {len(found['results'])} of {found['total']}; --json and the agent's tool page through all.")
    if found.get("note"):
        out.print(f"Note: {found['note']}")


def _render_brief(out: Console, found: dict[str, Any]) -> None:
    out.print(f"For {found['agent']}: {found['pending_total']} waiting.")
    for name, title in _BRIEF.items():
        if found.get(name):
            out.print()
            _print_entries(out, found[name], title)


def _render_pending(out: Console, found: dict[str, Any]) -> None:
    if not found["results"]:
        out.print(f"Nothing waits for {found['agent']}.")
        return
    rows = [
        (one["id"], one["date"], _PENDING.get(one["group"], one["group"]), _for_whom(one), one.get("summary", ""))
        for one in found["results"]
    ]
    print_table(out, ("id", "date", "what", "for", "summary"), rows)


def _render_search(out: Console, found: dict[str, Any]) -> None:
    if not found["results"]:
        out.print("No entry has all these words.")
        return
    _print_entries(out, found["results"])


def _render_report(out: Console, found: dict[str, Any]) -> None:
    out.print(f"{found['total']} entries in {found['folder']}, {found['pending']} of them waiting for this agent.")
    if found.get("newest"):
        out.print(f"The newest is of {found['newest'][:10]}, the oldest of {found['oldest'][:10]}.")
    for name in ("type", "agent", "status", "tier", "age"):
        counts = found[f"by_{name}"]
        if counts:
            out.print(f"by {name}: {', '.join(f'{value} {count}' for value, count in counts.items())}")
    if found.get("skipped"):
        out.print()
        rows = [(one["path"], one["reason"]) for one in found["skipped"]]
        print_table(out, ("not an entry", "because"), rows)


def _print_entries(out: Console, entries: list[dict[str, Any]], title: str = "") -> None:
    rows = [(one["id"], one["date"], one["type"], one.get("status", ""), one.get("summary", "")) for one in entries]
    print_table(out, ("id", "date", "type", "status", "summary"), rows, title=title)


def _for_whom(entry: dict[str, Any]) -> str:
    return str(entry.get("assigned_to") or entry.get("customer_id") or entry.get("review_of") or "")
