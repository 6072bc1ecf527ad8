"""One question to one endpoint: attempts, corrections, and what can be kept when no answer is quite right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from memory_os.config import ModelSettings
from memory_os.errors import ContextTooLong
from memory_os.llm.budget import Means
from memory_os.llm.clock import Clock
from memory_os.llm.dialect import Prompt, Reply
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.lane import Attempt, Lane
from memory_os.llm.messages import Answer, Call, Message, Request, Source
from memory_os.llm.retrying import Retrying
from memory_os.llm.salvage import Salvaged, exact, salvaged, summary
from memory_os.llm.spending import Spending
from memory_os.llm.splitting import tokens_of
from memory_os.llm.wording import corrected, json_schema, with_schema
from memory_os.text import token_estimate

# A reasoning model that thought until its tokens were gone needs more than it was given, and not a little more.
_MORE_AFTER_THINKING = 4
_MORE_AFTER_CUT = 2


@dataclass(slots=True)
class _Ended:
    """How an attempt ended and what it took."""

    outcome: str
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    fault: str = ""


@dataclass(slots=True)
class Asking:
    """Made for one request and one lane; `answer` once."""

    request: Request
    lane: Lane
    models: ModelSettings
    spending: Spending
    clock: Clock
    session: aiohttp.ClientSession
    jitter: Callable[[], float]
    retries: Counter[str]
    deadline: float
    source: Source
    _messages: list[Message] = field(default_factory=list)
    _max_output: int = 0
    _said: list[Reply] = field(default_factory=list)
    _model: str = ""
    _units: float = 0.0
    _input: int = 0
    _output: int = 0
    _sent: bool = False
    _retrying: Retrying | None = None

    async def answer(self) -> Answer:
        """Ask until there is an answer or no attempt is left. Raises Fault, BudgetSpent, ContextTooLong, ModelUnavailable."""
        started = self.clock.monotonic()
        self._messages = with_schema(self.request.messages, self.request.schema if self.request.schema_shown else None)
        self._max_output = self.request.max_output_tokens
        self._check_room()
        self._retrying = Retrying(
            clock=self.clock,
            jitter=self.jitter,
            budget=self.models.retry_budget * (tokens_of(self._messages) + self._max_output),
            deadline=self.deadline,
            retries=self.retries,
            repeatable=self.request.idempotent or bool(self.request.idempotency_key),
            is_open=self.lane.is_open,
            on_correct=self._correct,
        )
        try:
            reply, parsed = await self._retrying.run(self._attempt)
            return self._answer(reply, parsed, started)
        except Fault as fault:
            kept = self._kept() if fault.kind is FaultClass.CONTENT else None
            if kept is None:
                raise
        reply, found = kept
        if found is None:
            return self._answer(reply, None, started, partial=True, cut=True)
        cut = found.cut or (reply.finish == "length" and not found.whole)
        return self._answer(reply, found.value, started, partial=not found.whole, cut=cut)

    @property
    def spent(self) -> float:
        """Model units, of all attempts so far."""
        return self._units

    def _answer(
        self, reply: Reply, parsed: Any, started: float, *, partial: bool = False, cut: bool = False
    ) -> Answer:  # fmt: skip
        return Answer(
            text=reply.text,
            parsed=parsed,
            model=self._model,
            source=self.source,
            units=self._units,
            input_tokens=self._input,
            output_tokens=self._output,
            seconds=self.clock.monotonic() - started,
            partial=partial,
            cut=cut,
        )

    async def _attempt(self) -> tuple[Reply, Any]:
        asked = tokens_of(self._messages)
        self._model = await self._chosen_model(asked)
        reserved = self.spending.cost(self._model, asked, self._max_output)
        self.spending.reserve(self.request.job, reserved)
        self._sent = False
        # What is known of a call that is cancelled: that its input went out, if it did.
        ended = _Ended("cancelled", input_tokens=asked)
        try:
            got = await self.lane.attempt(
                self.session, self._prompt(), self.request.job, self.deadline, self._mark_sent
            )
            ended = _of_reply(got, asked)
            self._charge(ended.input_tokens + ended.output_tokens)
            parsed = self._understood(got.reply)
        except Fault as fault:
            if ended.outcome != "ok":
                ended = _Ended(fault.reason, asked if fault.processed else 0, fault.heard, fault.seconds)
                self._charge(asked + (self._max_output if fault.processed else 0))
            ended.outcome, ended.fault = fault.reason, fault.kind.value
            raise
        finally:
            self._settle(ended, reserved)
        return got.reply, parsed

    def _mark_sent(self) -> None:
        self._sent = True

    def _settle(self, ended: _Ended, reserved: float) -> None:
        if not self._sent:
            self.spending.release(self.request.job, reserved)
            return
        cost = self.spending.cost(self._model, ended.input_tokens, ended.output_tokens)
        self._units += cost
        self._input += ended.input_tokens
        self._output += ended.output_tokens
        call = Call(
            at=self.clock.now(),
            job=self.request.job,
            model=self._model,
            endpoint=self.lane.endpoint.public,
            input_tokens=ended.input_tokens,
            output_tokens=ended.output_tokens,
            units=cost,
            seconds=ended.seconds,
            outcome=ended.outcome,
            fault=ended.fault,
        )
        self.spending.book(call, reserved)

    async def _chosen_model(self, asked: int) -> str:
        """The endpoint's model, or the lighter one near a budget's end. Raises BudgetSpent at the end."""
        own = self.lane.endpoint.model
        full = self.spending.cost(own, asked, self._max_output)
        means = await self.spending.means(self.request.job, full)
        if means is Means.FULL or (means is Means.LIGHT and not self._light):
            return own
        if self._light:
            cost = self.spending.cost(self._light, asked, self._max_output)
            if await self.spending.means(self.request.job, cost) is not Means.SPENT:
                return self._light
        raise self.spending.spent(self.request.job)

    @property
    def _light(self) -> str:
        """The lighter model belongs to the first endpoint; the fallback has none."""
        return self.models.light_model if self.source == "model" else ""

    def _prompt(self) -> Prompt:
        schema = None if self.request.schema is None else json_schema(self.request.schema)
        return Prompt(self._model, self._messages, self._max_output, schema, self.request.idempotency_key)

    def _charge(self, tokens: float) -> None:
        if self._retrying is not None:
            self._retrying.charge(tokens)

    def _check_room(self) -> None:
        room = self.models.context_tokens - self.request.max_output_tokens
        asked = tokens_of(self._messages)
        if asked > room:
            fits = room - (asked - tokens_of(self.request.messages))
            raise ContextTooLong(
                f"{asked} tokens in and {self.request.max_output_tokens} out are more than the model takes.",
                cure="Split the messages, or raise models.context_tokens if the model takes more.",
                limit=max(0, fits),
            )

    def _understood(self, reply: Reply) -> Any:
        """The parsed answer, or None where text was asked for. Raises Fault of the class CONTENT."""
        self._said.append(reply)
        if reply.finish == "filtered" and not reply.text.strip():
            raise Fault(FaultClass.REFUSED, "filtered", "the provider's filter held the answer back")
        if not reply.text.strip():
            reason = "spent_thinking" if reply.finish == "length" else "empty"
            raise Fault(FaultClass.CONTENT, reason, "the answer is empty")
        if self.request.schema is None:
            if reply.finish == "length":
                raise Fault(FaultClass.CONTENT, "truncated", "the answer is cut off", text=reply.text)
            return None
        try:
            return exact(reply.text, self.request.schema)
        except ValueError as error:
            reason = "truncated" if reply.finish == "length" else "schema"
            raise Fault(FaultClass.CONTENT, reason, summary(error), text=reply.text) from error

    def _correct(self, fault: Fault) -> None:
        """Change the question for the one correction: more room for what was cut off, the errors for what was wrong."""
        if fault.reason in ("truncated", "spent_thinking"):
            more = _MORE_AFTER_CUT if fault.reason == "truncated" else _MORE_AFTER_THINKING
            room = self.models.context_tokens - tokens_of(self._messages)
            self._max_output = max(self._max_output, min(self._max_output * more, room))
        elif self.request.schema is not None:
            self._messages = corrected(self._messages, fault.text, fault.message)

    def _kept(self) -> tuple[Reply, Salvaged | None] | None:
        """What is usable of the answers so far, the latest first: complete items, or prose that was cut off."""
        for reply in reversed(self._said):
            if self.request.schema is None:
                if reply.text.strip():
                    return reply, None
                continue
            found = salvaged(reply.text, self.request.schema)
            if found is not None:
                return reply, found
        return None


def _of_reply(got: Attempt, asked: int) -> _Ended:
    """By the provider's count, or by an estimate where it gives none."""
    reply = got.reply
    return _Ended(
        "ok",
        asked if reply.input_tokens is None else reply.input_tokens,
        token_estimate(reply.text) if reply.output_tokens is None else reply.output_tokens,
        got.seconds,
    )
