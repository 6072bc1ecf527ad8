"""Model units over HTTP: a worker's calls count against the same budgets as the service's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from memory_os.llm.messages import Call

if TYPE_CHECKING:
    from memory_os_workers.jobs.tools import Tools


class ServiceUsage:
    """A UsageLog kept by the service. Raises what its routes raise."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def spent(self, job: str, since: float) -> float:
        answer = await self._tools.ask(self._tools.service.post, "spent", {"job": job, "since": since})
        return float(answer["units"])

    async def forgettings(self) -> int:
        answer = await self._tools.ask(self._tools.service.post, "spent", {"job": "probe", "since": 0.0})
        return int(answer["forgettings"])

    async def record(self, call: Call) -> None:
        await self._tools.ask(self._tools.service.post, "usage", {"call": asdict(call)})
