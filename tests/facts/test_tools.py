from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os.errors import BadRequest
from memory_os.facts.tools import ACTIONS
from memory_os.tooling import PAGE_TOKENS

from .conftest import DAY, ME, NOW, OTHER


def test_add_answers_with_what_feedback_needs(call):
    added = call(action="add", content="The build of Alpha runs nightly", tags="ci, nightly", category="project")
    assert added == {
        "status": "added",
        "id": added["id"],
        "text": "The build of Alpha runs nightly",
        "date": "2026-09-21",
        "trust": 0.5,
        "interval": [0.14, 0.86],
        "entities": ["Alpha"],
        "category": "project",
        "tags": ["ci", "nightly"],
    }
    rated = call("fact_feedback", action="helpful", fact_id=added["id"])
    assert rated["trust"] == 0.6
    assert rated["interval"][0] < 0.6 < rated["interval"][1]
    assert call("fact_feedback", action="unhelpful", fact_id=1)["trust"] == 0.5


def test_every_answer_is_json(call):
    one = call(action="add", content="Redis is used in staging", entity="Redis")
    two = call(action="add", content="Redis is not used in staging", entities=["Redis", "staging"])
    answers = [
        call(action="search", query="redis"),
        call(action="probe", entity="Redis"),
        call(action="related", entity="staging"),
        call(action="reason", entities="Redis,staging"),
        call(action="contradict"),
        call(action="contradict", fact_id=one["id"], other_id=two["id"]),
        call(action="update", fact_id=one["id"], trust_delta="0.2"),
        call(action="list"),
        call(action="history", fact_id=one["id"]),
        call(action="remove", fact_id=two["id"]),
        call(action="undo", fact_id=two["id"]),
    ]
    for answer in answers:
        assert json.loads(json.dumps(answer)) == answer


def test_near_contradictions_are_told_at_once(call):
    one = call(action="add", content="Redis is used in staging")
    two = call(action="add", content="Redis is not used in staging")
    assert two["may_contradict"] == [{"id": one["id"], "text": "Redis is used in staging"}]
    listed = call(action="contradict")
    assert [item["state"] for item in listed["results"]] == ["possible"]
    assert call(action="contradict", fact_id=one["id"], other_id=two["id"])["state"] == "contradiction"
    judged = call(action="contradict", fact_id=one["id"], other_id=two["id"], verdict="consistent")
    assert judged["state"] == "contradiction"
    (item,) = call(action="contradict")["results"]
    assert (item["state"], item["judged_consistent"]) == ("contradiction", "2026-09-21")
    shown = call(action="probe", entity="Redis")["results"]
    assert [item["contradicts"] for item in shown] == [[one["id"]], [two["id"]]]


def test_update_makes_a_version_and_carries_the_rest_over(call):
    old = call(action="add", content="Alpha runs in Berlin", entities=["Alpha", "Berlin", "hosting"], tags=["ops"])
    new = call(action="update", fact_id=old["id"], content="Alpha runs in Lisbon", now=NOW + DAY)
    assert new["replaces"] == old["id"]
    assert (new["entities"], new["tags"]) == (["Alpha", "hosting", "Lisbon"], ["ops"])
    versions = call(action="history", fact_id=new["id"], now=NOW + 2 * DAY)["results"]
    assert [(item["text"], item.get("valid_to")) for item in versions] == [
        ("Alpha runs in Berlin", "2026-09-22"),
        ("Alpha runs in Lisbon", None),
    ]
    assert call(action="undo", fact_id=new["id"])["fact"]["text"] == "Alpha runs in Berlin"


def test_update_in_place(call):
    old = call(action="add", content="Alpha runs in Berlin")
    new = call(
        action="update",
        fact_id=old["id"],
        category="project",
        tags=["ops"],
        entities=["Alpha"],
        trust_delta=0.25,
        valid_to="2026-12-31",
    )
    assert new["id"] == old["id"]
    assert (new["category"], new["tags"], new["entities"], new["trust"]) == ("project", ["ops"], ["Alpha"], 0.75)
    assert call(action="list", now=NOW + 101 * DAY)["total"] == 1, "the last day counts"
    assert call(action="list", now=NOW + 103 * DAY)["total"] == 0


