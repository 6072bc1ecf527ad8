"""Before the host puts a summary in the place of turns: what they hold is on disk, read, and what was kept goes with it.

Each finished turn is captured when it ends; here follow those nobody captured (interrupted ones, those from before
memory-os was there), the service reads the session at once, and the host's summary is given what is known of it already.
"""

from __future__ import annotations

import time
from typing import Any

from .client import CallFailed, request
from .paths import Home
from .state import Identity, shared
from .turn import plain_text, user_text

# A compaction is a model call of many seconds; this much of it may be ours.
ASK_SECONDS = 1.0
# The spool's records stay small enough for one request; what was said last matters most.
_CHARS_MAX = 1_000_000
_COMPACTION = "[CONTEXT COMPACTION"


def turns_of(messages: Any) -> list[dict[str, str]]:
    """What the person wrote and was answered, in pairs, oldest first; without the last, which goes on."""
    turns: list[dict[str, str]] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        role, text = message.get("role"), plain_text(message.get("content")).strip()
        if role == "user":
            turns.append({"user_message": user_text(text), "assistant_response": ""})
        elif role == "assistant" and text and turns and not text.startswith(_COMPACTION):
            turns[-1]["assistant_response"] = text
    return _newest([one for one in turns[:-1] if one["user_message"] and one["assistant_response"]])


def record(identity: Identity, session_id: str, messages: Any) -> dict[str, Any] | None:
    """The spool record, or None where there is nothing to capture."""
    turns = turns_of(messages)
    if not turns or not session_id:
        return None
    return {
        "type": "compaction",
        "session_id": session_id,
        **identity.origin(),
        "turns": turns,
    }


def known(home: Home, whose: dict[str, str]) -> str:
    """What memory keeps of a session, for the host's summary of it; empty when the service has nothing, or is not there."""
    until = time.monotonic() + ASK_SECONDS
    body = {"event": "compaction", "at": time.time(), **whose}
    try:
        status, answer = request(home.socket(), "POST", "/v1/observe", body, until)
    except CallFailed as failure:
        shared().counts.add(f"compaction:{failure.reason}")
        return ""
    told = answer.get("context") if status == 200 and isinstance(answer, dict) else ""
    return told if isinstance(told, str) else ""


def _newest(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """As many of the last as a record holds."""
    room, kept = _CHARS_MAX, 0
    for one in reversed(turns):
        room -= len(one["user_message"]) + len(one["assistant_response"])
        if room < 0:
            break
        kept += 1
    return turns[len(turns) - kept :]
