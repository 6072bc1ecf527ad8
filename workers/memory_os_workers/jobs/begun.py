"""Work for a thread that may be busy for long: whoever asks for it learns soon whether it began."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

# A free thread begins at once, also on a busy machine.
BEGUN_WITHIN_S = 1.0


class Begun:
    """Work given to an executor whose threads may be busy for long."""

    def __init__(self, executor: Executor, work: Callable[..., Any], *arguments: Any) -> None:
        loop, self._event = asyncio.get_running_loop(), asyncio.Event()

        def run() -> Any:
            loop.call_soon_threadsafe(self._event.set)
            return work(*arguments)

        self.job: Future[Any] = executor.submit(run)

    async def begun(self, within_s: float = BEGUN_WITHIN_S) -> bool:
        """Whether a thread is at it, or was, within so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), within_s)
        return self._event.is_set()
