"""Who and what a turn is: the user whose memory it touches, the text they wrote, and whether it is a turn of theirs.

The host is asked only here, each question guarded: what a version lacks is answered with the careful default.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

from . import host, offswitch
from .paths import Home
from .state import Identity, shared

# Surfaces of the person at this machine; everything else is a sender somewhere.
_LOCAL_PLATFORMS = frozenset({"cli", "tui", "desktop", "acp", "oneshot", "local"})
# Agents that nobody talks to: their turns are neither captured nor given memory.
_UNATTENDED_PLATFORMS = frozenset({"cron", "subagent", "curator", "tool", "kanban", "background_review"})
_UNATTENDED_SESSIONS = ("cron_", "bg_")
_UNATTENDED_SOURCES = frozenset({"tool", "kanban"})

# The next patterns are also the service's (its sessions/cleaning.py), for what it reads from the host's history.
# Messages in the user's place that the host wrote: summaries, notices, continuations.
_HARNESS = re.compile(
    r"\[(?:CONTEXT COMPACTION|CONTEXT SUMMARY\]|PRIOR CONTEXT|ASYNC |OUT-OF-BAND|SYSTEM NOTICE|System:|SYSTEM[:\]]"
    r"|Your active task list|Planning state preserved|Background process|Continuing toward |The work looks complete"
    r"|IMPORTANT: (?:The user |The \"|The following skill|Background process|\d+ background|MCP servers|You are running as))"
    r"|Cronjob Response:"
)
# Notes that the host puts before what the user wrote: the note goes, the words stay.
_NOTE = re.compile(r"\[(?:System note|Runtime note|Note: (?:model was|Some earlier|this message came)\b)[^\]]{0,4000}\]\s*")
# A skill's body around the person's instruction.
_SKILL = "[IMPORTANT: The user has invoked the "
_SKILL_BUNDLE = " skill bundle,"
_BUNDLE_INSTRUCTION = "\nUser instruction: "
_BUNDLE_FIRST_BLOCK = "\n\n[Loaded as part of the "
_SKILL_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: "
_RUNTIME_NOTE = "\n\n[Runtime note:"
_AUTO_SKILL = '[IMPORTANT: The "'
_AUTO_SKILL_END = "then run them with the terminal tool using the absolute path."

MESSAGE_MAX_CHARS = 1_000_000
# Orders to remember nothing, or to forget, stand in the first or the last of these many characters.
_EDGE_CHARS = 600


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
    text = _without_notes(plain_text(message).strip())
    if text.startswith(_SKILL):
        return _skill_instruction(text)[:MESSAGE_MAX_CHARS]
    if text.startswith(_AUTO_SKILL) and _AUTO_SKILL_END in text:
        text = _without_notes(text.rpartition(_AUTO_SKILL_END)[2].strip())
    return "" if _HARNESS.match(text) else text[:MESSAGE_MAX_CHARS]


def edges(text: str) -> str:
    """Beginning and end of a message."""
    return text if len(text) <= 2 * _EDGE_CHARS else f"{text[:_EDGE_CHARS]}\n{text[-_EDGE_CHARS:]}"


def unattended(session_id: str, platform: str, parent_session_id: str = "") -> str:
    """Why nobody sits at this turn, or empty: background review, cron, subagent, a tool's own session."""
    if _is_background_review():
        return "background_review"
    if platform in _UNATTENDED_PLATFORMS:
        return platform
    if session_id.startswith(_UNATTENDED_SESSIONS):
        return "unattended_session"
    source = session_variable("HERMES_SESSION_SOURCE")
    if parent_session_id and source == "subagent":
        return "subagent"
    return source if source in _UNATTENDED_SOURCES else ""


def identify(
    home: Home,
    *,
    session_id: str,
    platform: str,
    sender_id: str = "",
    turn_id: str = "",
    parent_session_id: str = "",
    key: str = "",
) -> Identity:
    """Whose turn this is. Called in pre_llm_call, the one hook that is given the sender."""
    kept = not unattended(session_id, platform, parent_session_id)
    parent = shared().sessions.get((str(home.hermes), parent_session_id)) if platform == "subagent" else None
    key = key or session_key()
    return Identity(
        # A subagent reads with the eyes of whoever sent it.
        user=parent.user if parent is not None else resolve_user(platform, sender_id, session_id, key),
        platform=platform,
        profile=home.profile,
        project=project_name(platform),
        turn_id=turn_id,
        parent_session_id=parent_session_id,
        kept=kept,
        session_id=session_id,
        key=key,
    )


