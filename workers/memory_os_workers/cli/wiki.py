"""`memory-os wiki`: the tree of pages, their curation, their order and their links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.documents import follow
from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    UNAVAILABLE,
    USAGE,
    Group,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
    when,
)

if TYPE_CHECKING:
    from memory_os.wiki import Wiki
    from rich.console import Console

_NOT_DONE = frozenset({"failed", "refused", "gone", "ceiling", "partial"})

_LISTED = {
    "Read, and nothing found in (`memory-os wiki curate --again NAME` asks anew)": "nothing_found",
    "Proposals for pages you edited": "proposals",
    "Held orders to a model": "flagged",
}


@click.group(cls=Group)
def wiki() -> None:
    """Keep the wiki in the vault: raw files become linked pages."""


@wiki.command("init")
@json_option
@pass_invocation
def wiki_init(invocation: Invocation) -> int:
    """Make the folders, SCHEMA.md, index.md and log.md in the vault. What is there stays as it is."""
    one = _wiki(invocation)
    found = {"root": str(one.tree.root), "made": one.init()}
    made = ", ".join(found["made"]) or "nothing, all of it is there"
    invocation.show(found, lambda out: out.print(f"{found['root']}: made {made}."))
    return OK


@wiki.command("curate")
@click.argument("names", nargs=-1)
@click.option("--again", is_flag=True, help="Also files that failed, and those done in their present state: these cost as much again.")
@json_option
@pass_invocation
def wiki_curate(invocation: Invocation, names: tuple[str, ...], again: bool) -> int:
    """Turn raw files into pages: those NAMES (below wiki/raw), or all that wait.

    Where a worker runs, files become jobs of the queue; else the service does them now.

    Exit code 1: some could not be done, now or before; `wiki status` gives the reasons. 4: the model can't be asked.
    """
    body = {"names": list(names), "again": again}
    result = follow(invocation, invocation.service().stream("/v1/wiki/curate", body), "curate")
    result["failed"] = [] if names else _wiki(invocation).failed()
    invocation.show(result, lambda out: _render_curated(out, result))
    if result["stopped"]:
        return UNAVAILABLE
    not_done = any(one["status"] in _NOT_DONE for one in result["files"])
    return FINDINGS if not_done or result["failed"] else OK


@wiki.command("lint")
@click.option("--fix", is_flag=True, help="Mend what can be mended without touching words of yours.")
@json_option
@pass_invocation
def wiki_lint(invocation: Invocation, fix: bool) -> int:
    """Check the wiki: ten checks. Exit code 1: faults. What only wants your judgement is listed and is no fault."""
    found = _wiki(invocation).lint(fix)
    faults = [one for one in found if one.level == "fault" and not one.fixed]
    data = {"faults": len(faults), "findings": [one.as_dict() for one in found]}
    invocation.show(data, lambda out: _render_findings(out, data))
    return FINDINGS if faults else OK


@wiki.command("status")
@json_option
@pass_invocation
def wiki_status(invocation: Invocation) -> int:
    """Show pages, what waits, and what could not be curated and why.

    Exit code 1: something could not. 2: there is no wiki. A file that is no text is shown and is no fault.
    """
    from memory_os.wiki import curates

    found = _wiki(invocation).status(model=curates(invocation.settings))
    invocation.show(found, lambda out: _render_status(out, found))
    if not found["there"]:
        return USAGE
    return FINDINGS if any(one["status"] != "refused" for one in found["trouble"]) else OK


@wiki.command("links")
@click.option("--dry-run", is_flag=True, help="Show which pages are near to which, and write nothing.")
@json_option
@pass_invocation
def wiki_links(invocation: Invocation, dry_run: bool) -> int:
    """Link pages that are near by meaning, in the block of each page that is kept for it."""
    found = invocation.service().post("/v1/wiki/links", {"dry_run": dry_run})
    invocation.show(found, lambda out: _render_links(out, found))
    return OK


def _wiki(invocation: Invocation) -> Wiki:
    """On the files themselves: no service is needed."""
    from memory_os.wiki import Wiki

    return Wiki(invocation.settings)


def _render_curated(out: Console, result: dict[str, Any]) -> None:
    rows = [(one["status"], one["raw"], _what_became(one)) for one in result["files"]]
    if rows:
        print_table(out, ("status", "file", "pages"), rows)
    queued = result["queued"]
    if queued:
        out.print(f"{len(queued)} files are in the queue; `memory-os wiki status` shows when they are done.")
    failed = len(result["failed"])
    if failed:
        out.print(f"{failed} failed; `memory-os wiki curate --again` tries them. `memory-os wiki status` says why.")
    elif not rows and not queued and not result["stopped"]:
        out.print("No raw file waits.")
    if result["stopped"]:
        out.print(f"Stopped: {result['stopped']['error']} {result['stopped']['cure']}".strip())
    if result["units"]:
        out.print(f"{result['units']:g} model units.")


def _what_became(one: dict[str, Any]) -> str:
    words = (("made", "created"), ("added to", "merged"), ("proposed to", "proposed"), ("archived", "archived"))
    parts = [f"{word} {', '.join(one[key])}" for word, key in words if one.get(key)]
    if one.get("contradictions"):
        parts.append(f"{one['contradictions']} contradictions")
    return "; ".join([*parts, *filter(None, (one.get("reason"),)), *one.get("notes", [])])


def _render_findings(out: Console, data: dict[str, Any]) -> None:
    if not data["findings"]:
        out.print("All ten checks are clean.")
        return
    rows = [(one["check"], _state(one), one["path"], one["message"]) for one in data["findings"]]
    print_table(out, ("check", "", "page", "finding"), rows)
    fixable = sum(one["fixable"] and not one["fixed"] for one in data["findings"])
    if fixable:
        out.print(f"`memory-os wiki lint --fix` mends {fixable}.")


def _state(finding: dict[str, Any]) -> str:
    return "fixed" if finding["fixed"] else finding["level"]


def _render_status(out: Console, found: dict[str, Any]) -> None:
    if not found["there"]:
        out.print(f"There is no wiki in {found['root']}. `memory-os wiki init` makes one.")
        return
    kinds = ", ".join(f"{count} {kind or 'without a type'}" for kind, count in found["by_type"].items())
    out.print(f"{found['root']}: {found['pages']} pages" + f" ({kinds})" * bool(kinds) + f", {found['raw']} raw files.")
    waiting = found["waiting"]
    if waiting:
        shown = f"{', '.join(waiting[:10])}{', …' if len(waiting) > 10 else ''}"
        who = "" if found["model"] else " for a language model (docs/models.md)"
        out.print(f"{len(waiting)} files wait{who}: {shown}")
    for one in found["trouble"]:
        mark = "-" if one["status"] == "refused" else "!"
        out.print(f"{mark} {one['raw']}: {one['status']}, {one['reason']}")
    for label, key in _LISTED.items():
        if found[key]:
            out.print(f"{label}: {', '.join(found[key])}")
    if found["contradictions"]:
        out.print(f"{found['contradictions']} contradictions wait for your decision; `memory-os wiki lint` lists them.")
    if found["last_curated_at"]:
        out.print(f"Last curated {when(found['last_curated_at'])}; {found['units']:g} model units in all.")


def _render_links(out: Console, found: dict[str, Any]) -> None:
    rows = [
        (page, ", ".join(f"{other} {cosine:.2f}" for other, cosine in near.items())) for page, near in found["links"].items()
    ]
    if rows:
        print_table(out, ("page", "near to"), rows)
    out.print(f"{found['pages']} pages have vectors, {len(found['changed'])} files changed.")
