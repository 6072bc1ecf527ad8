"""The service's threads."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field


@dataclass
class Executors:
    """Threads by kind of work, so that nothing ever queues before a recall."""

    recall: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "recall"))
    tools: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "tools"))
    long: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "long"))
    capture: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "capture"))
    forget: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "forget"))
    embed: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "embed"))
    house: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "house"))
    pipeline: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "pipeline"))

    def all(self) -> tuple[ThreadPoolExecutor, ...]:
        return (self.recall, self.tools, self.long, self.forget, self.capture, self.embed, self.house, self.pipeline)

    def join(self, seconds: float) -> bool:
        """End all threads, waiting together at most so long; whether they ended. Queued work is dropped: it can be derived
        again."""
        deadline = time.monotonic() + seconds
        threads = [thread for one in self.all() for thread in one._threads]
        for one in self.all():
            one.shutdown(wait=False, cancel_futures=True)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)
