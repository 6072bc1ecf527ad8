"""`memory-os forget`: out of every layer, for good, with proof."""

from __future__ import annotations

from typing import Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import OK, Invocation, json_option, pass_invocation, print_tree, user_option

_FORGET_TIMEOUT_S = 600.0


@click.command()
@click.argument("handle", required=False, default="")
@click.option("--query", default="", help="Forget what matches these words; without --yes it is only listed.")
@click.option("--session", default="", help="Forget everything of this session.")
@click.option("--all-mine", is_flag=True, help="Forget everything of this user.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@user_option
@json_option
@pass_invocation
def forget(
    invocation: Invocation, handle: str, query: str, session: str, all_mine: bool, yes: bool, user: str
) -> int:
    """Forget one memory, a search's results, a session, or everything of a user.

    HANDLE is what a block shows before a line, e.g. f:k3m9q2ab. The result proves it: the same search is
    made again. Only one of the ways can be given.
    """
    arguments = _arguments(handle, query, session, all_mine)
    if not yes and not query:
        click.confirm("This can't be undone. Forget it?", abort=True, err=True)
    if query and not yes:
        arguments["confirm"] = False
    body = {"arguments": arguments, "caller": invocation.caller(user)}
    found = invocation.service().post("/v1/forget", body, timeout=_FORGET_TIMEOUT_S)
    invocation.show(found, lambda out: print_tree(out, found))
    return OK


def _arguments(handle: str, query: str, session: str, all_mine: bool) -> dict[str, Any]:
    ways: dict[str, Any] = {"id": handle, "query": query, "session": session, "all_mine": all_mine}
    given = {key: value for key, value in ways.items() if value}
    if len(given) != 1:
        raise BadRequest("Give exactly one of HANDLE, --query, --session, --all-mine.")
    return {**given, "confirm": True}
