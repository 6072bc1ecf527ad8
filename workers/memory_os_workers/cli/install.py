"""`memory-os setup`, `uninstall`, `doctor` and `soul`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Group, Invocation, json_option, pass_invocation

if TYPE_CHECKING:
    from memory_os.ground_truth import Change

    from memory_os_workers.setup.steps import StepResult

_MARKS = {"done": "✓", "skipped": "–", "warning": "!", "ok": "✓", "warn": "!", "fail": "✗"}


@click.command()
@click.option("--hermes-home", type=click.Path(path_type=Path), help="The Hermes home to install into.")
@click.option("--fabric-dir", help="Shared Markdown folder; default: fabric in the Hermes home.")
@click.option("--vault-path", help="The vault with wiki/raw; default: vault in the Hermes home.")
@click.option("--qdrant-url", help="A Qdrant server instead of the engine in process; its key: QDRANT_API_KEY.")
@click.option("--redis-url", help="A Redis or Valkey server for the queue; its password: MEMORY_OS_REDIS_PASSWORD.")
@click.option("--no-start", is_flag=True, help="Install only: no service, no round trip, no doctor.")
@click.option("--dry-run", is_flag=True, help="Change nothing, print the steps.")
@click.option("--yes", is_flag=True, help="Taken for scripts' sake; setup never asks.")
@json_option
@pass_invocation
def setup(
    invocation: Invocation, /, hermes_home: Path | None, no_start: bool, dry_run: bool, yes: bool, **given: Any
) -> int:
    """Install into a Hermes home, start the service, prove it by a round trip. Safe to run again."""
    from memory_os_workers.setup.plan import Options, planned
    from memory_os_workers.setup.steps import how_to_call, run_setup

    invocation.hermes_home = hermes_home or invocation.hermes_home
    invocation.makes_home = True
    settings = invocation.settings
    options = Options(settings.hermes_home, settings.home, start=not no_start, **given)
    if dry_run:
        plan = planned(options)
        invocation.show([asdict(step) for step in plan], lambda out: out.print(_numbered(step.what for step in plan)))
        return OK
    results = _followed(invocation, run_setup(options))
    commands = how_to_call(settings, results)
    more = {"steps": [asdict(result) for result in results], "commands": commands}
    code = OK
    if no_start:
        invocation.show(more, lambda out: None)
    else:
        code = _examine(invocation, more)
    if not invocation.as_json:
        click.echo("\nCall it from any folder:\n" + "\n".join(f"  {line}" for line in commands))
    return code


@click.command()
@click.option("--hermes-home", type=click.Path(path_type=Path), help="The Hermes home to leave.")
@click.option("--purge", is_flag=True, help="Remove the memory as well, and a fabric or vault folder of setup's that is empty.")
@click.option("--dry-run", is_flag=True, help="Change nothing, print the steps.")
@click.option("--yes", is_flag=True, help="Taken for scripts' sake; uninstall never asks.")
@json_option
@pass_invocation
def uninstall(invocation: Invocation, hermes_home: Path | None, purge: bool, dry_run: bool, yes: bool) -> int:
    """Undo setup: Hermes's files as they were to the byte, the memory kept.

    Exit code 1: a step failed; the others were done.
    """
    from memory_os_workers.setup.uninstall import planned_removals, remove_environment, run_uninstall

    invocation.hermes_home = hermes_home or invocation.hermes_home
    if dry_run:
        plan = planned_removals(invocation.settings, purge=purge)
        invocation.show(plan, lambda out: out.print(_numbered(plan)))
        return OK
    results = _followed(invocation, run_uninstall(invocation.settings, purge=purge))
    invocation.show({"steps": [asdict(result) for result in results]}, lambda out: None)
    if any(result.outcome == "warning" for result in results):
        return FINDINGS
    remove_environment(invocation.settings)
    return OK


@click.command()
@click.option("--restore", is_flag=True, help="Put the newest sound backup in the place of a damaged memory.db.")
@json_option
@pass_invocation
def doctor(invocation: Invocation, restore: bool) -> int:
    """Check every layer by a real write and recall in a scratch scope, and Hermes itself.

    Exit code 1: something fails; each finding names its cure.
    """
    if restore:
        from memory_os_workers.setup.restore import restore_database

        restored = restore_database(invocation.settings)
        invocation.show(restored.as_dict(), lambda out: out.print("\n".join(restored.lines)))
        return OK
    return _examine(invocation)


@click.group(cls=Group)
def soul() -> None:
    """The ground-truth block in SOUL.md (layer 7)."""


@soul.command("apply")
@json_option
@pass_invocation
def soul_apply(invocation: Invocation) -> int:
    """Put the block into SOUL.md, and into rulebook.md if there is one; backup first."""
    from memory_os_workers.setup.host import required_host
    from memory_os_workers.setup.steps import apply_rules

    return _show_changes(invocation, apply_rules(invocation.settings, required_host()))


@soul.command("check")
@json_option
@pass_invocation
def soul_check(invocation: Invocation) -> int:
    """Say how SOUL.md stands to the block of this version. Exit code 1: not applied, or not as it should be."""
    from memory_os_workers.doctor import soul_findings

    findings = [asdict(finding) for finding in soul_findings(invocation.settings)]
    invocation.show(findings, lambda out: out.print("\n".join(_line(finding) for finding in findings)))
    return OK if all(finding["state"] == "ok" for finding in findings) else FINDINGS


@soul.command("remove")
@json_option
@pass_invocation
def soul_remove(invocation: Invocation) -> int:
    """Take the block out again; what is left is what was there before, to the byte."""
    from memory_os.ground_truth import remove_block

    from memory_os_workers.setup.steps import rulebook_file

    settings = invocation.settings
    files = (settings.soul_file, rulebook_file(settings))
    return _show_changes(invocation, [remove_block(path, backups=settings.backups_dir) for path in files])


def _show_changes(invocation: Invocation, changes: list[Change]) -> int:
    data = [
        {
            "file": str(change.path),
            "changed": change.changed,
            "detail": change.detail,
            "backup": str(change.backup or ""),
            "warnings": list(change.warnings),
        }
        for change in changes
    ]
    lines = [" ".join([f"{change.path}: {change.detail}", *change.warnings]) for change in changes]
    invocation.show(data, lambda out: out.print("\n".join(lines)))
    return OK


def _examine(invocation: Invocation, more: dict[str, Any] | None = None) -> int:
    from memory_os_workers.doctor import examine

    findings = [asdict(finding) for finding in examine(lambda: invocation.settings)]
    data: dict[str, Any] = {"ok": all(finding["state"] != "fail" for finding in findings), "findings": findings}
    data |= more or {}
    invocation.show(data, lambda out: out.print("\n".join(["", *(_line(finding) for finding in findings)])))
    return OK if data["ok"] else FINDINGS


def _followed(invocation: Invocation, results: Iterable[StepResult]) -> list[StepResult]:
    """Show each step as it ends (with --json nothing until the end)."""
    seen: list[StepResult] = []
    for result in results:
        seen.append(result)
        if not invocation.as_json:
            click.echo(f"{_MARKS[result.outcome]} {result.name}: {result.detail}")
    return seen


def _line(finding: dict[str, str]) -> str:
    cure = f"\n    → {finding['cure']}" if finding["cure"] else ""
    return f"{_MARKS[finding['state']]} {finding['layer']}: {finding['detail']}{cure}"


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"  {number}. {line}" for number, line in enumerate(lines, 1))
