"""Who and what a turn is: the user whose memory it touches, the text they wrote, and whether it is a turn of theirs.

The host is asked only here, each question guarded: what a version lacks is answered with the careful default.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from . import host
from .paths import Home
from .state import Identity, shared

# Surfaces of the person at this machine; everything else is a sender somewhere.
_LOCAL_PLATFORMS = frozenset({"", "cli", "tui", "desktop", "acp", "oneshot", "local"})
# Agents that nobody talks to: their turns are neither captured nor given memory.
_UNATTENDED_PLATFORMS = frozenset({"cron", "subagent", "curator"})
_UNATTENDED_SESSIONS = ("cron_", "bg_")

# Messages in the user's place that the host wrote (both hosts' sources): summaries, notices, continuations.
_SYNTHETIC = (
    "[CONTEXT",
    "[PRIOR CONTEXT",
    "[System:",
    "[SYSTEM",
    "[IMPORTANT: You are running as a scheduled cron job",
    "[IMPORTANT: The following skill(s) were listed for this job",
    "[IMPORTANT: Background process",
    "[IMPORTANT: MCP servers have been reloaded",
    "[IMPORTANT: The user launched this CLI session with",
    "[Background process ",
    "[ASYNC DELEGATION",
    "[OUT-OF-BAND",
    "[Your active task list was preserved",
    "[Planning state preserved",
    "[Continuing toward ",
    "[The work looks complete, but the task is still open]",
    "Cronjob Response:",
)
# Notes that the host puts before what the user wrote: "[System note: …]\n\nthe message".
_PREFIXED_NOTES = ("[System note:", "[Note: model was just switched", "[Runtime note:")
_SKILL = "[IMPORTANT: The user has invoked the "
_AUTO_SKILL = '[IMPORTANT: The "'

MESSAGE_MAX_CHARS = 1_000_000


def plain_text(content: Any) -> str:
    """The text of a message that may be a string, a list of parts (text + image), a number, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (plain_text(part) for part in content)))
    if isinstance(content, dict):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    return str(content)


def user_text(message: Any) -> str:
    """What the person wrote, without the host's notes and skill bodies; empty when nobody wrote this."""
    text = plain_text(message).strip()
    while text.startswith(_PREFIXED_NOTES):
        _, closed, text = text.partition("]\n\n")
        if not closed:
            return ""
        text = text.strip()
    if text.startswith(_SYNTHETIC):
        return ""
    if text.startswith(_SKILL):
        text = _skill_instruction(text)
    elif text.startswith(_AUTO_SKILL) and "skill is auto-loaded" in text[:400]:
        # The host appends the message to the skill's body; only its last paragraph can be told from the body.
        text = text.rpartition("\n\n")[2]
    return text.strip()[:MESSAGE_MAX_CHARS]


def unattended(session_id: str, platform: str, parent_session_id: str = "") -> str:
    """Why nobody sits at this turn, or empty: background review, cron, subagent, a tool's own session."""
    if _is_background_review():
        return "background_review"
    if platform in _UNATTENDED_PLATFORMS:
        return platform
    if session_id.startswith(_UNATTENDED_SESSIONS):
        return "unattended_session"
    if parent_session_id and session_variable("HERMES_SESSION_SOURCE") == "subagent":
        return "subagent"
    if session_variable("HERMES_SESSION_SOURCE") == "tool":
        return "tool"
    return ""


def identify(
    home: Home, *, session_id: str, platform: str, sender_id: str = "", turn_id: str = "", parent_session_id: str = ""
) -> Identity:
    """Whose turn this is. Called in pre_llm_call, the one hook that is given the sender."""
    kept = not unattended(session_id, platform, parent_session_id)
    parent = shared().sessions.get((str(home.hermes), parent_session_id)) if platform == "subagent" else None
    return Identity(
        # A subagent reads with the eyes of whoever sent it.
        user=parent.user if parent is not None else resolve_user(platform, sender_id, session_id),
        platform=platform,
        profile=home.profile,
        project=project_name(platform),
        turn_id=turn_id,
        parent_session_id=parent_session_id,
        kept=kept,
    )


def identity_of(home: Home, session_id: str) -> Identity:
    """Who is at a session as the hooks saw it; for one they did not see, what the host's session variables say."""
    found: Identity | None = shared().sessions.get((str(home.hermes), session_id))
    if found is not None:
        return found
    platform = session_variable("HERMES_SESSION_PLATFORM")
    sender = session_variable("HERMES_SESSION_USER_ID")
    return identify(home, session_id=session_id, platform=platform, sender_id=sender)


def resolve_user(platform: str, sender_id: str, session_id: str) -> str:
    """`local` for the person at this machine, `<platform>:<sender>` for a sender, else what tells two chats apart."""
    if platform in _UNATTENDED_PLATFORMS:
        # Such an agent has no sender of its own; it belongs to the chat that started it, or to this machine.
        platform = session_variable("HERMES_SESSION_PLATFORM")
        sender_id = sender_id or session_variable("HERMES_SESSION_USER_ID")
    if sender_id:
        return f"{platform}:{sender_id}"
    if platform in _LOCAL_PLATFORMS:
        return "local"
    key = session_variable("HERMES_SESSION_KEY")
    return f"{platform}:key:{key}" if key else f"{platform}:session:{session_id}"


def project_name(platform: str) -> str:
    """The folder a local session works in: the repository's name, else the folder's; empty for a gateway."""
    if platform not in _LOCAL_PLATFORMS:
        return ""
    try:
        folder = _working_folder()
        own = Path.home()
        if folder == own or folder == folder.parent:
            return ""
        for each in (folder, *folder.parents):
            if each == own:
                break
            if (each / ".git").exists():
                return each.name
    except (OSError, RuntimeError):
        return ""
    return folder.name


def session_key() -> str:
    """The host's key of the chat that is being served, or empty."""
    return session_variable("HERMES_SESSION_KEY")


def _skill_instruction(text: str) -> str:
    extract = host.find("agent.skill_commands", "extract_user_instruction_from_skill_message")
    found = None if extract is None else extract(text)
    return found if isinstance(found, str) else ""


def _is_background_review() -> bool:
    if threading.current_thread().name.startswith("bg-review"):
        return True
    asked = host.find("tools.skill_provenance", "is_background_review")
    return bool(asked is not None and asked())


def session_variable(name: str) -> str:
    """One of the host's HERMES_SESSION_* variables (per task in a gateway), or empty."""
    read = host.find("gateway.session_context", "get_session_env")
    value = os.environ.get(name, "") if read is None else read(name, "")
    return value if isinstance(value, str) else ""


def _working_folder() -> Path:
    """The session's folder: several windows of one process have one each."""
    resolve = host.find("agent.runtime_cwd", "resolve_agent_cwd")
    return Path.cwd() if resolve is None else Path(resolve())
