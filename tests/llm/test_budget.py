"""Model units, budgets, and the spending that keeps to them."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_os.config import ModelSettings, Price
from memory_os.llm import Call, MemoryUsage
from memory_os.llm.budget import DAY_S, Account, Means, day_start, means, price_of, units
from memory_os.llm.spending import Spending
from support.fake_clock import FakeClock

amounts = st.floats(0, 1e6)
accounts = st.lists(st.builds(Account, limit=st.none() | amounts, spent=amounts), max_size=3)


def test_units_weigh_input_and_output() -> None:
    assert units(Price(input=2, output=8), 1500, 250) == pytest.approx(5.0)


def test_the_first_pattern_that_matches_is_the_price_whatever_the_case() -> None:
    prices = {"gpt-*-mini": Price(input=0.1, output=0.4), "GPT-*": Price(input=3, output=9)}
    assert price_of("gpt-7-mini", prices, Price()).input == 0.1
    assert price_of("gpt-7", prices, Price()).input == 3
    assert price_of("qwen3", prices, Price()).output == 4


@given(accounts, amounts, st.floats(0.1, 1))
def test_the_tightest_account_decides(all_of: list[Account], cost: float, light_from: float) -> None:
    found = means(all_of, cost, light_from)
    spent = [one.limit is not None and one.spent + cost > one.limit for one in all_of]
    assert (found is Means.SPENT) == any(spent)
    if found is Means.FULL:
        assert all(one.limit is None or one.spent + cost <= light_from * one.limit for one in all_of)


@settings(max_examples=25)  # each starts an event loop
@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 1)), max_size=40))
def test_a_day_never_spends_more_than_its_budget(calls: list[tuple[float, float]]) -> None:
    """Calls that are out at the same time count with all they may cost."""

    async def play() -> None:
        usage, clock = MemoryUsage(), FakeClock()
        spending = Spending(ModelSettings(budget_per_day=100), usage, clock)
        out: list[tuple[float, float]] = []
        for cost, share in calls:
            if await spending.means("curation", cost) is not Means.SPENT:
                spending.reserve("curation", cost)
                out.append((cost, share))
            if len(out) == 3:
                reserved, part = out.pop(0)
                spending.book(_call(clock, reserved * part), reserved)
        for reserved, part in out:
            spending.book(_call(clock, reserved * part), reserved)
        await spending.flush()
        assert sum(call.units for call in usage.calls) <= 100 + 1e-6

    asyncio.run(play())


def test_what_others_spent_is_seen_and_a_new_day_starts_at_nothing() -> None:
    async def play() -> None:
        usage, clock = MemoryUsage(), FakeClock()
        spending = Spending(ModelSettings(budget_per_day=10, job_budgets={"curation": 4}), usage, clock)
        assert await spending.means("curation", 1) is Means.FULL
        usage.calls.append(_call(clock, 3.5))
        await clock.advance(31)
        assert await spending.means("curation", 1) is Means.SPENT
        assert await spending.means("extraction", 1) is Means.FULL
        assert await spending.means("probe", 1000) is Means.FULL
        assert spending.resets_at() == day_start(clock.now()) + DAY_S
        await clock.advance(spending.resets_at() - clock.now())
        assert await spending.means("curation", 1) is Means.FULL

    asyncio.run(play())


class _Unreachable(MemoryUsage):
    """A log that is away at first."""

    away = True

    async def spent(self, job: str, since: float) -> float:
        self._check()
        return await super().spent(job, since)

    async def record(self, call: Call) -> None:
        self._check()
        await super().record(call)

    def _check(self) -> None:
        if self.away:
            raise ConnectionError("away")


def test_a_log_that_is_away_costs_no_answer_and_gets_its_rows_later() -> None:
    async def play() -> None:
        usage, clock = _Unreachable(), FakeClock()
        spending = Spending(ModelSettings(budget_per_day=10), usage, clock)
        assert await spending.means("curation", 1) is Means.FULL
        spending.reserve("curation", 8)
        spending.book(_call(clock, 8), 8)
        assert await spending.means("curation", 3) is Means.SPENT
        assert spending.status()["unsent"] == 1
        usage.away = False
        await spending.flush()
        assert [call.units for call in usage.calls] == [8]
        assert spending.status()["unsent"] == 0

    asyncio.run(play())


def _call(clock: FakeClock, cost: float) -> Call:
    return Call(at=clock.now(), job="curation", model="m", units=cost)
