from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from memory_os.errors import BadRequest
from memory_os.facts import Statement
from memory_os.facts.trust import RESTATEMENT

from .conftest import ME, NOW, OTHER, remember


def test_one_statement_from_many_threads_becomes_one_fact(facts):
    def state(turn: int) -> int:
        return remember(facts, "Redis is used in staging", scope=ME, evidence=f"turn-{turn}", now=NOW).id

    with ThreadPoolExecutor(16) as pool:
        ids = set(pool.map(state, range(48)))
    assert len(ids) == 1
    (fact,) = facts.current(ME, NOW)
    # The threads share one moment and one origin: it is one occasion told 48 times.
    assert fact.counts.support == 0


def test_no_restatement_is_lost(facts):
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: remember(facts, "Redis is used", scope=ME, evidence=str(n), origin=str(n), now=NOW), range(40)))
    (fact,) = facts.current(ME, NOW)
    assert fact.counts.support == pytest.approx(39 * RESTATEMENT)
    assert facts.index.count() == 1


def test_many_users_at_once_stay_apart_and_nothing_is_lost(facts):
    scopes = (ME, OTHER)

    def work(number: int) -> None:
        scope = scopes[number % 2]
        fact = remember(facts, f"Queue {number} is drained at {number}:00", scope=scope, entities=[f"Queue {number}"], now=NOW)
        facts.feedback(fact, True, NOW, turn=str(number))
        facts.observe_use(fact.id, True, 0.2, NOW)
        assert facts.on_entity(f"Queue {number}", scope, NOW)[0].id == fact.id
        new = facts.correct(fact, Statement(f"Queue {number} is drained at noon", scope), NOW + 1).fact
        facts.undo(new, NOW + 2)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(60)))
    for position, scope in enumerate(scopes):
        held = facts.current(scope, NOW + 3)
        assert len(held) == 30
        assert all(int(fact.text.split()[1]) % 2 == position for fact in held)
        assert all(fact.counts.support == pytest.approx(1.2) for fact in held)


def test_one_of_two_concurrent_corrections_wins_and_the_other_is_told(facts):
    fact = remember(facts, "The port is 1", scope=ME, now=NOW)

    def correct(port: int) -> str:
        try:
            facts.correct(fact, Statement(f"The port is {port}", ME), NOW + 1)
        except BadRequest:
            return "told"
        return "corrected"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(correct, range(2, 10)))
    assert sorted(outcomes) == ["corrected"] + ["told"] * 7
    assert len(facts.current(ME, NOW + 2)) == 1
