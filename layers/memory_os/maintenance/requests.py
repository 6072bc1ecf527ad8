"""What the command line asks of maintenance, as one JSON object in and one out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_os.errors import BadRequest
from memory_os.maintenance.portable import exported, imported
from memory_os.memory import Scope

if TYPE_CHECKING:
    from memory_os.maintenance.maintenance import Maintenance

_ACTIONS = ("list", "run", "undo", "reviews", "decide", "backup", "export", "import")


def answer(maintenance: Maintenance, payload: Mapping[str, Any], scope: Scope, now: float) -> dict[str, Any]:
    """`action`: list · run (duty, dry_run) · undo (run) · reviews · decide (pair, merge) · backup (to) · export · import
    (records); the last two for the person the request names.

    Raises BadRequest, and for a backup BackupError, StoreError or OSError.
    """
    action = payload.get("action", "list")
    if action == "list":
        return maintenance.overview(now)
    if action == "run":
        return maintenance.run(_text(payload, "duty"), now, bool(payload.get("dry_run"))).as_dict()
    if action == "undo":
        return {"said": maintenance.undo(_number(payload, "run"), now)}
    if action == "reviews":
        return {"reviews": maintenance.duplicates.reviews(now)}
    if action == "decide":
        return {"said": maintenance.duplicates.decide(_number(payload, "pair"), merge=bool(payload.get("merge")), now=now)}
    if action == "backup":
        return _backup(maintenance, _text(payload, "to"), now)
    if action == "export":
        return {"records": exported(maintenance.facts, scope, now)}
    if action == "import":
        return imported(maintenance.facts, scope, _list(payload, "records"), now)
    raise BadRequest(f"`action` is {action!r}.", cure=f"Use one of {', '.join(_ACTIONS)}.")


def _backup(maintenance: Maintenance, to: str, now: float) -> dict[str, Any]:
    if to and not Path(to).is_absolute():
        raise BadRequest("`to` must be an absolute path.", cure="The service's folder is not the caller's.")
    if not to:
        outcome = maintenance.run("full_backup", now)
        if outcome.error:
            raise BadRequest(outcome.error)
    else:
        maintenance.full.make(Path(to), now)
    newest = maintenance.full.listed()[0]
    return {"path": newest["path"], "bytes": newest["bytes"], "proof": newest["verified"]}


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name, "")
    if not isinstance(value, str):
        raise BadRequest(f"`{name}` must be a string, not {type(value).__name__}.")
    return value


def _list(payload: Mapping[str, Any], name: str) -> list[Any]:
    value = payload.get(name)
    if not isinstance(value, list):
        raise BadRequest(f"`{name}` must be a list.")
    return value


def _number(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"`{name}` must be a whole number.")
    return value
