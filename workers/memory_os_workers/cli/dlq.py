"""`memory-os dlq`: jobs that failed for good, and what to do with them."""

from __future__ import annotations

from typing import Any

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
    when,
)

_numbers = click.argument("numbers", nargs=-1, type=int, metavar="[ID]...")
_every = click.option("--all", "every", is_flag=True, help="All of them.")


@click.group(cls=Group)
def dlq() -> None:
    """Jobs that failed for good: look at them, try them again, or let them go."""


@dlq.command("list")
@json_option
@pass_invocation
def list_(invocation: Invocation) -> int:
    """List the dead letters, oldest first.

    Exit code 1: there are some.
    """
    letters = _letters(invocation)

    def render(out: Any) -> None:
        if not letters:
            out.print("no dead letters")
            return
        rows = [
            (one["id"], one["function"], one["attempts"], when(one["last_at"]), _subject(one), f"{one['error']}: {one['message']}")
            for one in letters
        ]
        print_table(out, ("id", "job", "attempts", "last", "on", "error"), rows)

    invocation.show({"dead_letters": letters}, render)
    return FINDINGS if letters else OK


@dlq.command()
@click.argument("number", type=int, metavar="ID")
@json_option
@pass_invocation
def show(invocation: Invocation, number: int) -> None:
    """Show one with its whole payload."""
    found = next((one for one in _letters(invocation) if one["id"] == number), None)
    if found is None:
        raise BadRequest(f"There is no dead letter {number}.", cure="`memory-os dlq list` shows them.")
    told = {**found, "first_at": when(found["first_at"]), "last_at": when(found["last_at"])}
    invocation.show(found, lambda out: print_tree(out, told))


@dlq.command()
@_numbers
@_every
@json_option
@pass_invocation
def requeue(invocation: Invocation, numbers: tuple[int, ...], every: bool) -> None:
    """Try them again, after what made them fail was mended."""
    _change(invocation, "requeue", "requeued", numbers, every)


@dlq.command()
@_numbers
@_every
@json_option
@pass_invocation
def drop(invocation: Invocation, numbers: tuple[int, ...], every: bool) -> None:
    """Let them go. A file or text that still needs the work is tried once more with the next look at it."""
    _change(invocation, "drop", "dropped", numbers, every)


def _letters(invocation: Invocation) -> list[dict[str, Any]]:
    return list(invocation.service().get("/v1/dlq")["dead_letters"])


def _change(invocation: Invocation, verb: str, done: str, numbers: tuple[int, ...], every: bool) -> None:
    if bool(numbers) == every:
        raise click.UsageError("Name dead letters by their ID, or say --all.")
    answer = invocation.service().post(f"/v1/dlq/{verb}", {"all": True} if every else {"ids": list(numbers)})
    count = len(answer[done])
    invocation.show(answer, lambda out: out.print(f"{done} {count} dead letter{'' if count == 1 else 's'}"))


def _subject(letter: dict[str, Any]) -> str:
    """What the job was about: a file's name, or how many texts."""
    first = letter["payload"][0] if letter["payload"] else ""
    return f"{len(first)} texts" if isinstance(first, list) else str(first)
