"""Asking for memory before a model call, within a deadline that holds whatever the service does.

Warm: 300 ms. On a process's first turn, while the service starts: 2.5 s, once. Past it the turn goes on without memory.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from . import launch
from .client import CallFailed, request
from .paths import Home
from .state import shared

# A warm recall takes 30-60 ms (docs/scale.md); 300 ms is what a person doesn't notice before a model call of seconds.
WARM_SECONDS = 0.3
# A cold service answers within 2 s.
FIRST_SECONDS = 2.5
_POLL_SECONDS = 0.03
# The thread's own deadline is inside the service call; this is for what has none, such as a file system that hangs.
_SLACK_SECONDS = 0.05


class Missed(Exception):
    """No answer in time. `reason` is one word for a counter."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds


def ask(home: Home, payload: dict[str, Any]) -> dict[str, Any]:
    """The service's answer to POST /v1/recall, as an object. Raises Missed; never later than the deadline."""
    started = time.monotonic()
    patient = _may_wait(home)
    outcome: list[dict[str, Any] | CallFailed | BaseException] = []

    def work() -> None:
        try:
            outcome.append(_recall(home, payload, started, patient))
        except BaseException as error:  # noqa: BLE001 - carried to the waiting thread, which counts it
            outcome.append(error)

    worker = threading.Thread(target=work, name="memory-os-recall", daemon=True)
    worker.start()
    worker.join((FIRST_SECONDS if patient else WARM_SECONDS) + _SLACK_SECONDS)
    taken = time.monotonic() - started
    if not outcome:
        raise Missed("timeout", taken)
    found = outcome[0]
    if isinstance(found, CallFailed):
        raise Missed(found.reason, taken)
    if isinstance(found, BaseException):
        raise Missed(f"fault:{type(found).__name__}", taken)
    return found


def _recall(home: Home, payload: dict[str, Any], started: float, patient: bool) -> dict[str, Any]:
    # A service that another process started a moment ago accepts the connection before it can answer.
    loading = patient and launch.is_young(home)
    until = started + (FIRST_SECONDS if loading else WARM_SECONDS)
    try:
        return _call(home, payload, until)
    except CallFailed as failure:
        if not failure.nobody:
            raise
        since = time.time()
        launched = launch.start(home)
        if not patient or not (launched or _is_coming(home)):
            raise
        return _when_up(home, payload, started + FIRST_SECONDS, since if launched else launch.attempted_at(home))


def _when_up(home: Home, payload: dict[str, Any], until: float, since: float) -> dict[str, Any]:
    """Ask again until somebody listens. Gives up early when the start is known to have failed after `since`."""
    while True:
        time.sleep(_POLL_SECONDS)
        try:
            return _call(home, payload, until)
        except CallFailed as failure:
            if not failure.nobody or time.monotonic() >= until:
                raise
        if launch.failed_since(home, since):
            raise CallFailed("absent", "the service could not start")


def _call(home: Home, payload: dict[str, Any], until: float) -> dict[str, Any]:
    status, answer = request(home.socket(), "POST", "/v1/recall", payload, until)
    if status != 200:
        code = answer.get("code") if isinstance(answer, dict) else None
        raise CallFailed(f"{status}:{code}" if code else str(status))
    if not isinstance(answer, dict):
        raise CallFailed("garbage", "not an object")
    return answer


def _is_coming(home: Home) -> bool:
    """Whether another process started the service so lately that it may still come up while we wait."""
    since = launch.attempted_at(home)
    return time.time() - since < FIRST_SECONDS and not launch.failed_since(home, since)


def _may_wait(home: Home) -> bool:
    """The long wait is for a process's first turn, and again only when the last one is long past."""
    state = shared()
    now = time.monotonic()
    with state.lock:
        last = state.waited.get(str(home.root))
        if last is not None and now - last < 20 * launch.RETRY_SECONDS:
            return False
        state.waited[str(home.root)] = now
        return True
