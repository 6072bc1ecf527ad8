"""What may be said to the service without waiting: nudges and observations, carried by one daemon thread.

Nothing here is the only copy of anything: the spool is on disk before a nudge, and an observation lost is a statistic
lost. So the queue is bounded, and what does not fit is counted and dropped.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from . import launch
from .client import CallFailed, request
from .paths import Home
from .state import shared

_QUEUE_MAX = 512
_CALL_SECONDS = 2.0


class Courier:
    """A queue of (home, path, body) and the thread that empties it; started by the first parcel."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Home, str, dict[str, Any]]] = queue.Queue(_QUEUE_MAX)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def send(self, home: Home, path: str, body: dict[str, Any]) -> None:
        """Queue a POST and return. A full queue drops it and counts that."""
        try:
            self._queue.put_nowait((home, path, body))
        except queue.Full:
            shared().counts.add("courier_full")
            return
        with self._lock:
            # A forked child inherits the object but not the thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._carry, name="memory-os-courier", daemon=True)
                self._thread.start()

    def wait_empty(self, seconds: float) -> bool:
        """Whether everything was carried within `seconds` (for a process that is about to end)."""
        until = time.monotonic() + seconds
        while self._queue.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)
        return not self._queue.unfinished_tasks

    def _carry(self) -> None:
        while True:
            home, path, body = self._queue.get()
            try:
                _deliver(home, path, body)
            except Exception as error:  # noqa: BLE001 - counted; the thread must live for the next parcel
                shared().counts.add(f"courier:{type(error).__name__}")
            finally:
                self._queue.task_done()


def nudge(home: Home) -> None:
    """Tell the service that the spool has something, and what could not be written."""
    _courier().send(home, "/v1/spool", {})


def observe(home: Home, event: str, **fields: Any) -> None:
    """Tell the service what happened in a turn, for its statistics."""
    _courier().send(home, "/v1/observe", {"event": event, "at": time.time(), **fields})


def wait_empty(seconds: float) -> bool:
    return _courier().wait_empty(seconds)


def _courier() -> Courier:
    state = shared()
    with state.lock:
        if state.courier is None:
            state.courier = Courier()
        found: Courier = state.courier
        return found


def _deliver(home: Home, path: str, body: dict[str, Any]) -> None:
    try:
        request(home.socket(), "POST", path, body, time.monotonic() + _CALL_SECONDS)
    except CallFailed as failure:
        if not failure.nobody:
            shared().counts.add(f"courier:{failure.reason}")
        elif path == "/v1/spool":
            launch.start(home)
        return
    if path == "/v1/spool":
        _report_counts(home)


def _report_counts(home: Home) -> None:
    """Faults of this process that only memory holds; put back when the service does not take them."""
    counts = shared().counts
    taken = counts.take()
    if not taken:
        return
    body = {"event": "plugin_faults", "at": time.time(), "counts": taken}
    try:
        request(home.socket(), "POST", "/v1/observe", body, time.monotonic() + _CALL_SECONDS)
    except CallFailed:
        for name, amount in taken.items():
            counts.add(name, amount)
