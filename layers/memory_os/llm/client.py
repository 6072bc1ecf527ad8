"""The model client: one async interface to whatever language model there is.

A question goes to the configured model; where that can't be reached, to the fallback; then the answer to the same
question is used if there was one, then the caller's rule; and else it fails at once, and the work stays queued.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import aiohttp

from memory_os.config import ModelSettings, Settings
from memory_os.errors import (
    BudgetSpent,
    ContextTooLong,
    ModelAuth,
    ModelContent,
    ModelError,
    ModelOff,
    ModelUnavailable,
)
from memory_os.llm.asking import Asking
from memory_os.llm.cache import AnswerCache
from memory_os.llm.clock import Clock, SystemClock
from memory_os.llm.embeddings import Embedding
from memory_os.llm.endpoint import Endpoint, Unresolved
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.lane import Lane
from memory_os.llm.messages import Answer, Embeddings, Job, JobClass, Probe, Request, Source
from memory_os.llm.patience import TimeOuts
from memory_os.llm.resolve import Following, Resolved
from memory_os.llm.salvage import ends_early
from memory_os.llm.spending import Spending
from memory_os.llm.stopwatch import Stopwatch
from memory_os.llm.usage import KnowsForgetting, Remembers, UsageLog
from memory_os.llm.wire import open_session, reachable

# What nobody can mend by asking again soon: a wrong address, a model that is not there.
_CONFIGURATION_RETRY_S = 600.0
_TRANSIENT_RETRY_S = 60.0
# Enough for a breaker and for a percentile.
_REMEMBERED = 200


class ModelClient:
    """Ask a model. Make it with `open` inside a running event loop, end it with `close`."""

    def __init__(
        self,
        models: ModelSettings,
        resolved: Resolved,
        usage: UsageLog,
        *,
        changed: Callable[[], Resolved | None] | None = None,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`changed` gives other endpoints once they have changed, else None; `jitter` random numbers in [0, 1)."""
        self._models = models
        self._usage = usage
        self._resolved = resolved
        self._changed = changed
        self._clock = clock or SystemClock()
        self._jitter = jitter
        self._places = asyncio.Semaphore(models.concurrency)
        self._main = self._lane(resolved.main)
        self._fallback = self._lane(resolved.fallback)
        self._cache = AnswerCache()
        self._forgettings = 0
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._retries: Counter[str] = Counter()
        self._sources: Counter[str] = Counter()
        self.spending = Spending(models, usage, self._clock)

    @classmethod
    def open(cls, settings: Settings, usage: UsageLog, *, environ: Mapping[str, str] | None = None) -> ModelClient:
        """Opening connects to nothing. Without a model the client opens all the same, and `available` is False."""
        following = Following(settings, environ)
        return cls(settings.values.models, following.resolved, usage, changed=following.changed)

    @property
    def available(self) -> bool:
        """Whether a model is configured. Whether it answers now is in `status`."""
        self._look_again()
        return self._main is not None

    def allows(self, job: Job) -> bool:
        """Whether it may be asked for this job."""
        return self.available and (job == "probe" or job in self._models.jobs)

    @property
    def context_tokens(self) -> int:
        """What the model takes at once, the answer included."""
        return self._models.context_tokens

    @property
    def small(self) -> bool:
        """Whether it is to be asked for less: `models.small`."""
        return self._models.small

    async def ask(self, request: Request) -> Answer:
        """Ask. Raises ModelOff, ModelUnavailable, ModelAuth, ModelContent, ContextTooLong or BudgetSpent.

        With `request.rule` only ContextTooLong is left: then every other end is the rule's answer.
        """
        fresh = await self._cache_is_fresh() if request.cache else False
        try:
            answer = await self._by_models(request)
        except ContextTooLong:
            raise
        except ModelError as error:
            answer = await self._without_models(request, error)
        else:
            if fresh:
                self._cache.put(request, answer, self._clock.now())
        self._sources[answer.source] += 1
        return answer

    def session(self, deadline_s: float) -> Session:
        """Several questions under one deadline, in seconds from now."""
        return Session(self, self._clock, self._clock.monotonic() + deadline_s)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector a text, by `models.embedding_model`. Raises as `ask` does."""
        lane = self._main
        if lane is None or not self._models.embedding_model or lane.endpoint.dialect != "openai":
            raise ModelOff("No embedding model is configured.", cure="Set models.embedding_model (docs/models.md).")
        embedding = Embedding(lane, self._models, self.spending, self._clock, self._opened(), self._jitter, self._retries)
        try:
            return await embedding.vectors(texts)
        except Fault as fault:
            raise self._typed(fault, lane, fault.retry_after) from fault

    async def probe(self) -> Probe:
        """Whether the model's endpoint answers. It waits for no place and no breaker, and costs no tokens."""
        lane = self._main
        if lane is None:
            return Probe(ok=False, reason=self._off().message)
        start = self._models.patience.probe
        stopwatch = Stopwatch(
            self._clock, TimeOuts(start.whole, start.first, start.between), self._clock.monotonic() + start.deadline
        )
        stopwatch.begin()
        url, headers = lane.wire.models_url(lane.endpoint), lane.wire.headers(lane.endpoint)
        try:
            await stopwatch.run(reachable(self._opened(), url, headers, lane.endpoint, self._clock.now))
        except TimeoutError:
            return Probe(ok=False, seconds=stopwatch.seconds, reason="no answer in time")
        except Fault as fault:
            return Probe(ok=False, seconds=stopwatch.seconds, reason=fault.message)
        return Probe(ok=True, seconds=stopwatch.seconds)

    def status(self) -> dict[str, Any]:
        """What `memory-os status` shows of it: no key, no text of a question or an answer."""
        main = self._resolved.main
        return {
            "provider": self._models.provider,
            "available": self.available,
            "reason": main.reason if isinstance(main, Unresolved) else "",
            "main": None if self._main is None else self._main.status(),
            "fallback": None if self._fallback is None else self._fallback.status(),
            "retries": dict(self._retries),
            "answers": dict(self._sources),
            "units": self.spending.status(),
        }

    def forget(self) -> None:
        """Drop cached answers: they may quote what was forgotten."""
        self._cache.clear()

    async def _cache_is_fresh(self) -> bool:
        """Whether answers may be kept and given again. What was kept before something was forgotten goes first.

        Where nobody can say whether something was, none is given and none is kept.
        """
        if not isinstance(self._usage, KnowsForgetting):
            return True
        try:
            forgettings = await self._usage.forgettings()
        except Exception:  # noqa: BLE001  # the log may be remote; without its word nothing is taken from the cache
            return False
        if forgettings != self._forgettings:
            self.forget()
            self._forgettings = forgettings
        return True

    async def close(self) -> None:
        """Write what the usage log has not taken yet and end the connections. Callers cancel their own calls."""
        self._closed = True
        await self.spending.flush()
        if self._session is not None:
            await self._session.close()
            self._session = None

    # -- the ladder ------------------------------------------------------------------------------------------------

    async def _by_models(self, request: Request) -> Answer:
        """The first two rungs. A fault of the first is raised when the second is none or fails as well."""
        if request.job != "probe" and request.job not in self._models.jobs:
            raise ModelOff(f"models.jobs leaves {request.job} out.", cure="Add it there to have it done.")
        self._look_again()
        if self._main is None:
            raise self._off()
        deadline = self._clock.monotonic() + (request.deadline_s or self._patience(request.job) * self._main.stretch)
        try:
            return await self._on(self._main, request, deadline, "model")
        except (ModelUnavailable, ModelAuth) as first:
            if self._fallback is None:
                raise
            try:
                return await self._on(self._fallback, request, deadline, "fallback")
            except (ModelUnavailable, ModelAuth, ModelContent) as second:
                raise first from second

    async def _on(self, lane: Lane, request: Request, deadline: float, source: Source) -> Answer:
        asking = Asking(
            request=request,
            lane=lane,
            models=self._models,
            spending=self.spending,
            clock=self._clock,
            session=self._opened(),
            jitter=self._jitter,
            retries=self._retries,
            deadline=deadline,
            source=source,
        )
        try:
            return await asking.answer()
        except Fault as fault:
            error = self._typed(fault, lane, fault.retry_after)
            if isinstance(error, ModelContent):
                error.units = asking.spent
            raise error from fault

    async def _without_models(self, request: Request, error: ModelError) -> Answer:
        """The rungs that need no model, or the error that made them necessary."""
        away = isinstance(error, (ModelUnavailable, ModelAuth, BudgetSpent))
        if request.cache and away and await self._cache_is_fresh():
            found = self._cache.get(request, self._clock.now())
            if found is not None:
                return replace(found, source="cache", units=0.0, input_tokens=0, output_tokens=0, seconds=0.0)
        if request.rule is None:
            raise error
        given = request.rule()
        if isinstance(given, str):
            return Answer(text=given, source="rule")
        return Answer(text=given.model_dump_json(), parsed=given, source="rule")

    # -- parts -----------------------------------------------------------------------------------------------------

    def _lane(self, endpoint: Endpoint | Unresolved | None) -> Lane | None:
        if not isinstance(endpoint, Endpoint):
            return None
        lane = Lane(endpoint, self._models.patience, self._models.local_patience, self._clock, self._places)
        if isinstance(self._usage, Remembers):
            lane.remember(self._usage.recent(endpoint.public, _REMEMBERED))
        return lane

    def _look_again(self) -> None:
        """Follow a model, an address or a key that Hermes was given since; what did not change keeps its breaker."""
        resolved = self._changed() if self._changed is not None else None
        if resolved is None:
            return
        if resolved.main != self._resolved.main:
            self._main = self._lane(resolved.main)
        if resolved.fallback != self._resolved.fallback:
            self._fallback = self._lane(resolved.fallback)
        self._resolved = resolved

    def _opened(self) -> aiohttp.ClientSession:
        if self._closed:
            raise ModelOff("The model client is closed.")
        if self._session is None:
            self._session = open_session()
        return self._session

    def _patience(self, job: JobClass) -> float:
        return float(getattr(self._models.patience, job).deadline)

    def _off(self) -> ModelOff:
        main = self._resolved.main
        if isinstance(main, Unresolved):
            return ModelOff(f"No language model: {main.reason}.", cure=main.cure)
        return ModelOff("No language model is configured.")

    def _typed(self, fault: Fault, lane: Lane, asked: float | None) -> ModelError:
        """The error a caller sees."""
        where, now = lane.endpoint.public, self._clock.now()
        if fault.kind is FaultClass.AUTH:
            return ModelAuth(f"{where} refuses the key or the account ({fault.message}).", cure="See docs/models.md.")
        if fault.kind is FaultClass.TOO_LONG:
            return ContextTooLong(
                f"{where} can't take that much at once.", cure="Split the messages.", limit=fault.limit
            )
        if fault.kind is FaultClass.TRANSIENT:
            retry_at = max(now + (_TRANSIENT_RETRY_S if asked is None else max(asked, 1.0)), lane.breaker.open_until)
            return ModelUnavailable(f"{where} gives no answer ({fault.message}).", retry_at=retry_at)
        if fault.kind is FaultClass.REFUSED and fault.reason in (
            "not_found",
            "moved",
            "certificate",
            "address",
            "request",
        ):
            cure = "Check models.base_url and models.model, or Hermes's own model."
            return ModelUnavailable(f"{where}: {fault.message}.", cure=cure, retry_at=now + _CONFIGURATION_RETRY_S)
        cut = fault.reason in ("truncated", "spent_thinking") or ends_early(fault.text)
        why = "it ran out of room for it" if cut else fault.message
        return ModelContent(f"{where} gave no usable answer ({why}).", text=fault.text, cut=cut)


class Session:
    """Questions that belong together, with one deadline over all of them. Made by `ModelClient.session`."""

    def __init__(self, client: ModelClient, clock: Clock, deadline: float) -> None:
        self._client = client
        self._clock = clock
        self._deadline = deadline

    @property
    def left_s(self) -> float:
        return max(0.0, self._deadline - self._clock.monotonic())

    async def ask(self, request: Request) -> Answer:
        """As `ModelClient.ask`, within what is left. Raises ModelUnavailable when nothing is."""
        left = self.left_s
        if left <= 0:
            raise ModelUnavailable("The time for these questions is over.", retry_at=self._clock.now() + 1.0)
        return await self._client.ask(replace(request, deadline_s=min(left, request.deadline_s or left)))
