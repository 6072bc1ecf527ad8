"""What becomes of a fact when a newer one is said: closed, linked, readable as of any day, and all of it undone."""

from __future__ import annotations

from typing import Any

import pytest
from memory_os.memory import Author

from understanding.conftest import LOCAL, MINUTE, NOW, Bench, answer, fact

DAY = 86_400.0
ME = {"user": "local", "profile": "default"}
OLD = fact("The orders database runs on MySQL 8.", subject="orders database", relation="engine")
NEW = fact("The orders database runs on PostgreSQL 16.", subject="Orders Database", relation="Engine")


def told(bench: Bench, item: dict[str, Any], *, at: float, session: str) -> dict[str, Any]:
    """A turn that says what the item says, and its extraction."""
    bench.said(item["statement"], at=at, session=session)
    bench.answers(answer(facts=[item]))
    (done,) = bench.understand(at + 60 * MINUTE)
    return done


def outcomes(bench: Bench) -> list[str]:
    return [row["outcome"] for row in bench.engine.store.rows("SELECT outcome FROM understood_items ORDER BY id")]


def test_a_newer_fact_closes_the_older_and_both_are_read_as_of_their_time(bench: Bench) -> None:
    told(bench, OLD, at=NOW - 10 * DAY, session="s1")
    told(bench, NEW, at=NOW, session="s2")
    facts = bench.engine.facts
    assert outcomes(bench) == ["added", "superseded"]
    assert bench.texts() == [NEW["statement"]]
    assert [one.text for one in facts.as_of(LOCAL, NOW - 5 * DAY)] == [OLD["statement"]]
    assert [one.text for one in facts.as_of(LOCAL, NOW + 1)] == [NEW["statement"]]
    assert facts.as_of(LOCAL, NOW - 11 * DAY) == []
    (current,) = bench.facts()
    assert [one.text for one in facts.history(current)] == [OLD["statement"], NEW["statement"]]
    old = facts.history(current)[0]
    assert (old.valid_to, old.superseded_by) == (NOW, current.id)


def test_the_tool_lists_what_was_held_on_a_day(bench: Bench) -> None:
    told(bench, OLD, at=NOW - 10 * DAY, session="s1")
    told(bench, NEW, at=NOW - 2 * DAY, session="s2")
    listed = bench.engine.facts.tools()["fact_store"]
    from memory_os.tooling import Arguments, Caller

    found = listed(Arguments("fact_store", {"action": "list", "as_of": "2026-11-25"}), Caller(now=NOW))
    assert [(one["text"], one["valid_to"]) for one in found["results"]] == [(OLD["statement"], "2026-11-28")]
    assert listed(Arguments("fact_store", {"action": "list", "as_of": "2026-11-30"}), Caller(now=NOW))["total"] == 1


def test_a_supersession_is_undone(bench: Bench) -> None:
    told(bench, OLD, at=NOW - 10 * DAY, session="s1")
    told(bench, NEW, at=NOW, session="s2")
    (current,) = bench.facts()
    bench.engine.facts.undo(current, NOW + DAY)
    assert [one.text for one in bench.engine.facts.current(LOCAL, NOW + DAY)] == [OLD["statement"]]


def test_what_was_said_earlier_is_history_in_whatever_order_it_is_read(bench: Bench) -> None:
    told(bench, NEW, at=NOW, session="s2")
    told(bench, OLD, at=NOW - 10 * DAY, session="s1")
    assert outcomes(bench) == ["added", "history"]
    assert bench.texts() == [NEW["statement"]]
    assert [one.text for one in bench.engine.facts.as_of(LOCAL, NOW - 5 * DAY)] == [OLD["statement"]]


def test_what_time_can_not_order_stays_on_both_sides_marked(bench: Bench) -> None:
    bench.said(f"{OLD['statement']} {NEW['statement']}")
    bench.answers(answer(facts=[OLD, NEW]))
    bench.understand()
    assert outcomes(bench) == ["added", "contradiction"]
    assert len(bench.texts()) == 2
    (pair,) = bench.engine.facts.conflicts(LOCAL, NOW + DAY)
    assert pair.state == "contradiction"


def test_a_typed_fact_is_not_replaced_by_an_extracted_one_but_settled_by_its_owner(bench: Bench) -> None:
    typed = bench.engine.call_tool("fact_store", {"action": "add", "content": OLD["statement"]},
                                   {**ME, "platform": "cli", "author": "user"})  # fmt: skip
    assert bench.engine.facts.get(typed["id"], LOCAL).author is Author.USER
    bench.said(NEW["statement"])
    bench.answers(answer(facts=[{**NEW, "replaces": "F1"}]))
    bench.understand()
    assert outcomes(bench) == ["contradiction"]
    listed = bench.engine.call_tool("fact_store", {"action": "contradict"}, ME)
    (pair,) = listed["results"]
    newer = next(one["id"] for one in (pair["a"], pair["b"]) if one["text"] == NEW["statement"])
    bench.engine.call_tool(
        "fact_store", {"action": "contradict", "fact_id": newer, "other_id": typed["id"], "verdict": "replaces"}, ME
    )
    assert bench.texts() == [NEW["statement"]]
    assert bench.engine.call_tool("fact_store", {"action": "contradict"}, ME)["results"] == []
    bench.engine.call_tool("fact_store", {"action": "undo", "fact_id": typed["id"]}, ME)
    assert len(bench.texts()) == 2


def test_an_unsure_verdict_is_a_proposal(bench: Bench) -> None:
    told(bench, OLD, at=NOW - 10 * DAY, session="s1")
    told(bench, {**NEW, "confidence": 0.6}, at=NOW, session="s2")
    assert outcomes(bench) == ["added", "proposed"]
    assert len(bench.texts()) == 2
    (pair,) = bench.engine.facts.conflicts(LOCAL, NOW + DAY)
    assert pair.state == "possible"


@pytest.mark.parametrize("label", ["F1", "f1"])
def test_the_model_names_what_is_replaced_and_only_of_what_it_was_shown(bench: Bench, label: str) -> None:
    bench.engine.call_tool("fact_store", {"action": "add", "content": "The office dog is called Bruno."}, ME)
    with bench.engine.store.write() as db:
        db.execute("UPDATE facts SET created_at = ?", (NOW - DAY,))
    told(bench, fact("The office dog is called Rex now.", replaces=label), at=NOW, session="s1")
    assert "F1 2026-" in bench.prompts[0] and "Bruno" in bench.prompts[0]
    assert bench.texts() == ["The office dog is called Rex now."]
    told(bench, fact("The printer stands in room 12.", replaces="F9"), at=NOW + DAY, session="s2")
    assert len(bench.engine.facts.current(LOCAL, NOW + 2 * DAY)) == 2


def test_a_relation_of_several_values_replaces_nothing(bench: Bench) -> None:
    for number, drink in enumerate(("green tea", "black coffee")):
        one = fact(f"The person likes {drink}.", subject="user", relation="likes", several=True)
        told(bench, one, at=NOW + number * DAY, session=f"s{number}")
    assert len(bench.engine.facts.current(LOCAL, NOW + 3 * DAY)) == 2


def test_another_persons_fact_is_never_replaced(bench: Bench) -> None:
    bench.said(OLD["statement"], at=NOW - DAY, user="telegram:1", platform="telegram", session="a")
    bench.answers(answer(facts=[OLD]))
    bench.understand()
    told(bench, NEW, at=NOW, session="b")
    assert outcomes(bench) == ["added", "added"]
