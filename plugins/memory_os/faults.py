"""No fault of ours reaches the host: counted, logged once a kind, and the turn goes on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from .state import shared

_log = logging.getLogger(__name__)
_Hook = Callable[..., Any]


def guarded(hook: _Hook) -> _Hook:
    """The hook, returning None where it would raise."""

    @functools.wraps(hook)
    def call(**arguments: Any) -> Any:
        try:
            return hook(**arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the one boundary to the host
            note_fault(f"hook:{hook.__name__}:{type(error).__name__}", error)
            return None

    return call


def note_fault(name: str, error: BaseException) -> None:
    """Count a fault; log it with its traceback the first time."""
    if shared().counts.add(name):
        _log.warning("memory-os: %s: %s", name, error, exc_info=error)