@pytest.mark.parametrize("end", ["9999-12-31", "9999-12-31T23:59:59", "9999-12-31T23:59:59-12:00"])
def test_the_last_day_there_is_means_no_end(call, end):
    added = call(action="add", content="Alpha runs in Berlin", valid_to=end)
    assert call(action="list", now=NOW + 100_000 * DAY)["total"] == 1
    call(action="update", fact_id=added["id"], valid_to="2026-12-31")
    call(action="update", fact_id=added["id"], valid_to=end)
    (version,) = call(action="history", fact_id=added["id"])["results"]
    assert "valid_to" not in version


def test_update_is_all_or_nothing(call, facts):
    old = call(action="add", content="Alpha runs in Berlin")
    with pytest.raises(BadRequest, match="4,000"):
        call(action="update", fact_id=old["id"], content="x" * 5000, category="project")
    with pytest.raises(BadRequest, match="category"):
        call(action="update", fact_id=old["id"], content="Alpha runs in Lisbon", category="misc")
    assert [item["text"] for item in call(action="list")["results"]] == ["Alpha runs in Berlin"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "`action` is required"),
        ({"action": "destroy"}, "use one of add, search"),
        ({"action": "add"}, "`content` is required"),
        ({"action": "add", "content": "  "}, "`content` is required"),
        ({"action": "add", "content": "x" * 4001}, "at most 4,000"),
        ({"action": "add", "content": "x" * 30_000}, "at most 4,000"),
        ({"action": "add", "content": "A fact", "category": "misc"}, "user_pref, project"),
        ({"action": "add", "content": "A fact", "valid_to": "soon"}, "write a date"),
        ({"action": "add", "content": ["A", "fact"]}, "must be a string"),
        ({"action": "search"}, "`query` is required"),
        ({"action": "probe"}, "`entity` is required"),
        ({"action": "related"}, "`entity` is required"),
        ({"action": "reason", "entities": ["one"]}, "two or more"),
        ({"action": "update", "fact_id": 1}, "nothing to change"),
        ({"action": "update"}, "`fact_id` is required"),
        ({"action": "remove", "fact_id": "f:aaaaaaaa"}, "There is no fact"),
        ({"action": "remove", "fact_id": {"id": 1}}, "must be a string"),
        ({"action": "contradict", "fact_id": 1, "other_id": 1}, "contradict itself"),
        ({"action": "list", "limit": "many"}, "must be a number"),
    ],
)
def test_a_bad_call_says_what_to_change(call, arguments, message):
    call(action="add", content="There is one fact")
    with pytest.raises(BadRequest, match=message):
        call(**arguments)


def test_limit_and_cursor_walk_through_everything_once(call):
    for number in range(23):
        call(action="add", content=f"Redis note number {number}", now=NOW + number)
    seen: list[str] = []
    cursor = "0"
    pages = 0
    while cursor:
        answer = call(action="list", limit=7, cursor=cursor, now=NOW + 99)
        assert len(answer["results"]) <= 7
        assert answer["total"] == 23
        seen += [item["text"] for item in answer["results"]]
        cursor = answer.get("cursor", "")
        pages += 1
    assert seen == [f"Redis note number {number}" for number in reversed(range(23))]
    assert pages == 4
    assert call(action="list", cursor="500", now=NOW + 99)["results"] == []


