"""File names that hold in any script and on any file system, and the ids in them."""

from __future__ import annotations

import re
import secrets
import unicodedata

# An encrypted home (eCryptfs) takes 143 bytes a name, the least of the usual file systems.
AGENT_BYTES = 40
TYPE_BYTES = 24
SLUG_BYTES = 54

_LETTERS_MARKS_DIGITS = ("L", "M", "N")


def slug(text: str, longest: int = SLUG_BYTES) -> str:
    """Letters and digits of any script, lower-case, joined by single hyphens; at most `longest` bytes of UTF-8."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).lower())
    kept = "".join(char if unicodedata.category(char)[0] in _LETTERS_MARKS_DIGITS else " " for char in folded)
    words = "-".join(kept.split())
    return words.encode("utf-8")[:longest].decode("utf-8", "ignore").strip("-")


def new_id() -> str:
    """48 random bits as hex: two instances at the same moment never meet. Never only digits, which other readers of
    unquoted YAML would take for a number."""
    while True:
        found = secrets.token_hex(6)
        if not re.fullmatch(r"[0-9]+(?:e[0-9]+)?", found):
            return found


def agent_name(text: str) -> str:
    """An agent's name as it stands in `agent:id` references: no colon, no white space, never empty."""
    kept = re.sub(r"[\s:]+", "-", unicodedata.normalize("NFC", text)).strip("-")
    return "".join(char for char in kept if unicodedata.category(char)[0] != "C") or "default"


def file_name(agent: str, kind: str, summary: str, entry_id: str) -> str:
    """`<agent>-<type>-<summary>-<id>.md`, at most 143 bytes, no path separators, no characters Windows refuses."""
    parts = (slug(agent, AGENT_BYTES) or "agent", slug(kind, TYPE_BYTES) or "note", slug(summary), slug(entry_id, 16))
    return "-".join(filter(None, parts)) + ".md"


def reference(text: str) -> tuple[str, str]:
    """`agent:id` as (agent, id); a bare id has no agent. The id is what follows the first colon."""
    agent, colon, entry_id = text.strip().partition(":")
    return (agent, entry_id) if colon else ("", agent)
