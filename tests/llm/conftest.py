"""A client against a scripted endpoint on real sockets, under a clock that the test moves."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from memory_os.config import ModelSettings
from memory_os.llm import MemoryUsage
from memory_os.llm.client import ModelClient
from memory_os.llm.endpoint import Dialect, Endpoint, Unresolved
from memory_os.llm.resolve import Resolved
from support.fake_clock import FakeClock
from support.scripted_model import ScriptedModel, Step

from llm.staging import KEY, Stage, Staged


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests here may be coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


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
        # The scripted endpoint stands for one that is elsewhere.
        models = {"local_patience": 1, **models}
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
