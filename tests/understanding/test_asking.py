"""A provider's bad days: what is delivered, whether it counts, when it is tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from memory_os.errors import (
    BudgetSpent,
    ContextTooLong,
    ModelAuth,
    ModelContent,
    ModelError,
    ModelOff,
    ModelUnavailable,
)
from memory_os.llm import Answer, Request
from memory_os.understanding.asking import delivery_of, retry_at
from memory_os.understanding.extraction import read
from memory_os.understanding.items import Extraction
from memory_os.understanding.reading import Reading
from memory_os.understanding.transcript import Turn

TURNS = tuple(Turn(f"t{number}", 0.0, f"The rack {number} stands in hall 7.", "Yes. " * 40) for number in range(8))
READING = Reading("default/local", "s1", TURNS)


class Model:
    """A client whose `ask` takes so many tokens, or raises. `asked`: labels of turns in each question."""

    context_tokens = 32_000
    small = False

    def __init__(self, error: ModelError | None = None, most_turns: int = 99) -> None:
        self.error, self.most = error, most_turns
        self.asked: list[int] = []

    async def ask(self, request: Request) -> Answer:
        if self.error is not None:
            raise self.error
        turns = request.messages[-1].content.count("\n  person:")
        self.asked.append(turns)
        if turns > self.most:
            raise ContextTooLong("too long", limit=0)
        return Answer(text="", parsed=Extraction(), units=1.0)


@pytest.mark.parametrize(
    ("error", "final", "at"),
    [
        (ModelContent("prose"), True, 0.0),
        (ContextTooLong("too long"), True, 0.0),
        (ModelUnavailable("429", retry_at=5000.0), False, 5000.0),
        (BudgetSpent("spent", resets_at=9000.0), False, 9000.0),
    ],
)
def test_a_failure_is_delivered_with_its_class(error: ModelError, final: bool, at: float) -> None:
    told: dict[str, Any] = asyncio.run(delivery_of(Model(error), READING))  # type: ignore[arg-type]
    assert told["failed"] and (told["final"], told["retry_at"]) == (final, at)
    assert "items" not in told and "turns" not in told


@pytest.mark.parametrize("error", [ModelAuth("key"), ModelOff("none")])
def test_what_nobody_mends_soon_waits_ten_minutes(error: ModelError) -> None:
    assert retry_at(error, 1000.0) == 1600.0


def test_a_model_with_less_room_than_told_is_asked_about_halves() -> None:
    model = Model(most_turns=2)
    done = asyncio.run(read(model.ask, READING, 32_000))
    assert done.turns == [one.id for one in TURNS]
    assert [one for one in model.asked if one <= 2] == [2, 2, 2, 2] and done.units == 4.0


def test_one_turn_that_no_model_takes_ends_the_attempt() -> None:
    with pytest.raises(ContextTooLong):
        asyncio.run(read(Model(most_turns=0).ask, READING, 32_000))


def test_two_thousand_turns_are_read_in_order_some_at_a_time() -> None:
    turns = tuple(
        Turn(f"t{number}", float(number), "The build is green again.", "Good. " * 30) for number in range(2000)
    )
    model = Model(most_turns=999)
    done = asyncio.run(read(model.ask, Reading("default/local", "s", turns[:200]), 32_000))
    assert done.calls <= 2 and done.turns == [f"t{number}" for number in range(len(done.turns))]
    assert len(done.turns) == 200
