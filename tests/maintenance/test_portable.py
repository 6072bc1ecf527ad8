"""Facts out of one memory and into another: whole, once, and never what was forgotten."""

from __future__ import annotations

import pytest
from memory_os.facts.fact import Statement
from memory_os.maintenance.portable import exported, imported
from memory_os.memory import Author, Scope

from .conftest import DAY, NOW, Home

SCOPE = Scope()
TEXTS = [
    "The staging gateway listens on port 8443.", "Der Server steht in Halle 3.", "O arquivo fica no disco B.",
    "Сервер работает ночью.", "الخادم في القاعة ٣.", "数据库端口是5433。", "会議は水曜日です。",
]  # fmt: skip


def test_a_memory_moves_whole_and_again_changes_nothing(home: Home) -> None:
    one, other = home("one").facts, home("other").facts
    for number, text in enumerate(TEXTS):
        one.state(
            Statement(text, SCOPE, category="project", tags=("ops",), entities=("Hall",), author=Author.USER, valid_to=NOW + 90 * DAY),
            NOW - number * DAY,
        )
    one.state(Statement("Another person's.", Scope("telegram:42")), NOW)
    records = exported(one, SCOPE, NOW)
    assert [record["text"] for record in records] == TEXTS
    assert imported(other, SCOPE, records, NOW) == {"added": 7, "known": 0, "forgotten": 0, "refused": 0}
    assert exported(other, SCOPE, NOW) == records
    assert imported(other, SCOPE, records, NOW + DAY) == {"added": 0, "known": 7, "forgotten": 0, "refused": 0}
    assert exported(other, SCOPE, NOW) == records


def test_what_was_forgotten_here_is_skipped(home: Home) -> None:
    facts = home().facts
    fact = facts.state(Statement(TEXTS[0], SCOPE), NOW).fact
    records = exported(facts, SCOPE, NOW)
    facts.forget(fact.id, NOW)
    assert imported(facts, SCOPE, records, NOW + DAY)["forgotten"] == 1
    assert exported(facts, SCOPE, NOW + DAY) == []


def test_what_was_forgotten_under_another_name_of_the_same_person_is_skipped(home: Home) -> None:
    facts = home().facts
    theirs = Scope("telegram:42")
    fact = facts.state(Statement(TEXTS[0], theirs), NOW).fact
    records = exported(facts, theirs, NOW)
    facts.forget(fact.id, NOW)
    assert imported(facts, Scope(others=("telegram:42",)), records, NOW + DAY)["forgotten"] == 1
    assert imported(facts, SCOPE, records, NOW + DAY)["added"] == 1, "without the alias they are two people"


def test_what_was_stated_anew_since_it_was_forgotten_is_taken(home: Home) -> None:
    here, other = home("one").facts, home("other").facts
    here.forget(here.state(Statement(TEXTS[0], SCOPE), NOW).fact.id, NOW + DAY)
    other.state(Statement(TEXTS[0], SCOPE), NOW + 2 * DAY)
    (record,) = exported(other, SCOPE, NOW + 3 * DAY)
    assert imported(here, SCOPE, [{**record, "created_at": None}], NOW + 3 * DAY)["forgotten"] == 1
    assert imported(here, SCOPE, [{**record, "created_at": NOW + DAY}], NOW + 3 * DAY)["forgotten"] == 1
    assert imported(here, SCOPE, [record], NOW + 3 * DAY)["added"] == 1


@pytest.mark.parametrize(
    "record",
    [None, 7, "text", {}, {"text": 7}, {"text": ""}, {"text": "x", "author": "nobody"}, {"text": "x", "created_at": "soon"},
     {"text": "x", "category": "secret"}, {"text": "x", "tags": 7}],
)  # fmt: skip
def test_what_is_no_fact_is_refused_and_stops_no_other(home: Home, record: object) -> None:
    facts = home().facts
    assert imported(facts, SCOPE, [record, {"text": TEXTS[0]}], NOW) == {"added": 1, "known": 0, "forgotten": 0, "refused": 1}


def test_a_date_of_the_future_is_now(home: Home) -> None:
    facts = home().facts
    imported(facts, SCOPE, [{"text": TEXTS[0], "created_at": NOW + 900 * DAY}], NOW)
    assert exported(facts, SCOPE, NOW)[0]["created_at"] == NOW
