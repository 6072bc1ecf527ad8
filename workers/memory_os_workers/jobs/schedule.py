"""ARQ's cron: once a minute a worker asks the service what is due, and queues that. The service's own loop asks the same
question, and the service runs a duty only while it is due: nothing runs twice.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memory_os.errors import MemoryOSError

from memory_os_workers.jobs import names

if TYPE_CHECKING:
    from arq.cron import CronJob

    from memory_os_workers.jobs.tools import Tools

_log = logging.getLogger(__name__)


def cron_jobs(tools: Tools, home_id: str) -> list[CronJob]:
    """The one entry of this home: every minute, whichever worker comes first."""
    from arq.cron import cron

    async def queue_due(ctx: dict[Any, Any]) -> None:
        try:
            due = (await tools.ask(tools.service.post, "due", {}))["due"]
        except MemoryOSError as error:
            _log.info("what is due could not be asked: %s", error)
            return
        for one in due:
            # Without the slot in its id: a duty that waits or runs is not queued again.
            job = names.job_id(home_id, "maintain", [one["name"]])
            await ctx["redis"].enqueue_job("maintain", one["name"], one["slot"], _job_id=job)

    # The name stands in the id of each run: without the home's, homes on one Redis would take each other's turns.
    return [cron(queue_due, name=f"{names.prefix(home_id)}due", second=0, keep_result=0, max_tries=1)]
