"""Whose a message is: the rule the plugin applies to a live turn, applied to the host's stored sessions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from memory_os.memory import Scope

# One person at one machine: the terminal and its windows share one memory.
LOCAL_PLATFORMS = frozenset({"", "cli", "tui", "desktop", "acp", "oneshot", "local"})
LOCAL_USER = "local"


def host_user(source: str, user_id: str, session_key: str, session_id: str) -> str:
    """`local`, `<platform>:<sender>`, or, where the sender isn't known, a user that is only this chat."""
    if source in LOCAL_PLATFORMS:
        return LOCAL_USER
    if user_id:
        return f"{source}:{user_id}"
    return f"{source}:key:{session_key}" if session_key else f"{source}:session:{session_id}"


def project_of(source: str, folder: str) -> str:
    """The name of the folder a local session worked in; empty for a gateway's chats."""
    return PurePath(folder).name if source in LOCAL_PLATFORMS else ""


def scope_for(user: str, profile: str, aliases: Mapping[str, str]) -> Scope:
    """The scope of a user in a profile, with the configured aliases (`scopes.aliases`) followed once.

    What the aliased senders said before they were, lies under their own names: these are the scope's `others`.
    """
    name = user or LOCAL_USER
    name = aliases.get(name, name)
    others = sorted(sender for sender, person in aliases.items() if person == name and sender != name)
    return Scope(user=name, profile=profile or "default", others=tuple(others))
