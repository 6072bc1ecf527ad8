"""`memory-os facts`: the facts layer by hand. Each verb is one call of the agent's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import BadRequest

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    Group,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
    print_tree,
    user_option,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console

_PAGE_TOKENS = 4000


@click.group(cls=Group)
def facts() -> None:
    """List, search, add, remove and judge facts."""


@facts.command("list")
@click.option("--category", default="", help="Only this category.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100), help="At most this many.")
@click.option("--cursor", default="", help="Go on from an earlier page.")
@click.option("--as-of", default="", help="What was held true at this UTC day or time, e.g. 2026-11-01.")
@user_option
@json_option
@pass_invocation
def list_facts(invocation: Invocation, category: str, limit: int, cursor: str, as_of: str, user: str) -> int:
    """List the facts held true now, or at another time, newest first."""
    arguments = {"action": "list", "category": category, "limit": limit, "cursor": cursor, "as_of": as_of}
    which = f" of the category {category}" if category else ""
    when = f" at {as_of}" if as_of else ""
    empty = "No more facts." if cursor else f"No facts{which} are held true{when or ' yet'}."
    return _page(invocation, user, arguments, none=OK, empty=empty)


@facts.command("search")
@click.argument("query", nargs=-1, required=True, callback=words)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="At most this many.")
@user_option
@json_option
@pass_invocation
def search_facts(invocation: Invocation, query: str, limit: int, user: str) -> int:
    """Find facts by the words and the meaning of QUERY. Exit code 1: none."""
    arguments = {"action": "search", "query": query, "limit": limit, "min_trust": 0}
    return _page(invocation, user, arguments, empty="No fact matches.")


@facts.command("add")
@click.argument("text", nargs=-1, required=True, callback=words)
@click.option("--category", default="", help="What kind of fact it is.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--entity", "entities", multiple=True, help="What it is about; may be given several times.")
@user_option
@json_option
@pass_invocation
def add_fact(
    invocation: Invocation,
    text: str,
    category: str,
    tags: tuple[str, ...],
    entities: tuple[str, ...],
    user: str,
) -> int:
    """Add TEXT as a fact; a restatement of one that is there is merged with it."""
    arguments = {"action": "add", "content": text, "category": category}
    return _show(invocation, user, "fact_store", {**arguments, "tags": list(tags), "entities": list(entities)})


@facts.command("remove")
@click.argument("fact_id")
@user_option
@json_option
@pass_invocation
def remove_fact(invocation: Invocation, fact_id: str, user: str) -> int:
    """Take FACT_ID out of recall; `facts undo` brings it back, `memory-os forget` leaves nothing of it."""
    return _show(invocation, user, "fact_store", {"action": "remove", "fact_id": fact_id})


@facts.command("undo")
@click.argument("fact_id")
@user_option
@json_option
@pass_invocation
def undo_change(invocation: Invocation, fact_id: str, user: str) -> int:
    """Take the last change of FACT_ID back: a removal, a correction, a merge, a verdict."""
    return _show(invocation, user, "fact_store", {"action": "undo", "fact_id": fact_id})


@facts.command("history")
@click.argument("fact_id")
@user_option
@json_option
@pass_invocation
def fact_history(invocation: Invocation, fact_id: str, user: str) -> int:
    """Show every version of FACT_ID, oldest first."""
    return _page(invocation, user, {"action": "history", "fact_id": fact_id}, empty="There is no version of it.")


@facts.command("resolve")
@click.argument("fact_id", required=False)
@click.argument("other_id", required=False)
@click.option("--both", is_flag=True, help="Both hold; neither takes the other's place.")
@user_option
@json_option
@pass_invocation
def resolve_facts(invocation: Invocation, fact_id: str | None, other_id: str | None, both: bool, user: str) -> int:
    """Show the facts that contradict, or may, side by side; or let FACT_ID take the place of OTHER_ID.

    The replaced one stays as history, and `facts undo` takes the verdict back. Exit code 1: there is something to resolve.
    """
    if not fact_id:
        found = _call(invocation, user, "fact_store", {"action": "contradict", "limit": 50})
        invocation.show(found, lambda out: _render_pairs(out, found))
        return FINDINGS if found.get("results") else OK
    if not other_id:
        raise BadRequest("Two facts are needed.", cure="`memory-os facts resolve` lists the pairs.")
    verdict = "consistent" if both else "replaces"
    return _show(
        invocation, user, "fact_store",
        {"action": "contradict", "fact_id": fact_id, "other_id": other_id, "verdict": verdict},
    )  # fmt: skip


@facts.command("feedback")
@click.argument("fact_id")
@click.argument("verdict", type=click.Choice(["helpful", "unhelpful"]))
@user_option
@json_option
@pass_invocation
def fact_feedback(invocation: Invocation, fact_id: str, verdict: str, user: str) -> int:
    """Say whether FACT_ID was helpful; its trust moves."""
    return _show(invocation, user, "fact_feedback", {"action": verdict, "fact_id": fact_id})


@facts.command("import-holographic")
@click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@user_option
@json_option
@pass_invocation
def import_holographic(invocation: Invocation, database: Path | None, user: str) -> int:
    """Take the facts of the host's holographic memory over (DATABASE; default: memory_store.db of the Hermes home)."""
    path = database or invocation.settings.hermes_home / "memory_store.db"
    body = {"path": str(path.absolute()), "caller": invocation.caller(user)}
    found = invocation.service().post("/v1/import/holographic", body, timeout=600)
    invocation.show(found, lambda out: print_tree(out, found))
    return OK


