"""`memory-os fabric`: the shared folder's entries, by the agent's own tools."""

from __future__ import annotations

from typing import Any

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, print_tree


@click.group()
def fabric() -> None:
    """Look into the fabric: what is pending, a brief, a search, a report."""


@fabric.command("brief")
@json_option
@pass_invocation
def fabric_brief(invocation: Invocation) -> int:
    """Show what an agent would want to know at the start of a session."""
    return _show(invocation, "fabric_brief", {})


@fabric.command("pending")
@click.option("--customer", default="", help="Only entries of this customer id.")
@json_option
@pass_invocation
def fabric_pending(invocation: Invocation, customer: str) -> int:
    """Show open tasks and reviews. Exit code 0 whether or not there are any."""
    return _show(invocation, "fabric_pending", {"customer_id": customer} if customer else {})


@fabric.command("search")
@click.argument("query", nargs=-1, required=True)
@json_option
@pass_invocation
def fabric_search(invocation: Invocation, query: tuple[str, ...]) -> int:
    """Find entries by the words of QUERY. Exit code 1: none."""
    return _show(invocation, "fabric_search", {"query": " ".join(query)}, empty=FINDINGS)


@fabric.command("report")
@json_option
@pass_invocation
def fabric_report(invocation: Invocation) -> int:
    """Show figures on the folder: types, tiers, agents, retrievals."""
    return _show(invocation, "fabric_report", {})


def _show(invocation: Invocation, tool: str, arguments: dict[str, Any], *, empty: int = OK) -> int:
    body = {"arguments": arguments, "caller": invocation.caller()}
    found = invocation.service().post(f"/v1/tools/{tool}", body)
    invocation.show(found, lambda out: print_tree(out, found))
    return empty if found.get("results") == [] else OK
