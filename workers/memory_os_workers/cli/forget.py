"""`memory-os forget`: shown first, then out of every layer, for good, with proof."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, user_option

if TYPE_CHECKING:
    from rich.console import Console

_FORGET_TIMEOUT_S = 600.0
# What is counted, where it isn't its plural without an s.
_ONE = {
    "workspace": "line of CREATIVE.md", "fabric": "fabric entry", "telemetry": "recorded tool call",
    "backups renewed": "backup renewed", "full backups deleted": "full backup deleted",
    "set-aside copies deleted": "set-aside copy deleted", "other": "line of CREATIVE.md",
}  # fmt: skip
_MANY = {
    "workspace": "lines of CREATIVE.md", "fabric": "fabric entries", "telemetry": "recorded tool calls",
    "other": "lines of CREATIVE.md",
}  # fmt: skip
_CURE = "Take the id from a recalled line, or find it with `memory-os forget --query WORDS`."


@click.command()
@click.argument("handle", required=False, default="")
@click.option("--query", default="", help="Forget what matches these words; without --yes it is only listed.")
@click.option("--session", default="", help="Forget everything of this session.")
@click.option("--document", default="", help="Forget all of one ingested file or wiki page: its path or name.")
@click.option("--all-mine", is_flag=True, help="Forget everything of this user.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@user_option
@json_option
@pass_invocation
def forget(
    invocation: Invocation, handle: str, query: str, session: str, document: str, all_mine: bool, yes: bool, user: str
) -> int:
    """Forget one memory, a search's results, a session, a document, or all of a user.

    HANDLE is what a block shows before a line, e.g. f:k3m9q2ab. What would go is shown before you are asked. The
    result proves it: the same search is made again. Only one of the ways can be given. Of a document, HANDLE is one
    passage. The files of documents are yours and stay on disk.

    Exit code 1: nothing matched, or something is left.
    """
    way = _way(handle, query, session, _path(document), all_mine)
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
    return OK if found["status"] == "forgotten" and not found.get("more") else FINDINGS


def _path(document: str) -> str:
    """A path from here as the service can read it; a name in the vault as it is."""
    path = Path(document)
    return str(path.absolute()) if document and path.exists() else document


def _way(handle: str, query: str, session: str, document: str, all_mine: bool) -> dict[str, Any]:
    ways: dict[str, Any] = {
        "id": handle, "query": query, "session": session, "document": document, "all_mine": all_mine,
    }  # fmt: skip
    given = {key: value for key, value in ways.items() if value}
    if len(given) != 1:
        raise BadRequest("Give exactly one of HANDLE, --query, --session, --document, --all-mine.")
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
    head = "Forgotten" if found["status"] == "forgotten" else "Not wholly forgotten"
    out.print(f"{head}: {_amounts(found['forgotten'], found.get('documents') or [])}. {_proof(found)}")
    for note in found.get("notes", []):
        out.print(f"! {note}")
    if found.get("similar"):
        out.print("These say nearly the same; `memory-os forget ID` takes each:")
        for one in found["similar"]:
            out.print(f"  {one['id']}  {one['date']}  {one['text']}")


def _proof(found: dict[str, Any]) -> str:
    """What the search made again found; no more than it shows."""
    left, more = found["proof"]["found"], found.get("more", 0)
    if left:
        return "1 place still holds it." if left == 1 else f"{left} places still hold it."
    if more:
        return f"{more} more {'matches' if more == 1 else 'match'}; the same command takes them too."
    if any(one["left"] for one in found.get("documents") or []):
        return "A search for it no longer finds it; the rest of the document still answers."
    return "The same search finds nothing any more."


def _amounts(counts: dict[str, int], documents: list[dict[str, Any]] | tuple[()] = ()) -> str:
    told = [_amount(count, name) for name, count in counts.items() if count]
    if documents and counts.get("passages"):
        where = documents[0]["path"] if len(documents) == 1 else f"{len(documents)} documents"
        told = [one + f" of {where}" if one == _amount(counts["passages"], "passages") else one for one in told]
    return ", ".join(told) or "nothing"


def _amount(count: int, name: str) -> str:
    """`1 fact`, `2 facts`."""
    if count == 1:
        return f"1 {_ONE.get(name, name.removesuffix('s'))}"
    return f"{count} {_MANY.get(name, name)}"
