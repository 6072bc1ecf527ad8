"""\"Forget that\" in mid-session: what stood directly before it is deleted, and nothing that is not surely meant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from memory_os.llm import StoreUsage
from memory_os.memory import Layer, Scope, content_hash
from memory_os.text.withdrawal import orders_forgetting, takes_back
from understanding.conftest import MINUTE, NOW, Bench, answer, fact

WHO = {"user": "local", "profile": "default"}
# language: (what is said, the order, one that may mean "never mind" or something else)
SAID = {
    "en": ("My password hint is the name of my first cat.", "Forget that, please.", "Forget it."),
    "de": ("Mein Bruder hat am Freitag bei der Werft gekündigt.", "Vergiss das bitte.", "Vergiss es."),
    "pt": ("O meu irmão pediu demissão do estaleiro na sexta.", "Esqueça isso, por favor.", "Apaga isso."),
    "ru": ("Мой брат уволился с верфи в пятницу.", "Забудь об этом.", "Забудь об этом и напиши письмо."),
    "ar": ("استقال أخي من حوض السفن يوم الجمعة.", "انس ذلك من فضلك", "انس الأمر"),
    "zh": ("我弟弟星期五从造船厂辞职了。", "请忘了这件事吧。", "忘了吧。"),
    "ja": ("弟は金曜日に造船所を辞めました。", "今の話は忘れてください。", "忘れて寝よう。"),
}
KEPT = "The greenhouse has twelve tall windows."


def archived(bench: Bench) -> list[str]:
    return [row["text"] for row in bench.engine.store.rows("SELECT text FROM messages ORDER BY id")]


def order(bench: Bench, text: str, after: str, reply: str = "It is gone.", **more: Any) -> None:
    bench.said(text, reply, at=NOW + 9, before=content_hash(after), **more)


@pytest.mark.parametrize("language", SAID)
def test_a_clear_order_deletes_the_turn_before_it_and_what_was_extracted_of_it(bench: Bench, language: str) -> None:
    said, clear, _ = SAID[language]
    bench.said(KEPT, "They are tall.", at=NOW)
    bench.said(said, f"Noted: {said}", at=NOW + 1)
    bench.answers(answer(facts=[fact(KEPT, "T1"), fact(said, "T2")]))
    assert bench.understand()[0]["kept"] == 2
    order(bench, clear, said, f"I will not remember this: {said}")
    found = bench.engine.searching.passages(said, bench.engine._caller(WHO), [Layer.SESSIONS], 5)
    assert said not in [one.text for one in found], "at once"
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 1
    assert archived(bench) == [KEPT, "They are tall."], "the order and its answer, which says it again, are not kept"
    assert bench.texts() == [KEPT]
    assert said.encode() not in bench.settings.database.read_bytes()
    assert bench.engine.taking_back.carry_out(NOW + 2 * MINUTE) == 0
    assert bench.counted("taken_back")[0] == 1


def test_an_order_is_obeyed_after_the_clock_was_set_back(bench: Bench) -> None:
    said, clear, _ = SAID["en"]
    bench.said(KEPT, "They are tall.", at=NOW + 7200)
    bench.said(said, f"Noted: {said}", at=NOW + 1)
    order(bench, clear, said)
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 1
    assert archived(bench) == [KEPT, "They are tall."]


@pytest.mark.parametrize("order_in", ["de", "ja", "ar"])
def test_an_order_in_one_language_takes_back_what_was_said_in_another(bench: Bench, order_in: str) -> None:
    said = SAID["ru"][0]
    bench.said(said, f"Noted: {said}", at=NOW + 1)
    bench.answers(answer(facts=[fact(said, "T1")]))
    assert bench.understand()[0]["kept"] == 1
    order(bench, SAID[order_in][1], said)
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 1
    assert archived(bench) == [] and bench.texts() == []


@pytest.mark.parametrize("language", SAID)
def test_what_may_mean_something_else_deletes_nothing_and_the_agent_is_told_how(bench: Bench, language: str) -> None:
    said, clear, unclear = SAID[language]
    bench.said(said, at=NOW + 1)
    order(bench, unclear, said)
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 0 and said in archived(bench)
    assert not orders_forgetting(unclear) and orders_forgetting(clear) and takes_back(clear)


def recalled(bench: Bench, text: str, after: str) -> str:
    payload = {**WHO, "user_message": text, "session_id": "s1", "turn_id": "t9", "platform": "cli", "before": content_hash(after)}
    return str(bench.engine.recall(payload)["context"])


def test_the_agent_is_told_what_goes_or_how_it_would(bench: Bench) -> None:
    said = SAID["en"][0]
    bench.said(said, "Noted, your first cat.", at=NOW)
    goes, asks = recalled(bench, "Forget that.", said), recalled(bench, "Forget it.", said)
    assert "leaves memory-os with this turn" in goes and "memory_forget" in asks
    assert said not in goes + asks, "it would stand in the host's history once more"
    handles = [part.strip("()") for part in asks.split() if part.startswith("(s:")]
    result = bench.engine.call_tool("memory_forget", {"ids": handles}, {**WHO, "session_id": "s1"})
    assert result["status"] == "forgotten" and archived(bench) == []
    assert recalled(bench, "Forget that.", said) == ""


def test_such_a_turn_is_on_record_and_no_line_of_it_counts_as_given(bench: Bench) -> None:
    bench.said(SAID["en"][0], "Noted, your first cat.", at=NOW)
    block = recalled(bench, "Forget that.", SAID["en"][0])
    found = bench.engine.explain("t9")
    handles = [part.strip("()") for part in block.split() if part.startswith("(s:")]
    assert len(handles) == 2
    assert found["outcome"] == "injected" and found["reason"] == f"something is taken back: {', '.join(handles)}"
    assert found["tokens"] > 0 and found["lines"] == []


@pytest.mark.parametrize(
    ("before", "session", "user"),
    [
        ("something else that was said before it, and was never captured", "s1", "local"),
        ("", "s1", "local"),
        ("My password hint is the name of my first cat.", "s2", "local"),
        ("My password hint is the name of my first cat.", "s1", "telegram:7"),
    ],
)
def test_where_it_is_not_sure_what_is_meant_nothing_goes(bench: Bench, before: str, session: str, user: str) -> None:
    said = SAID["en"][0]
    bench.said(said, at=NOW)
    order(bench, "Forget that.", before, session=session, user=user)
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 0
    assert said in archived(bench)


def test_when_the_agent_has_deleted_it_already_the_turn_before_that_stays(bench: Bench) -> None:
    bench.said(KEPT, at=NOW)
    bench.said(SAID["en"][0], at=NOW + 1)
    rows = bench.engine.store.rows("SELECT id FROM messages WHERE turn_id = 's1:2'")
    handles = [one.handle for row in rows for one in bench.engine.index.of_source(f"message:{row['id']}")]
    bench.engine.call_tool("memory_forget", {"ids": handles}, {**WHO, "session_id": "s1"})
    order(bench, "Forget that.", SAID["en"][0])
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 0 and KEPT in archived(bench)


def test_an_answer_that_other_turns_share_goes_only_here(bench: Bench) -> None:
    shared = "Done; it is written down in the log of the harbour."
    bench.said(KEPT, shared, at=NOW)
    bench.said(SAID["en"][0], shared, at=NOW + 1)
    bench.answers(answer(facts=[fact(KEPT, "T1")]))
    bench.understand()
    order(bench, "Forget that.", SAID["en"][0])
    bench.engine.taking_back.carry_out(NOW + MINUTE)
    assert archived(bench) == [KEPT, shared] and bench.texts() == [KEPT]


def test_forgetting_a_turn_spares_facts_of_another_that_only_shares_its_answer(bench: Bench) -> None:
    shared = "Done; it is written down in the log of the harbour."
    bench.said(KEPT, shared, at=NOW)
    bench.said("The ladder stands in the shed.", shared, at=NOW + 1, session="s2")
    bench.answers(answer(facts=[fact(KEPT, "T1")]))
    bench.understand()
    bench.engine.call_tool("memory_forget", {"session": "s2", "confirm": True}, {**WHO, "session_id": "s2"})
    assert bench.texts(Scope()) == [KEPT]


def test_every_forgetting_is_counted_so_that_no_answer_from_before_is_given_again(bench: Bench) -> None:
    log = StoreUsage(bench.engine.store)
    assert asyncio.run(log.forgettings()) == 0
    bench.said(KEPT, at=NOW)
    bench.said(SAID["en"][0], at=NOW + 1)
    order(bench, "Forget that.", SAID["en"][0])
    bench.engine.taking_back.carry_out(NOW + MINUTE)
    assert asyncio.run(log.forgettings()) == 1
    bench.engine.call_tool("memory_forget", {"session": "s1", "confirm": True}, {**WHO, "session_id": "s1"})
    assert asyncio.run(log.forgettings()) == 2


def test_work_that_was_delegated_in_the_turn_goes_with_it(bench: Bench) -> None:
    said = SAID["en"][0]
    record = {"v": 1, "type": "delegation", "turn_id": "s1:1", "session_id": "s1", "child_session_id": "c1", "platform": "cli",
              **WHO, "at": NOW - 1, "task": "Find the cat's name", "result": "It is Minka.", "status": "completed"}  # fmt: skip
    bench.engine.capture.take(record)
    bench.said(said, at=NOW)
    order(bench, "Forget that.", said)
    assert bench.engine.taking_back.carry_out(NOW + MINUTE) == 1
    assert archived(bench) == [] and b"Minka" not in bench.settings.database.read_bytes()
