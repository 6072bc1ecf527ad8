"""The host's own modules, asked for by name: what a version lacks is None, and the caller has a careful default."""

from __future__ import annotations

import importlib
from typing import Any


def find(module: str, name: str) -> Any:
    """An object of the host, or None where this host has none (or there is no host: under test)."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
