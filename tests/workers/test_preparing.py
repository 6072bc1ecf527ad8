"""The bounded wait for a model's answer about a person."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from memory_os_workers.preparing import Preparing

SEARCH: dict[str, Any] = {"by": "search", "note": "Call again later.", "preparing": True}
MODEL: dict[str, Any] = {"by": "model", "lines": []}


def test_the_answer_that_comes_in_time_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    # No look but the one that the news of the answer brings.
    monkeypatch.setattr("memory_os_workers.preparing._LOOK_S", 30.0)

    async def run() -> None:
        waiting, answers, hurried = Preparing(30.0), [MODEL], []

        async def ask() -> dict[str, Any]:
            return answers.pop()

        def hurry() -> None:
            hurried.append(1)
            threading.Thread(target=waiting.arrived).start()

        waiting.hurry = hurry
        assert await asyncio.wait_for(waiting.answer(dict(SEARCH), ask), 20) == MODEL
        assert hurried == [1]

    asyncio.run(run())


@pytest.mark.parametrize(("seconds", "note"), [(0.02, "No model has answered within 0.02 s. Call again later."), (0, "Call again later.")])
def test_past_the_time_search_answers_alone_and_says_so(seconds: float, note: str) -> None:
    async def run() -> dict[str, Any]:
        async def ask() -> dict[str, Any]:
            return dict(SEARCH)

        return await Preparing(seconds).answer(dict(SEARCH), ask)

    assert asyncio.run(run()) == {**SEARCH, "note": note}


def test_a_failure_ends_the_wait_and_what_is_not_prepared_is_not_waited_for() -> None:
    failed = {"by": "search", "note": "Call again later."}

    async def run() -> None:
        waiting = Preparing(30.0)

        async def ask() -> dict[str, Any]:
            return dict(failed)

        waiting.hurry = waiting.arrived
        assert await asyncio.wait_for(waiting.answer(dict(SEARCH), ask), 20) == failed

        async def never() -> dict[str, Any]:
            raise AssertionError("nothing was being prepared")

        for told in (failed, MODEL):
            assert await waiting.answer(dict(told), never) == told

    asyncio.run(run())


def test_news_after_the_end_of_the_loop_is_nobodys() -> None:
    async def make() -> Preparing:
        return Preparing(1.0)

    asyncio.run(make()).arrived()
