"""What the model still sees: hashes of the visible messages and handles of lines injected earlier.

Recall drops what stands here, and may show a line again only after it left the window. Measured: 500 KB of history
take about 2 ms.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .turn import plain_text, user_text

_FENCE_OPEN = "<memory-context>"
_FENCE = re.compile(r"<memory-context>.*?(?:</memory-context>|\Z)", re.DOTALL)
_HANDLE = re.compile(r"\(([wfsbd]:[a-z2-7]{8})\)")
# Rows that stand for what compaction took away: their text is no original, so nothing of it counts as visible.
_COMPACTION = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
_SKILL = "[IMPORTANT: "
# More messages than any context window holds; a bound for the request, not for the user.
_MESSAGES_MAX = 5000


@dataclass(frozen=True, slots=True)
class Window:
    """The visible part of a session, without the message that is being answered."""

    hashes: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    before: str = ""  # hash of the last thing the person wrote
    summary: str = ""  # hash of the host's summary of what it took away, if it did

    def as_json(self) -> dict[str, Any]:
        return {"hashes": self.hashes, "handles": self.handles}


def visible(history: Any, current: Any = None) -> Window:
    """Read a conversation (the host's message list). `current`, the message being answered, is left out."""
    messages = [message for message in history if isinstance(message, dict)] if isinstance(history, list) else []
    earlier = _without_current(messages, current)[-_MESSAGES_MAX:]
    hashes: dict[str, None] = {}
    handles: dict[str, None] = {}
    before = summary = ""
    for message in earlier:
        role = message.get("role")
        if role != "user" and role != "assistant":  # compared, not looked up: it may be unhashable
            continue
        sent = message.get("api_content")
        text = plain_text(message.get("content"))
        handles.update(dict.fromkeys(_handles(sent)))
        if _FENCE_OPEN in text:
            handles.update(dict.fromkeys(_handles(text)))
            text = _FENCE.sub("", text)  # newer hosts append the block to an image message as a part of its own
        text = text.strip()
        if not text or text.startswith(_COMPACTION):
            summary = content_hash(text) if text else summary
            continue
        known = _hashes(role, text)
        hashes.update(dict.fromkeys(known))
        before = known[-1] if role == "user" else before
    return Window(hashes=list(hashes), handles=list(handles), before=before, summary=summary)


def _hashes(role: Any, text: str) -> list[str]:
    """Of a message, and of the person's words in a skill's body."""
    known = [content_hash(text)]
    if role == "user" and text.startswith(_SKILL) and (said := user_text(text)):
        known.append(content_hash(said))
    return known


def content_hash(text: str) -> str:
    """16 hex digits of the SHA-256 of the stripped text, as the service computes it for what it stores."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _handles(text: Any) -> list[str]:
    """The handles inside the blocks of a text, in their order."""
    start = text.find(_FENCE_OPEN) if isinstance(text, str) else -1
    if start < 0:
        return []
    # str.find first: it passes the message itself over ten times faster than the pattern would.
    return [handle for block in _FENCE.findall(text, start) for handle in _HANDLE.findall(block)]


def _without_current(messages: Sequence[dict[str, Any]], current: Any) -> Sequence[dict[str, Any]]:
    """Drop the message being answered, and what the host put behind it (a task list it kept across compaction)."""
    text = plain_text(current).strip()
    index = len(messages) - 1
    while text and index >= 0 and messages[index].get("role") == "user":
        if plain_text(messages[index].get("content")).strip() == text:
            return messages[:index]
        index -= 1
    return messages[:-1] if messages and messages[-1].get("role") == "user" else messages
