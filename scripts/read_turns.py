# ruff: noqa: T201 - a script that shows what it saw
"""Capture a short conversation, have the model at an address read it, and print what was kept and what was dropped."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from curate_text import address
from memory_os.config import Settings, Values, load_settings
from memory_os.engine import Engine
from memory_os.llm import ModelClient, StoreUsage
from memory_os.understanding.asking import delivery_of

TURNS = (
    ("We decided that the orders database runs on PostgreSQL 16.", "Noted: PostgreSQL 16 for the orders database."),
    ("I always write my tests before the code.", "Then I will propose tests first."),
)


def main(work: Path) -> int:
    settings = settings_of(work, address(work / "address"))
    engine = Engine.open(settings)
    try:
        for number, (question, answer) in enumerate(TURNS):
            engine.capture.take({
                "v": 1, "type": "turn", "turn_id": f"t{number}", "session_id": "s", "platform": "cli", "user": "local",
                "profile": "default", "at": time.time() - 60 + number, "user_message": question, "assistant_response": answer,
            })  # fmt: skip
        (due,) = engine.understanding.due(time.time())
        reading = engine.understanding.reading(due.scope, due.session_id, due.watermark, time.time())
        assert reading is not None
        started = time.monotonic()
        told = asyncio.run(asked(engine, settings, reading))
        print(f"{time.monotonic() - started:.0f} s. The home is {settings.home}.")
        print(told.get("failed") or f"the model named {len(told['items'])} items, {told['dropped']} of no turn: {told['items']}")
        print(engine.understanding.deliver(told, time.time()))
        for fact in engine.facts.current(engine.workspace.scope, time.time()):
            print(f"kept: {fact.text}")
    finally:
        engine.close()
    return 0


def settings_of(work: Path, base_url: str) -> Settings:
    """A home of its own; the small model answers slowly."""
    settings = load_settings({}, hermes_home=work / "hermes")
    patience = {"whole": 900, "first": 600, "between": 120, "deadline": 1800}
    models = {
        "provider": "openai", "base_url": f"{base_url}/v1", "model": "smollm2", "context_tokens": 8000, "concurrency": 1,
        "patience": {"extraction": patience},
    }  # fmt: skip
    values = {"models": models, "understanding": {"idle_minutes": 0}}
    return replace(settings, values=Values.model_validate(values))


async def asked(engine: Engine, settings: Settings, reading: Any) -> dict[str, Any]:
    model = ModelClient.open(settings, StoreUsage(engine.store))
    try:
        return await delivery_of(model, reading)
    finally:
        await model.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