def _call(invocation: Invocation, user: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in arguments.items() if value not in ("", [], None)}
    body = {"arguments": {"max_tokens": _PAGE_TOKENS, **given}, "caller": invocation.caller(user)}
    try:
        return invocation.service().post(f"/v1/tools/{tool}", body)
    except BadRequest as error:
        # The tool's own name and argument marks are for the agent that calls it.
        message = error.message.removeprefix(f"{tool}: ").replace("`", "")
        raise BadRequest(message, cure=error.cure) from error


def _show(invocation: Invocation, user: str, tool: str, arguments: dict[str, Any]) -> int:
    found = _call(invocation, user, tool, arguments)
    if "note" in found:  # the tool's names its own arguments
        found["note"] = _note(found)
    invocation.show(found, lambda out: print_tree(out, _told(found)))
    return OK


def _note(found: dict[str, Any]) -> str:
    if "replaces" in found:
        return f"`memory-os facts undo {found['replaces']}` takes it back."
    return (
        f"`memory-os facts undo {found['id']}` brings it back;"
        f" `memory-os forget {found['id']}` deletes it for good."
    )


def _told(found: dict[str, Any]) -> dict[str, Any]:
    """A result with a line for each of its values."""
    told: dict[str, Any] = {}
    for key, value in found.items():
        if key == "trust":
            told[key] = _trust(found)
        elif isinstance(value, dict):
            told[key] = _told(value)
        elif isinstance(value, list) and not any(isinstance(one, dict) for one in value):
            told[key] = ", ".join(map(str, value)) or None
        elif key != "interval":
            told[key] = value
    told.pop("interval", None)
    return told


def _trust(fact: dict[str, Any]) -> str:
    """`0.50 (0.14–0.86)`: the mean, and where trust lies with nine chances in ten."""
    low, high = fact.get("interval") or (None, None)
    return f"{fact['trust']:.2f}" if low is None else f"{fact['trust']:.2f} ({low:.2f}–{high:.2f})"


def _page(invocation: Invocation, user: str, arguments: dict[str, Any], *, none: int = FINDINGS, empty: str) -> int:
    """`none` and `empty`: exit code and sentence when there is nothing."""
    found = _call(invocation, user, "fact_store", arguments)
    invocation.show(found, lambda out: _render_page(out, found, empty))
    return OK if found.get("results") else none


def _render_page(out: Console, found: dict[str, Any], empty: str) -> None:
    results = found.get("results") or []
    if not results:
        out.print(empty)
        return
    rows = [
        (one["id"], one["date"], _trust(one), one.get("category", "general"), _ended(one), one["text"])
        for one in results
    ]
    print_table(out, ("id", "date", "trust", "category", "until", "fact"), rows)
    if found.get("cursor"):
        out.print(f"{len(results)} of {found.get('total')}; go on with --cursor {found['cursor']}")


def _render_pairs(out: Console, found: dict[str, Any]) -> None:
    """Each pair as two rows, with what is known of both."""
    for pair in found.get("results") or []:
        judged = f", judged consistent {pair['judged_consistent']}" if "judged_consistent" in pair else ""
        out.print(f"{pair['state']} since {pair['since']}{judged}")
        for one in (pair["a"], pair["b"]):
            out.print(f"  {one['id']}  {one['date']}  trust {one['trust']:.2f}  {one['text']}", highlight=False)
    if found.get("results"):
        out.print("`memory-os facts resolve KEPT REPLACED` settles a pair, with --both that both hold.")
    else:
        out.print("Nothing contradicts.")


def _ended(fact: dict[str, Any]) -> str:
    return f"removed {fact['removed']}" if "removed" in fact else str(fact.get("valid_to", ""))
