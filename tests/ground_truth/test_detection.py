"""Rediscovery, new, or a legitimate check: on scripted calls in seven languages, and the rules one by one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from memory_os.ground_truth.calls import Call, Places, look_up
from memory_os.ground_truth.detection import Given, Kind, Verdict, judge, with_result
from support.library import real_embedder

FIXTURES = Path(__file__).parents[1] / "fixtures"
PLACES = Places(("/home/u/.hermes/vault", "/home/u/.hermes/fabric", "/home/u/.hermes/memories"))
PORT = Given("f:aaaaaaaa", "The staging gateway listens on port 8443.", at=1000.0)
ASKED = "Which port does the staging gateway use?"


def cases(name: str) -> tuple[dict[str, list[str]], list[list[Any]]]:
    data = json.loads((FIXTURES / name).read_text("utf-8"))
    return data["worlds"], data["cases"]


def verdict_of(world: list[str], user: str, tool: str, arguments: object, cosine: Any = lambda _: None) -> tuple[str, str]:
    call = look_up(tool, arguments, PLACES)
    if call is None:
        return "", ""
    verdict = judge(call, user, [Given(str(at), text) for at, text in enumerate(world)], likeness=cosine)
    return verdict.kind.value, verdict.handle


def score(name: str, *, meaning: bool) -> tuple[float, float, Counter[tuple[str, str]]]:
    """(precision, recall) of `rediscovery`, where the right line counts too; and the table of (wanted, found)."""
    worlds, listed = cases(name)
    table: Counter[tuple[str, str]] = Counter()
    for world, user, tool, arguments, wanted, line in listed:
        likeness = _likeness(worlds[world], tool, arguments) if meaning else (lambda _: None)
        kind, handle = verdict_of(worlds[world], user, tool, arguments, likeness)
        right_line = kind != "rediscovery" or wanted != "rediscovery" or handle == str(line)
        table[wanted, kind if right_line else "rediscovery of another line"] += 1
    found = sum(count for (_, kind), count in table.items() if kind.startswith("rediscovery"))
    wanted_all = sum(count for (wanted, _), count in table.items() if wanted == "rediscovery")
    right = table["rediscovery", "rediscovery"]
    return right / found, right / wanted_all, table


def _likeness(lines: list[str], tool: str, arguments: object) -> Any:
    call = look_up(tool, arguments, PLACES)
    if call is None or not call.question:
        return lambda _: None
    vectors, asked = real_embedder().embed_passages(lines), real_embedder().embed_query(call.question)
    return lambda at: float(asked @ vectors[at])


@pytest.mark.parametrize("meaning", [False, True], ids=["words", "words and meaning"])
@pytest.mark.parametrize("name", ["tool_calls.json", "tool_calls_unseen.json"])
def test_precision_and_recall_of_rediscovery(name: str, meaning: bool, record_property: Any) -> None:
    precision, recall, table = score(name, meaning=meaning)
    record_property("precision", precision)
    record_property("recall", recall)
    told = f"{name}: precision {precision:.3f}, recall {recall:.3f}, {dict(table)}"
    print(told)
    assert precision >= 0.95 and recall >= 0.85, told


def test_the_cases_are_enough_and_in_seven_languages() -> None:
    worlds, listed = cases("tool_calls.json")
    assert len(listed) >= 60 and {world.rstrip("2") for world in worlds} == {"en", "de", "pt", "ru", "ar", "zh", "ja"}


def test_checks_and_acting_tools_are_told_apart() -> None:
    for name in ("tool_calls.json", "tool_calls_unseen.json"):
        _, _, table = score(name, meaning=False)
        assert not [pair for pair in table if pair[0] in ("", "check") and pair[1].startswith("rediscovery")], table


def test_a_line_that_lacks_what_both_ask_for_does_not_answer() -> None:
    call = Call("memory", "session_search", "staging gateway certificate")
    assert judge(call, "Who renews the certificate of the staging gateway?", [PORT]).kind is Kind.NEW


@pytest.mark.parametrize(
    "said", ["Which port does the staging gateway use?", "Search our sessions for the gateway port.", "查一下 staging gateway port。"]
)
def test_an_earlier_question_answers_nothing(said: str) -> None:
    earlier = Given("s:cccccccc", said, layer="sessions")
    call = Call("memory", "session_search", "staging gateway port")
    assert judge(call, ASKED, [earlier]).kind is Kind.NEW
    assert judge(call, ASKED, [earlier, PORT]).handle == PORT.handle


def test_where_the_lines_disagree_looking_is_legitimate() -> None:
    later = Given("s:cccccccc", "The staging gateway listens on port 9443 now.", layer="sessions")
    verdict = judge(Call("memory", "session_search", "staging gateway port"), ASKED, [PORT, later])
    assert verdict.kind is Kind.CHECK and verdict.reason == "the lines disagree"


def test_a_line_that_says_no_more_than_the_question_answers_nothing() -> None:
    echo = Given("b:cccccccc", "Staging gateway, the port", layer="fabric")
    assert judge(Call("memory", "session_search", "staging gateway port"), ASKED, [echo]).kind is Kind.NEW


def test_meaning_finds_what_words_do_not() -> None:
    call = Call("memory", "session_search", "Anschluss des Vorschauservers")
    asked = "Welcher Anschluss gehört dem Vorschauserver?"
    assert judge(call, asked, [PORT]).kind is Kind.NEW
    alike = Call("memory", "session_search", "Staging-Zugang Nummer")
    assert judge(alike, ASKED, [PORT], likeness=lambda _: 0.7).kind is Kind.REDISCOVERY


def test_a_file_changed_since_is_a_check_and_an_older_one_is_not() -> None:
    call = Call("file", "read_file", "staging gateway", ("/notes/staging-gateway.md",))
    assert judge(call, ASKED, [PORT], changed_at=2000.0).kind is Kind.CHECK
    assert judge(call, ASKED, [PORT], changed_at=500.0).kind is Kind.REDISCOVERY


def test_the_verdict_names_the_line_that_answers_best() -> None:
    other = Given("f:bbbbbbbb", "The production gateway listens on port 443.")
    call = Call("memory", "session_search", "staging gateway port")
    assert judge(call, ASKED, [other, PORT]).handle == PORT.handle


def test_a_result_that_only_repeats_a_line_was_a_rediscovery() -> None:
    new = Verdict(Kind.NEW)
    repeated = '{"hits": ["The staging gateway listens on port 8443."]}'
    assert with_result(new, repeated, [PORT]) == Verdict(Kind.REDISCOVERY, PORT.handle, "found what stands in the prompt", 1.0)
    more = repeated + " ".join(f"Another thing about subject{at} and matter{at}." for at in range(40))
    assert with_result(new, more, [PORT]).kind is Kind.NEW
    assert with_result(new, "", [PORT]).kind is Kind.NEW
    check = Verdict(Kind.CHECK)
    assert with_result(check, repeated, [PORT]) is check


def test_nothing_given_or_nothing_asked_is_new() -> None:
    assert judge(Call("memory", "session_search", "staging gateway port"), ASKED, []).kind is Kind.NEW
    assert judge(Call("memory", "session_search", ""), ASKED, [PORT]).kind is Kind.NEW
