"""Time-outs move from what was configured to what was observed."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.llm.patience import ENOUGH, LEAST, MOST, PLENTY, TimeOuts, adapted, percentile
from memory_os.llm.stopwatch import Stopwatch
from support.fake_clock import FakeClock

seconds = st.floats(0.001, 1000)


@given(st.lists(seconds, max_size=ENOUGH - 1))
def test_few_observations_change_nothing(observed: list[float]) -> None:
    assert adapted(60.0, observed) == 60.0


@given(seconds, st.lists(seconds, min_size=ENOUGH, max_size=PLENTY))
def test_enough_of_them_give_their_p99_times_two_falling_to_one_and_a_half(start: float, observed: list[float]) -> None:
    found = adapted(start, observed)
    assert LEAST * start <= found <= MOST * start
    p99 = percentile(observed, 0.99)
    if LEAST * start < 1.5 * p99 and 2 * p99 < MOST * start:
        assert 1.5 * p99 - 1e-9 <= found <= 2 * p99 + 1e-9


def test_the_factor_at_both_ends() -> None:
    assert adapted(10, [6.0] * ENOUGH) == pytest.approx(12.0)
    assert adapted(10, [6.0] * PLENTY) == pytest.approx(9.0)


@given(st.lists(seconds, min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_percentile_is_an_observation_that_enough_do_not_exceed(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


def _rings(*, begin: float, tokens: list[float]) -> tuple[str, float]:
    """Which limit ends a call that begins and speaks at these times, and when."""

    async def play() -> tuple[str, float]:
        clock = FakeClock(0.0)
        stopwatch = Stopwatch(clock, TimeOuts(whole=100, first=30, between=10), deadline=200.0)
        running = asyncio.ensure_future(stopwatch.run(asyncio.Event().wait()))
        ended: list[float] = []
        running.add_done_callback(lambda _: ended.append(clock.now()))
        await clock.advance(0)
        for at, act in sorted(
            [(begin, stopwatch.begin), *((token, stopwatch.heard) for token in tokens)], key=lambda one: one[0]
        ):
            await clock.advance(at - clock.now())
            act()
        while not running.done():
            await clock.advance(0.5)
        with pytest.raises(TimeoutError) as error:
            await running
        return str(error.value), ended[0]

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("begin", "tokens", "limit", "at"),
    [
        (0, [], "first", 30),
        (50, [], "first", 80),
        (0, [5], "between", 15),
        (0, [29, 35, 44], "between", 54),
        (0, [float(second) for second in range(2, 99, 4)], "whole", 100),
        (150, [float(second) for second in range(152, 199, 4)], "deadline", 200),
        (500, [], "deadline", 200),
    ],
)
def test_each_limit_rings_at_its_time(begin: float, tokens: list[float], limit: str, at: float) -> None:
    assert _rings(begin=begin, tokens=tokens) == (limit, at)
