"""A real engine without vectors, the real model client, and a scripted model on a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import Settings, Values, load_settings
from memory_os.engine import Engine
from memory_os.facts import Fact
from memory_os.llm import ModelClient, StoreUsage
from memory_os.memory import Scope
from memory_os.understanding.extraction import read
from memory_os.understanding.reading import Read
from support.model_server import Endpoint, ModelServer, Say

# 2026-11-30, 12:00 UTC
NOW = 1_796_040_000.0
MINUTE = 60.0
LOCAL = Scope()
EVERY_TURN = "known facts"


def settings_of(home: Path, base_url: str = "", **values: Any) -> Settings:
    """Settings of a home, with the scripted model if there is a URL."""
    settings = load_settings({}, hermes_home=home)
    patience = {"extraction": {"whole": 60, "first": 60, "between": 60, "deadline": 60}}
    model = {
        "provider": "openai",
        "base_url": base_url,
        "model": "scripted-model",
        "retry_budget": 1,
        "patience": patience,
    }
    models = {**model, **values.pop("models", {})} if base_url else {"provider": "none"}
    return replace(settings, values=Values.model_validate({"models": models, **values}))


def answer(**lists: Any) -> Say:
    """What the model answers: `answer(facts=[…])`."""
    return Say(json.dumps(lists, ensure_ascii=False))


def fact(statement: str, turn: str = "T1", confidence: float = 0.9, **more: Any) -> dict[str, Any]:
    return {"statement": statement, "turn": turn, "confidence": confidence, "subject": "", "relation": "", **more}


class Bench:
    """One home. `said` captures a turn as the plugin does; `understand` is what service and worker do together."""

    def __init__(self, settings: Settings, model: Endpoint) -> None:
        self.settings = settings
        self.model = model
        self.engine = Engine.open(settings)
        self.layer = self.engine.understanding
        self.turns = 0

    def said(self, question: str, reply: str = "I see.", *, at: float = NOW, session: str = "s1", **more: Any) -> str:
        self.turns += 1
        turn = str(more.pop("turn", f"{session}:{self.turns}"))
        record = {"v": 1, "type": "turn", "turn_id": turn, "session_id": session, "platform": "cli", "user": "local",
                  "profile": "default", "at": at, "user_message": question, "assistant_response": reply, **more}  # fmt: skip
        self.engine.capture.take(record)
        return turn

    def answers(self, *replies: Any) -> None:
        """What the model says from now on, whatever it is asked; the last one repeats."""
        for reply in reversed(replies):
            self.model.script("Answer with the JSON object", reply)

    def understand(self, now: float = NOW + 60 * MINUTE) -> list[dict[str, Any]]:
        """One run over every session that is due."""
        done = []
        for one in self.layer.due(now):
            if (found := self.read(one.scope, one.session_id, one.watermark, now)) is not None:
                done.append(self.layer.take(json.loads(json.dumps(found.as_dict())), now))
        return done

    def read(self, scope: str, session: str, watermark: int, now: float) -> Read | None:
        reading = self.layer.reading(scope, session, watermark, now)
        if reading is None:
            return None

        async def run() -> Read:
            client = ModelClient.open(self.settings, StoreUsage(self.engine.store))
            try:
                return await read(
                    client.ask,
                    type(reading).from_dict(json.loads(json.dumps(reading.as_dict()))),
                    client.context_tokens,
                )
            finally:
                await client.close()

        return asyncio.run(run())

    def facts(self, scope: Scope = LOCAL, now: float = NOW + 90 * MINUTE) -> list[Fact]:
        return self.engine.facts.current(scope, now)

    def texts(self, scope: Scope = LOCAL) -> list[str]:
        return sorted(one.text for one in self.facts(scope))

    @property
    def prompts(self) -> list[str]:
        """What the model was sent, oldest first."""
        return [one.prompt for one in self.model.requests]

    def counted(self, name: str) -> tuple[int, str]:
        row = self.engine.store.row("SELECT value, last_reason FROM counters WHERE name = ?", (name,))
        return (0, "") if row is None else (row["value"], row["last_reason"])

    def outcomes(self) -> dict[str, str]:
        """What became of each turn that was settled."""
        return {row["turn_id"]: row["outcome"] for row in self.engine.store.rows("SELECT * FROM understood_turns")}


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, model_server: ModelServer) -> Iterator[Bench]:
    endpoint = model_server.endpoint(tmp_path.name)
    made = Bench(settings_of(tmp_path / "hermes", endpoint.base_url), endpoint)
    yield made
    made.engine.close()
