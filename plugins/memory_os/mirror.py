"""What a call of the host's `memory` tool wrote, read from its arguments and its result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Write:
    """One committed change of MEMORY.md (`memory`) or USER.md (`user`)."""

    action: str
    target: str
    content: str
    old_text: str = ""


def writes(arguments: Any, result: Any) -> list[Write]:
    """The committed writes of a call, in order; none for a failed or staged one.

    A `patch` (newer hosts) is the replacement of the whole entry by what it became, which the result reports.
    """
    outcome = _object(result)
    if not isinstance(arguments, dict) or outcome.get("success") is not True or outcome.get("staged"):
        return []
    target = _text(arguments.get("target")) or "memory"
    operations = arguments.get("operations")
    if not isinstance(operations, list) or not operations:
        found = [_single(arguments, target, outcome)]
    else:
        found = [_batched(each, target, outcome, number) for number, each in enumerate(operations, 1)]
    return [write for write in found if write is not None]


def of_provider(action: str, target: str, content: str, metadata: Any) -> list[Write]:
    """The same from a provider's on_memory_write."""
    known = metadata if isinstance(metadata, dict) else {}
    old = _text(known.get("previous_content")) or _text(known.get("old_text"))
    write = _write(_text(action), _text(target) or "memory", _text(content), old)
    return [] if write is None else [write]


def _single(call: dict[str, Any], target: str, outcome: dict[str, Any]) -> Write | None:
    action = _text(call.get("action"))
    old, new = _text(call.get("old_text")), _text(call.get("content")) or _text(call.get("new_text"))
    if action == "patch":
        before = _text(outcome.get("patched_entry")) or _text(outcome.get("patched_entry_before"))
        return _write("replace", target, _text(outcome.get("patched_entry_after")), before or old)
    before = _text(outcome.get({"replace": "replaced_entry", "remove": "removed_entry"}.get(action, "")))
    return _write(action, target, new, before or old)


def _batched(call: Any, target: str, outcome: dict[str, Any], number: int) -> Write | None:
    if not isinstance(call, dict):
        return None
    action = _text(call.get("action"))

    def entry(name: str) -> str:
        entries = outcome.get(name)
        return _text(entries.get(str(number))) if isinstance(entries, dict) else ""

    old, new = _text(call.get("old_text")), _text(call.get("content")) or _text(call.get("new_text"))
    if action == "patch":
        return _write("replace", target, entry("patched_entries_after"), entry("patched_entries") or old)
    before = entry({"replace": "replaced_entries", "remove": "removed_entries"}.get(action, ""))
    return _write(action, target, new, before or old)


def _write(action: str, target: str, content: str, old_text: str) -> Write | None:
    complete = {"add": bool(content), "replace": bool(content and old_text), "remove": bool(old_text)}
    return Write(action, target, content, old_text) if complete.get(action) else None


def _object(result: Any) -> dict[str, Any]:
    if isinstance(result, str):
        try:
            result = json.loads(result)
        except ValueError:
            return {}
    return result if isinstance(result, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
