"""What must be known from one call to the next, keyed by (home, session). Bounded, expiring, safe for threads.

The host imports this folder twice, once for each role, as two modules. Both find the same state under one key of
sys.modules, which is how hooks and façade agree that only one of them injects and captures.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, TypeVar

_SHARED_KEY = "_memory_os_shared"
# The part that came last: a plugin that was replaced on disk and loaded anew finds the state of the one before, without it.
_LATEST_PART = "asked"
_V = TypeVar("_V")

# A gateway with more live chats than this forgets the longest idle one; the next turn tells it again.
_SESSIONS_MAX = 2000
_SESSIONS_SECONDS = 24 * 3600.0
# A turn whose end never comes (an API error, an interrupt) is given up after the longest plausible agent run.
_TURNS_MAX = 4000
_TURNS_SECONDS = 6 * 3600.0


class Expiring(Generic[_V]):
    """A mapping of bounded size whose entries expire; the least recently written goes first."""

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit = limit
        self._seconds = seconds
        self._items: OrderedDict[Hashable, tuple[float, _V]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: Hashable, value: _V) -> None:
        with self._lock:
            self._store(key, value, time.monotonic())

    def get(self, key: Hashable) -> _V | None:
        with self._lock:
            found = self._items.get(key)
        if found is None or found[0] < time.monotonic() - self._seconds:
            return None
        return found[1]

    def add(self, key: Hashable, value: _V) -> bool:
        """Put unless it is there; False if it was. The check and the write are one step."""
        now = time.monotonic()
        with self._lock:
            found = self._items.get(key)
            if found is not None and found[0] >= now - self._seconds:
                return False
            self._store(key, value, now)
        return True

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._items.pop(key, None)

    def __len__(self) -> int:
        return len(self._items)

    def _store(self, key: Hashable, value: _V, now: float) -> None:
        self._items[key] = (now, value)
        self._items.move_to_end(key)
        while self._items and (len(self._items) > self._limit or self._oldest() < now - self._seconds):
            self._items.popitem(last=False)

    def _oldest(self) -> float:
        return next(iter(self._items.values()))[0]


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose turn it is, as the hooks last saw it in a session. `kept` is False where nothing may be captured.

    The two roles' modules have each a class of this name; never ask for it with isinstance.
    """

    user: str
    platform: str
    profile: str
    project: str = ""
    turn_id: str = ""
    parent_session_id: str = ""
    kept: bool = True
    session_id: str = ""
    key: str = ""  # the host's of the chat; threads without its context variables cannot ask for it
    asked: str = ""  # beginning and end of what the person wrote in this turn: orders stand there
    before: str = ""  # hash of what they had written before it, as it stands in the window

    def origin(self) -> dict[str, str]:
        """Where a record of the spool comes from and whose it is."""
        return {
            "session_key": self.key,
            "parent_session_id": self.parent_session_id,
            "platform": self.platform,
            "user": self.user,
            "profile": self.profile,
            "project": self.project,
        }


class Counts:
    """Faults that could not be written anywhere else; told to the service when it can be reached."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, name: str, amount: int = 1) -> bool:
        """Count; True the first time, when it is worth a line in the log."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + amount
            return self._counts[name] == amount

    def take(self) -> dict[str, int]:
        """What was counted since the last take."""
        with self._lock:
            taken, self._counts = self._counts, {}
        return taken


def shared() -> Any:
    """The state of this process, under one key of sys.modules; each part says below what it is for."""
    found: Any = sys.modules.get(_SHARED_KEY)
    if found is not None and hasattr(found, _LATEST_PART):
        return found
    made: Any = ModuleType(_SHARED_KEY)
    made.hook_homes = set()  # Hermes homes whose general role is registered
    made.sessions = Expiring(_SESSIONS_MAX, _SESSIONS_SECONDS)  # (home, session id) -> Identity
    made.turns = Expiring(_TURNS_MAX, _TURNS_SECONDS)  # (home, turn id) -> Identity, from pre to post
    made.captured = Expiring(_TURNS_MAX, _TURNS_SECONDS)  # (home, turn id): already on disk
    made.hooked = Expiring(_SESSIONS_MAX, _SESSIONS_SECONDS)  # (home, session id): the hooks see its turns
    made.asked = Expiring(_SESSIONS_MAX, _SESSIONS_SECONDS)  # (home, user, host's key of the chat) -> their last turn's id
    made.waited = {}  # memory-os root -> monotonic time of the last long wait
    made.given = Expiring(_TURNS_MAX, _TURNS_SECONDS)  # (home, turn id): lines of memory stand in its prompt
    made.modes = {}  # Hermes home -> ground_truth.mode as the service last said it
    made.delegated = Expiring(_TURNS_MAX, _TURNS_SECONDS)  # (home, child's session id) -> what it was to do
    made.compacted = Expiring(_SESSIONS_MAX, _SESSIONS_SECONDS)  # (home, session id) -> hash of the host's last summary
    made.middleware = False  # whether the host runs our tool middleware
    made.counts = Counts()
    made.courier = None
    made.lock = threading.Lock()
    kept: Any = sys.modules.setdefault(_SHARED_KEY, made)
    for name, part in vars(made).items():
        if not hasattr(kept, name):
            setattr(kept, name, part)
    return kept


def hooks_serve(home: str, session_id: str) -> bool:
    """Whether the general role injects and captures here, so that the façade must not."""
    state = shared()
    return home in state.hook_homes or state.hooked.get((home, session_id)) is not None
