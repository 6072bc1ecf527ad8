"""Work that an agent gave to a subagent, and what came back: it is the parent's to remember.

The host says what was asked when the subagent starts, and what came of it when it ends, to the hooks; to a provider it
says both at the end.
"""

from __future__ import annotations

from typing import Any

from .paths import Home
from .state import Identity, shared
from .turn import plain_text

# A result is capped by the host against its window; a task is a prompt.
_TASK_MAX_CHARS = 20_000
_RESULT_MAX_CHARS = 200_000


def begun(home: Home, child_session_id: str, task: Any) -> None:
    """Keep what a subagent was asked until it ends."""
    text = plain_text(task).strip()[:_TASK_MAX_CHARS]
    if child_session_id and text:
        shared().delegated.put((str(home.hermes), child_session_id), text)


def ended(home: Home, child_session_id: str) -> str:
    """What that subagent was asked, said once; empty when nobody heard."""
    key = (str(home.hermes), child_session_id)
    task: str = shared().delegated.get(key) or ""
    shared().delegated.drop(key)
    return task


def record(
    identity: Identity, session_id: str, child_session_id: str, task: Any, result: Any, status: str
) -> dict[str, Any] | None:
    """The spool record of finished work, or None where there is nothing to tell."""
    asked = plain_text(task).strip()[:_TASK_MAX_CHARS]
    told = plain_text(result).strip()[:_RESULT_MAX_CHARS]
    if not session_id or not (told or asked):
        return None
    return {
        "type": "delegation",
        "turn_id": identity.turn_id,
        "session_id": session_id,
        **identity.origin(),
        "child_session_id": child_session_id,
        "asked": identity.asked,
        "task": asked,
        "result": told,
        "status": status,
    }
