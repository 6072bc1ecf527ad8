"""A worker steps back for whatever a person does on this machine."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICENESS = 19
# Between sessions: a tenth of a processor beside a busy one. At 19 it would be a hundredth, and memory would stand still for
# as long as something computes.
SESSION_NICENESS = 10
_AUTOGROUP = Path("/proc/self/autogroup")


def step_back() -> None:
    """Lowest priority among the processes of its session, and, where the session is its own, a low one among sessions.

    Linux with autogroups (sched(7), the default) shares processors out among sessions first, and within one by niceness:
    without the second step a worker in a session of its own takes as much as the service that answers turns.
    """
    with suppress(OSError):
        os.nice(NICENESS)
    if os.getsid(0) == os.getpid():  # a terminal's session is not ours to slow down
        with suppress(OSError):
            _AUTOGROUP.write_text(str(SESSION_NICENESS), "ascii")