def test_a_page_stays_inside_its_token_cap(call):
    for number in range(5):
        call(action="add", content=f"Redis note {number} " + "word " * 300)
    answer = call(action="list")
    assert len(answer["results"]) < 5
    assert answer["cursor"] == str(len(answer["results"]))
    assert len(json.dumps(answer)) / 4 < PAGE_TOKENS * 1.5
    assert len(call(action="list", max_tokens=4000)["results"]) == 5


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "search", "query": "redis"},
        {"action": "probe", "entity": "Redis"},
        {"action": "related", "entity": "Alpha"},
        {"action": "reason", "entities": ["Redis", "staging"]},
        {"action": "list"},
        {"action": "contradict"},
        {"action": "history", "fact_id": 1},
    ],
    ids=lambda arguments: arguments["action"],
)
def test_every_retrieval_path_counts_what_it_showed(call, facts, arguments):
    call(action="add", content="Redis is used in staging", entities=["Redis", "staging"])
    call(action="add", content="Redis is not used in staging", entities=["Redis", "staging"])
    call(action="add", content="Alpha needs it", entities=["Alpha", "Redis"])
    call(**arguments)
    uses = facts.store.value("SELECT uses FROM passages WHERE source = 'fact:1'")
    assert uses == 1


def test_only_what_was_shown_is_counted(call, facts):
    for number in range(5):
        call(action="add", content=f"Redis note number {number}")
    call(action="list", limit=2)
    assert facts.store.value("SELECT sum(uses) FROM passages") == 2


def test_distrusted_facts_are_not_retrieved_but_listed(call):
    fact = call(action="add", content="Redis is used in staging")
    for turn in range(4):
        call("fact_feedback", action="unhelpful", fact_id=fact["id"], turn=str(turn))
    assert call(action="search", query="redis")["results"] == []
    assert call(action="search", query="redis", min_trust=0)["total"] == 1
    assert call(action="list")["total"] == 1


def test_category_narrows(call):
    call(action="add", content="Redis is used in staging", category="tool")
    call(action="add", content="Redis is liked by the team", category="user_pref")
    assert [item["category"] for item in call(action="search", query="redis", category="tool")["results"]] == ["tool"]
    assert call(action="list", category="user_pref")["total"] == 1


def test_evidence_is_the_turn(call, facts):
    call(action="add", content="Redis is used in staging", turn="turn-9")
    assert facts.current(ME, NOW)[0].evidence == "turn-9"


def test_a_redaction_is_told(call):
    answer = call(action="add", content="The deploy token is ghp_" + "a1B2" * 9)
    assert answer["redacted"] == "1 secret(s) were not stored"


def test_no_tool_reaches_another_users_facts(call):
    mine = call(action="add", content="Redis is used in staging", entities=["Redis", "staging"])
    for arguments in (
        {"action": "search", "query": "redis"},
        {"action": "probe", "entity": "Redis"},
        {"action": "related", "entity": "Redis"},
        {"action": "reason", "entities": ["Redis", "staging"]},
        {"action": "list"},
        {"action": "contradict"},
    ):
        assert call(**arguments, scope=OTHER)["results"] == []
    theirs = call(action="add", content="A note", scope=OTHER)
    for arguments in (
        {"action": "update", "content": "taken over"},
        {"action": "remove"},
        {"action": "history"},
        {"action": "undo"},
        {"action": "contradict", "other_id": theirs["id"]},
    ):
        with pytest.raises(BadRequest, match="There is no fact"):
            call(**arguments, fact_id=mine["id"], scope=OTHER)
    with pytest.raises(BadRequest, match="There is no fact"):
        call("fact_feedback", action="unhelpful", fact_id=mine["id"], scope=OTHER)
    assert call(action="list")["results"][0]["trust"] == 0.5


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40))
anything = st.one_of(scalars, st.lists(scalars, max_size=4), st.dictionaries(st.text(max_size=3), scalars, max_size=2))
names = st.sampled_from(
    [
        "content", "query", "entity", "entities", "fact_id", "other_id", "verdict", "category", "tags", "trust_delta",
        "min_trust", "limit", "cursor", "max_tokens", "valid_from", "valid_to",
    ]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
@given(st.sampled_from(ACTIONS), st.dictionaries(names, anything, max_size=6))
def test_whatever_a_model_sends_is_answered_or_explained(call, action, arguments):
    try:
        json.dumps(call(action=action, **arguments))
    except BadRequest as error:
        assert str(error)
