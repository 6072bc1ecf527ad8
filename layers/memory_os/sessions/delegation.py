"""Delegated work in the archive: the agent's words, in turns of their own that bear the name of the turn they served. Pure."""

from __future__ import annotations

PREFIX = "delegation:"
# Of turns that have no message of a person, but something to read all the same.
IS_DELEGATION = "{alias}.turn_id >= 'delegation:' AND {alias}.turn_id < 'delegation;'"


def delegation_id(turn_id: str, child: str) -> str:
    return f"{PREFIX}{turn_id}:{child}"


def served(turn_id: str) -> tuple[str, str]:
    """(first, beyond the last) id of work that was delegated in a turn, as text sorts."""
    return f"{PREFIX}{turn_id}:", f"{PREFIX}{turn_id};"


def delegated_text(task: str, result: str, status: str) -> str:
    """What a subagent was given and what it gave back; "" when neither is known."""
    how = f" ({status})" if status and status != "completed" else ""
    parts = [f"Given to a subagent: {task}" if task else "", f"The subagent's result{how}: {result or 'none'}"]
    return "\n\n".join(part for part in parts if part) if task or result else ""
