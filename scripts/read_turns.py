# ruff: noqa: T201 - a script that shows what it saw
"""Capture two sessions, have the model at an address read each, and print what was kept, replaced and is readable as of then."""

from __future__ import annotations

import argparse
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

_DAY_S = 86_400.0
# (days ago, what the person said, what the agent answered)
SESSIONS = (
    (
        (8.0, "We decided that the orders database runs on PostgreSQL 16.", "Noted: PostgreSQL 16 for the orders database."),
        (8.0, "The nightly export starts at 02:30. Can you remind me of the meeting?", "Which meeting do you mean?"),
        (8.0, "Thanks!", "You are welcome."),
    ),
    (
        (1.0, "The orders database runs on PostgreSQL 17.", "So it is 17 from now on."),
        (1.0, "Maria's desk is on the second floor.", "Noted."),
    ),
)  # fmt: skip


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args(argv)
    work = options.work.resolve()
    settings = settings_of(work, address(work / "address"), small=not options.full)
    engine = Engine.open(settings)
    failed = False
    try:
        for number, turns in enumerate(SESSIONS, 1):
            capture(engine, f"s{number}", turns)
            failed = not understood(engine, settings, f"s{number}") or failed
        now = time.time()
        show(engine, "now", now)
        show(engine, "as of four days ago", now - 4 * _DAY_S)
    finally:
        engine.close()
    print(f"\nThe home is {settings.home}.")
    return 1 if failed else 0


def settings_of(work: Path, base_url: str, *, small: bool) -> Settings:
    """A home of its own; the small model answers slowly."""
    settings = load_settings({}, hermes_home=work / "hermes")
    patience = {"whole": 900, "first": 600, "between": 120, "deadline": 1800}
    models = {
        "provider": "openai", "base_url": f"{base_url}/v1", "model": "smollm2", "context_tokens": 8000, "concurrency": 1,
        "small": small, "patience": {"extraction": patience},
    }  # fmt: skip
    values = {"models": models, "understanding": {"idle_minutes": 0}}
    return replace(settings, values=Values.model_validate(values))


def capture(engine: Engine, session: str, turns: tuple[tuple[float, str, str], ...]) -> None:
    """As the plugin does after each turn."""
    for number, (days, question, answer) in enumerate(turns):
        engine.capture.take({
            "v": 1, "type": "turn", "turn_id": f"{session}:{number}", "session_id": session, "platform": "cli",
            "user": "local", "profile": "default", "at": time.time() - days * _DAY_S + number, "user_message": question,
            "assistant_response": answer,
        })  # fmt: skip


def understood(engine: Engine, settings: Settings, session: str) -> bool:
    """Read a session as service and worker do; prints what the model said and what was kept. Whether it could be read."""
    now = time.time()
    (due,) = engine.understanding.due(now)
    reading = engine.understanding.reading(due.scope, due.session_id, due.watermark, now)
    assert reading is not None
    started = time.monotonic()
    told = asyncio.run(asked(engine, settings, reading))
    print(f"\nSession {session}, {len(reading.turns)} turns to read, {time.monotonic() - started:.0f} s:")
    if "failed" in told:
        print(f"  failed: {told['failed']}")
    else:
        print(f"  {told['calls']} questions, {len(told['items'])} items, {told['dropped']} answers of no use")
    for item in told.get("items", ()):
        shown = {name: value for name, value in item.items() if value and name not in ("turn", "category", "several")}
        print(f"  {shown}")
    kept = engine.understanding.deliver(told, now)
    print(f"  kept {kept['kept']}, dropped {kept['dropped']}", flush=True)
    return "failed" not in told


def show(engine: Engine, when: str, moment: float) -> None:
    print(f"\nFacts {when}:")
    for fact in engine.facts.as_of(engine.workspace.scope, moment):
        print(f"  {fact.text}")


async def asked(engine: Engine, settings: Settings, reading: Any) -> dict[str, Any]:
    model = ModelClient.open(settings, StoreUsage(engine.store))
    try:
        return await delivery_of(model, reading)
    finally:
        await model.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
