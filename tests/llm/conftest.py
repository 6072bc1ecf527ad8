"""A client against a scripted endpoint on real sockets, under a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from memory_os.config import ModelSettings
from memory_os.llm import MemoryUsage, Message, Request
from memory_os.llm.client import ModelClient
from memory_os.llm.endpoint import Dialect, Endpoint, Unresolved
from memory_os.llm.resolve import Resolved
from pydantic import BaseModel, ConfigDict
from support.fake_clock import FakeClock
from support.scripted_model import ScriptedModel, Step

KEY = "sk-test-0123456789abcdefghijkl"


class Fact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    subject: str
    statement: str


class Facts(BaseModel):
    model_config = ConfigDict(extra="forbid")

    facts: list[Fact] = []


@dataclass
class Stage:
    """All that one test looks at."""

    client: ModelClient
    server: ScriptedModel
    clock: FakeClock
    usage: MemoryUsage

    async def facts(self, text: str = "What was said.", **options: Any) -> Any:
        options = {"job": "extraction", "schema": Facts, **options}
        return await self.client.ask(Request(messages=[Message("user", text)], **options))

    async def prose(self, text: str = "What was said.", **options: Any) -> Any:
        return await self.facts(text, schema=None, **options)

    @property
    def breaker(self) -> str:
        return str(self.client.status()["main"]["breaker"]["state"])

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.usage.calls]

    async def units(self) -> float:
        await self.client.ledger.flush()
        return sum(call.units for call in self.usage.calls)


Staged = Callable[..., Any]


@pytest.fixture
def stage() -> Staged:
    """`async with stage(step, step, ...) as on:`; keywords are settings, `fallback=` an endpoint's address."""
    return _stage


@asynccontextmanager
async def _stage(
    *steps: Step, dialect: Dialect = "openai", fallback: str = "", jitter: float = 0.5, **models: Any
) -> AsyncIterator[Stage]:
    async with ScriptedModel(*steps) as server:
        clock, usage = FakeClock(), MemoryUsage()
        main = Endpoint(dialect, dialect, server.base_url, "big", KEY)
        second = Endpoint("openai", "openai", fallback, "second") if fallback else None
        client = ModelClient(ModelSettings(**models), Resolved(main, second), usage, clock=clock, jitter=lambda: jitter)
        try:
            yield Stage(client, server, clock, usage)
        finally:
            await client.close()


@pytest.fixture
def off() -> ModelClient:
    """A client without a model."""
    return ModelClient(ModelSettings(), Resolved(Unresolved("nothing is configured", "Configure it.")), MemoryUsage())
