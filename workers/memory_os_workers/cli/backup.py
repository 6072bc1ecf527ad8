"""`memory-os backup` and `memory-os restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from memory_os.errors import StoreError

from memory_os_workers.cli.invocation import OK, Invocation, json_option, pass_invocation, when

_TIMEOUT_S = 3600.0


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


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Change nothing, say what would be put back.")
@json_option
@pass_invocation
def restore(invocation: Invocation, path: Path | None, dry_run: bool) -> int:
    """Put a backup back; what it replaces is kept beside the backups.

    PATH is a full backup's folder or a copy of memory.db. Without it the newest sound one takes the place of a damaged or
    lost memory.db. The service is stopped; the next turn starts it again.
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
    invocation.show(restored.as_dict(), lambda out: out.print("\n".join([restored.line, *(f"left: {one}" for one in restored.left)])))
    return OK
