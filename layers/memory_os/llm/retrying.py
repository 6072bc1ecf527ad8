"""The loop around attempts: tenacity's mechanics, with waits and limits from `policy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception

from memory_os.llm.clock import Clock
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.policy import Decision, Question, decide

_T = TypeVar("_T")


@dataclass(slots=True)
class Retrying:
    """One question's attempts. `budget` in tokens; `deadline` on the clock's monotonic time.

    The attempt itself charges what it spends with `charge`. `is_open` asks whether the breaker is open. `on_correct` is told
    of a fault that is answered by a correction.
    """

    clock: Clock
    jitter: Callable[[], float]
    budget: float
    deadline: float
    retries: Counter[str]
    repeatable: bool = True
    is_open: Callable[[], bool] = bool
    on_correct: Callable[[Fault], None] | None = None
    spent: float = 0.0
    corrections: int = 0
    waits: list[float] = field(default_factory=list)
    decision: Decision = field(default_factory=lambda: Decision(False))
    _attempts: Counter[FaultClass] = field(default_factory=Counter)

    async def run(self, attempt: Callable[[], Awaitable[_T]]) -> _T:
        """The first result. Raises the last Fault, and at once what is no Fault."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(self._again),
            wait=lambda _: self.decision.wait_s,
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(attempt)

    def charge(self, tokens: float) -> None:
        self.spent += tokens

    def _again(self, error: BaseException) -> bool:
        if not isinstance(error, Fault):
            return False
        self._attempts[error.kind] += 1
        question = Question(
            attempts=self._attempts[error.kind],
            spent=self.spent,
            budget=self.budget,
            left_s=self.deadline - self.clock.monotonic(),
            corrections=self.corrections,
            repeatable=self.repeatable,
            open=self.is_open(),
        )
        self.decision = decide(error, question, self.jitter())
        if self.decision.repeat:
            self.retries[error.kind.value] += 1
        if self.decision.correct:
            self.corrections += 1
            if self.on_correct is not None:
                self.on_correct(error)
        return self.decision.repeat

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.waits.append(seconds)
            await self.clock.sleep(seconds)
