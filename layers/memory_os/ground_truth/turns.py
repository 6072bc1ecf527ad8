"""What each running turn was given, in memory only: the user's words, the lines, what its tools said.

Lost with the service; a turn it no longer knows is counted from the ledger and never held up.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_os.ground_truth.attribution import Action
from memory_os.ground_truth.detection import Given

# More live turns than any gateway has; the longest idle goes first.
_TURNS_MAX = 2000
# An agent's longest plausible run, as in the plugin.
_TURN_S = 6 * 3600.0
_ACTIONS_MAX = 40


@dataclass
class Turn:
    """One turn. `window` are handles of earlier turns' lines that the model still sees, `readable` the scopes they may lie in."""

    turn_id: str
    scope: str
    user_message: str
    lines: Sequence[Given]
    window: Sequence[str] = ()
    readable: Sequence[str] = ()
    began: float = field(default_factory=time.monotonic)
    given: list[Given] | None = None  # lines and window, read at the first look-up
    actions: list[Action] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def saw(self, action: Action) -> None:
        with self.lock:
            if len(self.actions) < _ACTIONS_MAX:
                self.actions.append(action)

    def first_time(self, call_id: str) -> bool:
        """False for a finished call that was told before. A call without an id is always new."""
        with self.lock:
            if call_id and call_id in self.seen:
                return False
            self.seen.add(call_id)
            return True

    def hold(self, *keys: str) -> bool:
        """Hold a call, unless it (or one for the same line) was held before: the check and the mark are one step."""
        with self.lock:
            if any(key in self.held for key in keys):
                return False
            self.held.update(keys)
            return True


class Turns:
    def __init__(self) -> None:
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, turn: Turn) -> None:
        with self._lock:
            self._turns[turn.turn_id] = turn
            self._turns.move_to_end(turn.turn_id)
            oldest = next(iter(self._turns.values()))
            while len(self._turns) > _TURNS_MAX or _expired(oldest):
                self._turns.popitem(last=False)
                oldest = next(iter(self._turns.values()))

    def get(self, turn_id: str, scope: str) -> Turn | None:
        """A turn of this scope that has not expired."""
        with self._lock:
            found = self._turns.get(turn_id)
        if found is None or found.scope != scope or _expired(found):
            return None
        return found

    def not_given(self, turn_id: str) -> None:
        """What recall found for it came too late: it has what earlier turns left in its window, nothing else."""
        with self._lock:
            found = self._turns.get(turn_id)
        if found is not None:
            found.lines, found.given = (), None

    def end(self, turn_id: str) -> None:
        """It has its answer, and what became of its lines is on record: some 10 kB, which nothing asks for any more."""
        with self._lock:
            self._turns.pop(turn_id, None)

    def running(self) -> list[str]:
        """The ids of all that are kept."""
        with self._lock:
            return list(self._turns)

    def forget(self) -> None:
        """Drop everything: what was just forgotten may stand in a line."""
        with self._lock:
            self._turns.clear()


def _expired(turn: Turn) -> bool:
    return time.monotonic() - turn.began > _TURN_S
