"""`memory-os forget`: shown first, then out of every layer, for good, with proof."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, user_option

if TYPE_CHECKING:
    from rich.console import Console

_FORGET_TIMEOUT_S = 600.0
_CURE = "Take the id from a recalled line, or find it with `memory-os forget --query WORDS`."


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

    HANDLE is what a block shows before a line, e.g. f:k3m9q2ab. What would go is shown before you are asked. The
    result proves it: the same search is made again. Only one of the ways can be given.

    Exit code 1: nothing matched, or something is left.
    """
    way = _way(handle, query, session, all_mine)
    if not yes:
        found = _ask(invocation, user, {**way, "preview": True})
        if query or found["status"] == "nothing":
            invocation.show(found, lambda out: out.print(_listing(found)))
            return FINDINGS if found["status"] == "nothing" else OK
        click.echo(_meant(found["would_forget"]), err=True)
        if invocation.as_json and not sys.stdin.isatty():
            raise BadRequest("Nobody is there to be asked; nothing was forgotten.", cure="Add --yes.")
        click.confirm("This can't be undone. Forget it?", abort=True, err=True)
    found = _ask(invocation, user, {**way, "confirm": True})
    invocation.show(found, lambda out: _render(out, found))
    return OK if found["status"] == "forgotten" else FINDINGS


def _way(handle: str, query: str, session: str, all_mine: bool) -> dict[str, Any]:
    ways: dict[str, Any] = {"id": handle, "query": query, "session": session, "all_mine": all_mine}
    given = {key: value for key, value in ways.items() if value}
    if len(given) != 1:
        raise BadRequest("Give exactly one of HANDLE, --query, --session, --all-mine.")
    return given


def _ask(invocation: Invocation, user: str, arguments: dict[str, Any]) -> dict[str, Any]:
    body = {"arguments": arguments, "caller": invocation.caller(user)}
    try:
        return invocation.service().post("/v1/forget", body, timeout=_FORGET_TIMEOUT_S)
    except BadRequest as error:
        # The cure that comes with it is written for the agent, in the names of its tool.
        raise BadRequest(error.message, cure=_CURE if "There is no memory" in error.message else "") from error


def _listing(found: dict[str, Any]) -> str:
    if found["status"] == "nothing":
        return "Nothing matches; nothing was forgotten."
    ending = "Nothing is forgotten yet. Add --yes to forget all of these, or name one by its id."
    return f"{_meant(found['would_forget'])}\n{ending}"


def _meant(listed: Any) -> str:
    """The memories one by one, or how many of each kind where they are too many to list."""
    if isinstance(listed, dict):
        return f"This would go: {_amounts(listed)}."
    return "\n".join(["This would go:", *(f"  {one['id']}  {one['date']}  {one['text']}" for one in listed)])


def _render(out: Console, found: dict[str, Any]) -> None:
    if found["status"] == "nothing":
        out.print(_listing(found))
        return
    left = found["proof"]["found"]
    proof = f"{left} places still hold it." if left else "The same search finds nothing any more."
    head = "Forgotten" if found["status"] == "forgotten" else "Not wholly forgotten"
    out.print(f"{head}: {_amounts(found['forgotten'])}. {proof}")
    for note in found.get("notes", []):
        out.print(f"! {note}")
    if found.get("similar"):
        out.print("These say nearly the same; `memory-os forget ID` takes each:")
        for one in found["similar"]:
            out.print(f"  {one['id']}  {one['date']}  {one['text']}")


def _amounts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
