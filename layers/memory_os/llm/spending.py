"""What may be spent, and what was: budgets over the usage log, without asking it before every call."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from memory_os.config import ModelSettings, Price
from memory_os.errors import BudgetSpent
from memory_os.llm.budget import DAY_S, Account, Means, day_start, means, price_of, units
from memory_os.llm.clock import Clock
from memory_os.llm.messages import Call, JobClass
from memory_os.llm.usage import UsageLog

# Others may spend from the same budget (the service and its workers): their spending is seen after this long.
_FRESH_S = 30.0
_UNSENT = 1000


@dataclass(slots=True)
class _Spent:
    """Units since `since` as the log had them at `read_at`, with what this process has spent after that."""

    units: float = 0.0
    since: float = -1.0
    read_at: float = -1.0


class Spending:
    """Budgets of one process. Costs are reserved when a call goes out and settled when it ends."""

    def __init__(self, models: ModelSettings, usage: UsageLog, clock: Clock) -> None:
        self._models = models
        self._usage = usage
        self._clock = clock
        self._spent: dict[str, _Spent] = {}
        self._reserved: dict[str, float] = {}
        self._unsent: deque[Call] = deque(maxlen=_UNSENT)
        self._sending: asyncio.Task[None] | None = None
        self.lost = 0

    def cost(self, model: str, input_tokens: float, output_tokens: float) -> float:
        return units(price_of(model, self._models.prices, Price()), input_tokens, output_tokens)

    async def means(self, job: JobClass, cost: float) -> Means:
        """What the budgets allow for a call that may cost `cost` units. A probe is never refused."""
        if job == "probe":
            return Means.FULL
        accounts = [Account(self._models.budget_per_day, await self._total("") + self._held(""))]
        limit = self._models.job_budgets.get(job)
        if limit is not None:
            accounts.append(Account(limit, await self._total(job) + self._held(job)))
        return means(accounts, cost, self._models.light_from)

    def reserve(self, job: JobClass, cost: float) -> None:
        self._reserved[job] = self._reserved.get(job, 0.0) + cost

    def release(self, job: JobClass, reserved: float) -> None:
        """A call did not go out after all."""
        self._reserved[job] = max(0.0, self._reserved.get(job, 0.0) - reserved)

    def book(self, call: Call, reserved: float) -> None:
        """A call has ended: what it had reserved is free again, what it cost is spent. The log follows in the background."""
        self.release(call.job, reserved)
        for name in ("", call.job):
            if name in self._spent:
                self._spent[name].units += call.units
        self._unsent.append(call)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    def resets_at(self) -> float:
        return day_start(self._clock.now()) + DAY_S

    def spent(self, what: str) -> BudgetSpent:
        """The fault of a call that nothing is left for."""
        return BudgetSpent(
            f"Today's budget of model units for {what} is spent.",
            cure="Raise models.budget_per_day or models.job_budgets, or wait until midnight UTC.",
            resets_at=self.resets_at(),
        )

    async def flush(self) -> None:
        """Wait until the log has what it can take."""
        if self._sending is not None:
            await asyncio.gather(self._sending, return_exceptions=True)
        if self._unsent:
            await self._send()

    def status(self) -> dict[str, object]:
        """Units of today as this process knows them. `unsent`: calls the log has not taken yet."""
        known = self._spent.get("")
        return {
            "budget_per_day": self._models.budget_per_day,
            "spent_today": None if known is None else round(known.units, 3),
            "unsent": len(self._unsent),
            "log_faults": self.lost,
        }

    def _held(self, job: str) -> float:
        return self._reserved.get(job, 0.0) if job else sum(self._reserved.values())

    async def _total(self, job: str) -> float:
        now = self._clock.now()
        since = day_start(now)
        known = self._spent.setdefault(job, _Spent())
        if known.since == since and now - known.read_at < _FRESH_S:
            return known.units
        try:
            await self.flush()
            read = await self._usage.spent(job, since)
        except Exception:  # noqa: BLE001  # the log may be remote; budgets then go by what this process knows
            self.lost += 1
            read = known.units if known.since == since else 0.0
        known.units, known.since, known.read_at = read, since, now
        return known.units

    async def _send(self) -> None:
        """Give the log its rows, oldest first; what it does not take now goes with the next call's."""
        while self._unsent:
            call = self._unsent[0]
            try:
                await self._usage.record(call)
            except Exception:  # noqa: BLE001  # whatever ails the log, the answer is there and the row is kept
                self.lost += 1
                return
            if self._unsent and self._unsent[0] is call:
                self._unsent.popleft()
