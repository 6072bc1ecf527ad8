"""What the tests of the client work with: a schema, and everything one test looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memory_os.llm import MemoryUsage, Message, Request
from memory_os.llm.client import ModelClient
from pydantic import BaseModel, ConfigDict
from support.fake_clock import FakeClock
from support.scripted_model import ScriptedModel

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
    def pieces(self) -> int:
        """How many tokens the calls that run now have brought."""
        return sum(one["pieces"] for one in self.client.status()["main"]["running"])

    @property
    def breaker(self) -> str:
        return str(self.client.status()["main"]["breaker"]["state"])

    async def outcomes(self) -> list[str]:
        await self.client.spending.flush()
        return [call.outcome for call in self.usage.calls]

    async def units(self) -> float:
        await self.client.spending.flush()
        return sum(call.units for call in self.usage.calls)


Staged = Callable[..., Any]
