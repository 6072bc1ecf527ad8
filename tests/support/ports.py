"""Ports for servers of a test."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

# Below those from which Linux, macOS and the BSDs take one for whoever asks for any.
_FIRST, _COUNT = 20_000, 10_000


def free_port() -> int:
    """One for a server that comes up later. Were it one of those the system gives away, it might be another's by then."""
    for _ in range(1000):
        port = _FIRST + secrets.randbelow(_COUNT)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
