from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import load_settings
from memory_os.facts import Fact, Facts, Statement
from memory_os.facts.schema import facts as migrations
from memory_os.index import Index
from memory_os.memory import Scope
from memory_os.store import open_store
from memory_os.tooling import Arguments, Caller

NOW = 1_790_000_000.0
DAY = 86_400.0
ME = Scope("local", "default")
OTHER = Scope("telegram:42", "default")

Call = Callable[..., dict[str, Any]]


def remember(facts: Facts, text: str, now: float = NOW, scope: Scope = ME, **more: Any) -> Fact:
    """State a fact of the agent's; lists may be given as lists."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in more.items()}
    return facts.state(Statement(text, scope, **values), now).fact


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[Facts]:
    """A layer over a real memory.db."""
    settings = load_settings({}, hermes_home=tmp_path)
    store = open_store(settings.database, [migrations])
    yield Facts(store, Index(store, "test"), settings)
    store.close()


@pytest.fixture
def call(facts: Facts) -> Call:
    """Calls a tool as a model would: `call(action="add", content=…)`; `now`, `scope` and `turn` are the host's."""

    def run(
        tool: str = "fact_store", *, now: float = NOW, scope: Scope = ME, turn: str = "", **arguments: Any
    ) -> dict[str, Any]:
        return facts.tools()[tool](Arguments(tool, arguments), Caller(scope, turn_id=turn, now=now))

    return run
