"""One endpoint as the client uses it: its breaker, the fields it refuses, its observed times, and single attempts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp

from memory_os.config import PatienceSettings
from memory_os.errors import ModelAuth, ModelUnavailable
from memory_os.llm.breaker import SAYS_NOTHING, Breaker, BreakerState, replayed
from memory_os.llm.chat_completions import ChatCompletions
from memory_os.llm.clock import Clock
from memory_os.llm.dialect import Prompt, Reply, Wire
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.messages import Call, JobClass
from memory_os.llm.messages_api import MessagesApi
from memory_os.llm.patience import Observations, TimeOuts, percentile, stretched
from memory_os.llm.stopwatch import Stopwatch
from memory_os.llm.wire import exchange

_T = TypeVar("_T")

# A key that was refused stays refused until somebody changes it; asking on may lock the account.
AUTH_HOLD_S = 600.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A reply and the seconds it took."""

    reply: Reply
    seconds: float


@dataclass(slots=True)
class Lane:
    endpoint: Endpoint
    patience: PatienceSettings
    local_patience: float
    clock: Clock
    places: asyncio.Semaphore
    breaker: Breaker = field(default_factory=Breaker)
    refused: frozenset[str] = frozenset()
    observed: dict[JobClass, Observations] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    running: list[Stopwatch] = field(default_factory=list)
    _held: ModelAuth | None = None
    _held_until: float = 0.0

    @property
    def wire(self) -> Wire:
        return MessagesApi() if self.endpoint.dialect == "anthropic" else ChatCompletions()

    async def attempt(
        self,
        session: aiohttp.ClientSession,
        prompt: Prompt,
        job: JobClass,
        deadline: float,
        sent: Callable[[], None],
    ) -> Attempt:
        """Ask once; a field that the endpoint refuses by name is left out and asked again. `sent` is called when the
        request goes out. Raises Fault and what `guarded` raises."""
        while True:
            stopwatch = self.stopwatch(job, deadline)
            try:
                reply = await self.guarded(
                    stopwatch,
                    lambda stopwatch=stopwatch: self._exchange(session, prompt, stopwatch, sent),  # type: ignore[misc]
                )
            except Fault as fault:
                fault.heard, fault.seconds = stopwatch.pieces, stopwatch.seconds
                self._observe(job, stopwatch, fault)
                if not fault.parameter or fault.parameter in self.refused:
                    raise
                self.refused |= {fault.parameter}
                continue
            self._observe(job, stopwatch, None)
            return Attempt(reply, stopwatch.seconds)

    async def _exchange(
        self, session: aiohttp.ClientSession, prompt: Prompt, stopwatch: Stopwatch, sent: Callable[[], None]
    ) -> Reply:
        sent()
        return await exchange(session, self.wire, self.endpoint, prompt, self.refused, stopwatch.heard, self.clock.now)

    def remember(self, calls: Sequence[Call]) -> None:
        """Start as earlier calls to this endpoint have left it, whichever client made them."""
        ended = [one for one in calls if one.outcome not in SAYS_NOTHING]
        self.breaker = replayed((one.at, one.fault == FaultClass.TRANSIENT.value) for one in ended)
        for one in ended:
            if one.outcome in ("ok", "timeout_whole"):
                self.observed.setdefault(one.job, Observations()).whole.append(one.seconds)

    def is_open(self) -> bool:
        """Whether the breaker lets nobody through now."""
        return self.breaker.state(self.clock.now()) is BreakerState.OPEN

    def stopwatch(self, job: JobClass, deadline: float) -> Stopwatch:
        return Stopwatch(self.clock, self.observed.setdefault(job, Observations()).time_outs(self.start(job)), deadline)

    def start(self, job: JobClass) -> TimeOuts:
        """The time-outs as configured. A model on this machine may need minutes to read a prompt, and has no network to
        lose it."""
        return stretched(getattr(self.patience, job), self.stretch)

    @property
    def stretch(self) -> float:
        return self.local_patience if self.endpoint.local else 1.0

    async def guarded(self, stopwatch: Stopwatch, work: Callable[[], Awaitable[_T]]) -> _T:
        """Run `work` in a place, if the breaker admits it, under the stopwatch.

        Raises ModelUnavailable while the breaker is open, ModelAuth while a refused key is held off, and Fault.
        """
        self.running.append(stopwatch)
        try:
            return await stopwatch.run(self._placed(stopwatch, work))
        except TimeoutError as error:
            fault = Fault(
                FaultClass.TRANSIENT, f"timeout_{error}", f"no answer in time ({error})", processed=stopwatch.begun
            )
            if str(error) != "deadline":
                self.breaker.failed(self.clock.now())
            raise fault from error
        finally:
            self.running.remove(stopwatch)

    async def _placed(self, stopwatch: Stopwatch, work: Callable[[], Awaitable[_T]]) -> _T:
        async with self.places:
            probing = self._admit()
            stopwatch.begin()
            try:
                result = await work()
            except Fault as fault:
                self._judge(fault)
                raise
            except asyncio.CancelledError:
                if probing:
                    self.breaker.abandoned()
                raise
            self.breaker.succeeded()
            return result

    def _admit(self) -> bool:
        """Whether the call that may go out is the one that tries a half-open breaker. Raises when none may."""
        now = self.clock.now()
        if self._held is not None:
            if now < self._held_until:
                raise self._held.with_traceback(None)
            self._held = None
        if not self.breaker.admit(now):
            raise ModelUnavailable(
                f"The model at {self.endpoint.public} keeps failing and is left alone for a while.",
                cure="`memory-os status` says when it is tried again.",
                retry_at=max(self.breaker.open_until, now + 1.0),
            )
        return self.breaker.probing

    def _judge(self, fault: Fault) -> None:
        if fault.kind is FaultClass.TRANSIENT:
            self.breaker.failed(self.clock.now(), fault.retry_after)
            return
        self.breaker.succeeded()
        if fault.kind is FaultClass.AUTH:
            self._held = ModelAuth(
                f"{self.endpoint.public} refuses the key or the account ({fault.message}).",
                cure="Mend it in Hermes's .env or at the provider; see docs/models.md.",
            )
            self._held_until = self.clock.now() + AUTH_HOLD_S

    def _observe(self, job: JobClass, stopwatch: Stopwatch, fault: Fault | None) -> None:
        """Count the outcome; remember times of answers, and of time-outs as the time that was waited."""
        self.outcomes["ok" if fault is None else fault.reason] += 1
        times = self.observed.setdefault(job, Observations())
        if fault is None or fault.reason == "timeout_whole":
            times.whole.append(stopwatch.seconds)
        if stopwatch.first_s is not None or (fault is not None and fault.reason == "timeout_first"):
            times.first.append(stopwatch.seconds if stopwatch.first_s is None else stopwatch.first_s)
        if fault is not None and fault.reason == "timeout_between":
            times.between.append(self.start(job).between)
        elif fault is None:
            times.between.append(stopwatch.longest_gap_s)

    def status(self) -> dict[str, Any]:
        """What is shown of it; no key, no path."""
        now = self.clock.now()
        return {
            "endpoint": self.endpoint.public,
            "model": self.endpoint.model,
            "local": self.endpoint.local,
            "breaker": {
                "state": self.breaker.state(now).value,
                "failures": self.breaker.failures,
                "retry_at": self.breaker.open_until if self.breaker.openings else None,
            },
            "auth": self._held.message if self._held is not None and now < self._held_until else "",
            "calls": dict(sorted(self.outcomes.items())),
            "latency_s": {job: _percentiles(one) for job, one in self.observed.items() if one.whole},
            "time_outs_s": {job: _limits(one.time_outs(self.start(job))) for job, one in self.observed.items()},
            "running": [{"seconds": round(one.seconds, 2), "pieces": one.pieces} for one in self.running if one.begun],
            "waiting": sum(not one.begun for one in self.running),
        }


def _percentiles(times: Observations) -> dict[str, float]:
    found = {f"p{share}": round(percentile(times.whole, share / 100), 3) for share in (50, 95, 99)}
    return {"n": len(times.whole), **found}


def _limits(limits: TimeOuts) -> dict[str, float]:
    return {"whole": round(limits.whole, 2), "first": round(limits.first, 2), "between": round(limits.between, 2)}
