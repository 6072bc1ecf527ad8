"""`/memory-os off`: chats without memory. One small file in the memory-os folder, read by every process of the home.

A chat is named by the host's session key where there is one (a gateway's chat outlives its sessions), else by the
session id. The marker's time is when it went off; switched on again it is renamed, so that the service, which may not
be running now, later knows what was said meanwhile and keeps it out of what it takes over from the host's own history.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path

from .paths import Home


def is_off(home: Home, *names: str) -> bool:
    """Whether memory is off in the chat of these names (session ids, the host's key): neither recall nor capture."""
    return any(_marker(home, name).exists() for name in dict.fromkeys(names) if name)


def follow(home: Home, old: str, new: str) -> None:
    """The chat goes on under another session id: off stays off. Raises OSError."""
    if is_off(home, old):
        turn_off(home, new)


def turn_off(home: Home, name: str) -> None:
    """Raises OSError."""
    marker = _marker(home, name)
    marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # already off, and since then
        marker.touch(mode=0o600, exist_ok=False)


def turn_on(home: Home, *names: str) -> None:
    """Raises OSError."""
    for name in names:
        marker = _marker(home, name)
        with suppress(FileNotFoundError):
            marker.replace(marker.with_name(f"{marker.name}.ended-{time.time_ns()}"))


def _marker(home: Home, name: str) -> Path:
    # Ids may be any string a client sent, slashes included; a digest is always one file name.
    return home.root / "off" / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