def identity_of(
    home: Home, session_id: str, *, turn_id: str = "", platform: str = "", sender_id: str = "", key: str = ""
) -> Identity:
    """Who is at a turn or session as the hooks saw it.

    For one they did not see: who the caller knows it to be, else what the host's session variables say. Threads of
    the host without those (0.19's memory worker, timers) get nobody's identity in a gateway, never the local one.
    """
    state, hermes = shared(), str(home.hermes)
    found: Identity | None = state.turns.get((hermes, turn_id)) if turn_id else None
    if found is not None:
        # Compaction gives a session another id in the midst of a turn.
        follow(home, found.session_id, session_id, same_chat=True)
        return found
    found = state.sessions.get((hermes, session_id))
    if found is not None:
        return found
    if not platform:
        platform = session_variable("HERMES_SESSION_PLATFORM")
        sender_id = sender_id or session_variable("HERMES_SESSION_USER_ID")
    return identify(home, session_id=session_id, platform=platform, sender_id=sender_id, key=key)


def follow(home: Home, old: str, new: str, *, same_chat: bool) -> None:
    """A session's person goes on in another; where it is the same chat, so do what serves it and the off switch."""
    if not old or not new or old == new:
        return
    state, hermes = shared(), str(home.hermes)
    known = state.sessions.get((hermes, old))
    if known is not None:
        # Not over what the new session's own turns said: 0.19 tells of a switch later, on a thread of its own.
        state.sessions.add((hermes, new), known)
    if not same_chat:
        return
    if state.hooked.get((hermes, old)):
        state.hooked.put((hermes, new), True)
    offswitch.follow(home, old, new)


def is_off(home: Home, identity: Identity, session_id: str) -> bool:
    """Whether memory is off here: by the session now, the one the turn began in, or the host's key of the chat."""
    return offswitch.is_off(home, session_id, identity.session_id, identity.key, session_key())


def resolve_user(platform: str, sender_id: str, session_id: str, key: str = "") -> str:
    """`local` for the person at this machine, `<platform>:<sender>` for a sender, else what tells two chats apart."""
    if not platform or platform in _UNATTENDED_PLATFORMS:
        # Such an agent has no sender of its own; it belongs to the chat that started it.
        platform = session_variable("HERMES_SESSION_PLATFORM") or _local_source()
        sender_id = sender_id or session_variable("HERMES_SESSION_USER_ID")
    if platform in _LOCAL_PLATFORMS:
        return "local"
    if not platform:
        return f"unknown:session:{session_id}" if in_gateway() else "local"
    if sender_id:
        return f"{platform}:{sender_id}"
    key = key or session_key()
    return f"{platform}:key:{key}" if key else f"{platform}:session:{session_id}"


def in_gateway() -> bool:
    """Whether this process runs a messaging gateway, where somebody unknown may be anybody.

    A terminal's process may have loaded the gateway's module, but runs none; nor does it before any chat was served.
    """
    module = sys.modules.get("gateway.run")
    if module is None:
        return False
    engaged = host.find("gateway.session_context", "session_context_engaged")
    running = getattr(module, "_gateway_runner_ref", None)
    if running is not None and running() is None:
        return False
    return engaged is None or bool(engaged())


def project_name(platform: str) -> str:
    """The folder a local session works in: the repository's name, else the folder's; empty for a gateway."""
    if platform not in _LOCAL_PLATFORMS and (platform or in_gateway()):
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


def _without_notes(text: str) -> str:
    while (note := _NOTE.match(text)) is not None:
        text = text[note.end() :]
    return text


def _skill_instruction(text: str) -> str:
    if _SKILL_BUNDLE in text:  # a bundle puts the instruction before the skills it loads
        return text.partition(_BUNDLE_INSTRUCTION)[2].partition(_BUNDLE_FIRST_BLOCK)[0].strip()
    if _SKILL_INSTRUCTION not in text:
        return ""
    return text.rpartition(_SKILL_INSTRUCTION)[2].partition(_RUNTIME_NOTE)[0].strip()


def _is_background_review() -> bool:
    if threading.current_thread().name.startswith("bg-review"):
        return True
    asked = host.find("tools.skill_provenance", "is_background_review")
    return bool(asked is not None and asked())


def _local_source() -> str:
    """The surface where the host names it apart from a platform: TUI and desktop. Else empty."""
    source = session_variable("HERMES_SESSION_SOURCE")
    return source if source in _LOCAL_PLATFORMS else ""


def session_variable(name: str) -> str:
    """One of the host's HERMES_SESSION_* variables (per task in a gateway), or empty."""
    read = host.find("gateway.session_context", "get_session_env")
    outside = os.environ.get(name, "")
    value = outside if read is None else read(name, "")
    if not isinstance(value, str):
        return ""
    # Without a value of this task the host gives the process's: in a gateway that of another chat.
    return "" if value and value == outside and in_gateway() else value


def _working_folder() -> Path:
    """The session's folder: several windows of one process have one each."""
    resolve = host.find("agent.runtime_cwd", "resolve_agent_cwd")
    return Path.cwd() if resolve is None else Path(resolve())
