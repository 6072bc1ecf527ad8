"""`memory-os backup` and `restore`; `export` and `import` of facts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from memory_os import constants
from memory_os.errors import BadRequest, StoreError

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation, user_option, when

_TIMEOUT_S = 3600.0
# A fact has 4,000 characters at most, and a request 4 MB.
_BATCH = 200


@click.command()
@click.option("--to", "folder", type=click.Path(path_type=Path), help="Another folder, e.g. on another disk; default: backups.")
@click.option("--list", "listed", is_flag=True, help="Show the backups there are, make none.")
@json_option
@pass_invocation
def backup(invocation: Invocation, folder: Path | None, listed: bool) -> int:
    """Copy memory, workspace, fabric, wiki and settings, and prove the copy by a restore into a scratch home."""
    if listed:
        found: dict[str, Any] = invocation.service().post("/v1/maintain", {"action": "list"})
        invocation.show(
            found["backups"],
            lambda out: out.print("\n".join(f"{when(one['at'])}  {one['path']}  {one['verified']}" for one in found["backups"])),
        )
        return OK
    place = str(folder.expanduser().absolute()) if folder else ""
    made = invocation.service().post("/v1/maintain", {"action": "backup", "to": place}, timeout=_TIMEOUT_S)
    invocation.show(made, lambda out: out.print(f"{made['path']}: {made['proof']}."))
    return OK


@click.command("export")
@click.argument("path", type=click.Path(path_type=Path))
@user_option
@json_option
@pass_invocation
def export_facts(invocation: Invocation, path: Path, user: str) -> int:
    """Write a person's facts to PATH, one JSON object a line. For everything, take `memory-os backup`."""
    if path.exists():
        raise BadRequest(f"{path} is there already.", cure="Name another file.")
    records = invocation.service().post("/v1/maintain", {"action": "export", **invocation.caller(user)})["records"]
    path.touch(constants.FILE_MODE)
    path.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records), "utf-8")
    invocation.show({"path": str(path), "facts": len(records)}, lambda out: out.print(f"{len(records)} facts in {path}."))
    return OK


@click.command("import")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@user_option
@json_option
@pass_invocation
def import_facts(invocation: Invocation, path: Path, user: str) -> int:
    """Take in the facts of a file that `memory-os export` wrote. Again it changes nothing; what was forgotten is skipped.

    Exit code 1: some lines are no facts.
    """
    records = _records(path)
    counts: Counter[str] = Counter()
    client = invocation.service()
    for start in range(0, len(records), _BATCH):
        body = {"action": "import", "records": records[start : start + _BATCH], **invocation.caller(user)}
        counts.update(client.post("/v1/maintain", body, timeout=_TIMEOUT_S))
    invocation.show(dict(counts), lambda out: out.print(", ".join(f"{count} {name}" for name, count in counts.items())))
    return FINDINGS if counts["refused"] else OK


def _records(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except ValueError as error:
        raise BadRequest(f"{path} is no file of JSON lines: {error}.", cure="Name a file that `memory-os export` wrote.") from None


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Change nothing, say what would be put back.")
@json_option
@pass_invocation
def restore(invocation: Invocation, path: Path | None, dry_run: bool) -> int:
    """Put a backup back; what it replaces is kept beside the backups.

    PATH is a full backup's folder or a copy of memory.db. Without it the newest sound one takes the place of a damaged or
    lost memory.db. A config.yaml that is there stays as it is. The service is stopped; the next turn starts it again.
    """
    from memory_os.maintenance.restore import plan

    from memory_os_workers.setup.restore import restore_backup, restore_database, sound_backups

    settings = invocation.settings
    if dry_run:
        source = path or next(sound_backups(settings), None)
        if source is None:
            raise StoreError(f"There is no sound backup in {settings.backups_dir}.")
        lines = plan(settings, source).lines()
        invocation.show(lines, lambda out: out.print("\n".join(lines)))
        return OK
    restored = restore_backup(settings, path) if path else restore_database(settings)
    invocation.show(restored.as_dict(), lambda out: out.print("\n".join(restored.lines)))
    return OK
