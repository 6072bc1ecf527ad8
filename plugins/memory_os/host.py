"""The host's own modules, asked for by name: what a version lacks is None, and the caller has a careful default."""

from __future__ import annotations

import importlib
import sys
from typing import Any

# Looked for in vain: a failed import searches the whole path again, in every hook.
_absent: set[str] = set()


def find(module: str, name: str) -> Any:
    """An object of the host, or None where this host has none (or there is no host: under test)."""
    loaded = sys.modules.get(module)
    if loaded is None:
        if module in _absent:
            return None
        try:
            loaded = importlib.import_module(module)
        except ModuleNotFoundError as error:
            # Only what this host lacks: a module that fails over another one may load later.
            if error.name and f"{module}.".startswith(f"{error.name}."):
                _absent.add(module)
            return None
        except ImportError:
            return None
    return getattr(loaded, name, None)
