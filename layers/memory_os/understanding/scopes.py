"""Scope keys read back. Pure."""

from __future__ import annotations

from memory_os.memory import Scope


def scope_of_key(key: str) -> Scope:
    """The scope behind `Scope.key`."""
    profile, _, user = key.partition("/")
    return Scope(user=user, profile=profile)
