"""A picture of each person: by search alone, by a model in the background, never across scopes, gone with what it rests on."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from memory_os.llm import ModelClient, StoreUsage
from memory_os.memory import Scope
from memory_os.understanding.asking import thought_of
from memory_os.understanding.thinking import Thinking
from support.model_server import Fail, ModelServer, Say

from understanding.conftest import LOCAL, Bench, answer, settings_of

ME = {"user": "local", "profile": "default"}
SENDER = {"user": "telegram:42", "profile": "default", "platform": "telegram"}
SAID = (
    "Prefers tea over coffee in the morning.",
    "Runs every Tuesday along the river.",
    "Writes Rust at work since 2024.",
)
ASKED = "Answer with the JSON object of the lines"


def call(bench: Bench, tool: str, caller: dict[str, Any] = ME, **arguments: Any) -> dict[str, Any]:
    return bench.engine.call_tool(tool, arguments, caller)


def conclude(bench: Bench, *texts: str, caller: dict[str, Any] = ME) -> list[str]:
    return [call(bench, "peer_conclude", caller, content=text)["id"] for text in texts]


def lines(*pairs: tuple[str, list[str]]) -> Say:
    return Say(json.dumps({"lines": [{"text": text, "rests_on": on} for text, on in pairs]}, ensure_ascii=False))


def think(bench: Bench, now: float) -> list[dict[str, Any]]:
    """What worker and service do together with everything that is due."""
    person = bench.layer.person

    async def one(scope: str, question: str) -> dict[str, Any] | None:
        thinking = person.thinking(scope, question, now)
        if thinking is None:
            return None
        client = ModelClient.open(bench.settings, StoreUsage(bench.engine.store))
        try:
            return await thought_of(client, Thinking.from_dict(json.loads(json.dumps(thinking.as_dict()))))
        finally:
            await client.close()

    told = [asyncio.run(one(*due)) for due in person.due(now)]
    return [person.keep(json.loads(json.dumps(one)), now) for one in told if one is not None]


def now_of(bench: Bench) -> float:
    return float(bench.engine.store.value("SELECT max(created_at) FROM facts")) + 60


def test_without_a_model_all_five_tools_work_by_search(tmp_path: Path, model_server: ModelServer) -> None:
    off = Bench(settings_of(tmp_path / "hermes"), model_server.endpoint(tmp_path.name))
    ids = conclude(off, *SAID)
    card = call(off, "peer_profile")
    assert card["by"] == "search" and {one["text"] for one in card["lines"]} == set(SAID) and card["conclusions"] == 3
    assert call(off, "peer_search", query="tea or coffee")["results"][0]["id"] == ids[0]
    found = call(off, "peer_reasoning", query="What does the person drink, tea or coffee?")
    assert found["by"] == "search" and "No language model" in found["note"] and found["conclusions"][0]["id"] == ids[0]
    off.said("I had tea with Ibrahim at the harbour.")
    context = call(off, "peer_context", query="tea harbour")
    assert any("Ibrahim" in one["text"] for one in context["said"])
    assert off.layer.person.due(now_of(off)) == []
    assert call(off, "peer_conclude", delete=ids[0])["status"] == "forgotten"
    assert call(off, "peer_profile")["conclusions"] == 2
    off.engine.close()


def test_conclusions_are_extracted_from_turns(bench: Bench) -> None:
    turn = bench.said("I always drink tea in the morning, never coffee.")
    bench.answers(
        answer(conclusions=[{"text": "Drinks tea in the morning, never coffee.", "kind": "habit", "turn": "T1"}])
    )
    bench.understand()
    (kept,) = bench.layer.person.conclusions(LOCAL, 2e9)
    assert (kept.tags, kept.evidence, kept.category) == (("person", "habit"), turn, "user_pref")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_model_makes_the_card_in_as_many_steps_as_its_depth(
    tmp_path: Path, model_server: ModelServer, depth: int
) -> None:
    endpoint = model_server.endpoint(tmp_path.name)
    bench = Bench(settings_of(tmp_path / "hermes", endpoint.base_url, understanding={"person_depth": depth}), endpoint)
    ids = conclude(bench, *SAID)
    endpoint.script(ASKED, lines(("Drinks tea in the morning and runs every Tuesday.", ["C1", "C2", "C3"]), ("Owns a yacht.", ["C1"]),
                                 ("Is tall.", [])))  # fmt: skip
    assert think(bench, now_of(bench)) == [{"lines": 1}]
    assert len(endpoint.requests) == depth
    told = [one.prompt for one in endpoint.requests]
    assert "Assess" in told[0] and ("Audit" in told[-1] or depth != 2) and ("Reconcile" in told[-1] or depth != 3)
    card = call(bench, "peer_profile")
    assert (card["by"], card["depth"], len(card["lines"])) == ("model", depth, 1)
    assert set(card["lines"][0]["rests_on"]) == set(ids)
    assert bench.layer.person.due(now_of(bench)) == [], "nothing has changed since"
    bench.engine.close()


def test_a_line_dies_with_what_it_rests_on(bench: Bench) -> None:
    ids = conclude(bench, *SAID)
    order = [one.handle for one in bench.layer.person.conclusions(LOCAL, now_of(bench))]
    labels = {handle: f"C{number}" for number, handle in enumerate(order, 1)}
    bench.model.script(ASKED, lines(("Prefers tea.", [labels[ids[0]]]), ("Runs every Tuesday.", [labels[ids[1]]])))
    think(bench, now_of(bench))
    call(bench, "fact_store", action="remove", fact_id=ids[0])
    assert [one["text"] for one in call(bench, "peer_profile")["lines"]] == ["Runs every Tuesday."]
    call(bench, "fact_store", action="undo", fact_id=ids[0])
    assert len(call(bench, "peer_profile")["lines"]) == 2
    call(bench, "memory_forget", id=ids[0])
    assert bench.engine.store.rows("SELECT * FROM person_lines WHERE text LIKE '%tea%'") == []
    assert b"Prefers tea." not in bench.settings.database.read_bytes()


def test_a_card_is_made_anew_when_enough_has_changed_or_time_has_passed(bench: Bench) -> None:
    conclude(bench, *SAID)
    bench.model.script(ASKED, lines(("Prefers tea.", ["C1", "C2", "C3"])))
    think(bench, now_of(bench))
    conclude(bench, "Sings in a choir on Mondays.")
    now = now_of(bench)
    assert bench.layer.person.due(now) == []
    assert bench.layer.person.due(now + 25 * 3600) == [(LOCAL.key, "")]
    conclude(bench, *(f"Likes the book number {number} of the old library." for number in range(5)))
    assert bench.layer.person.due(now) == [(LOCAL.key, "")]


def test_a_question_is_answered_at_once_by_search_and_later_by_the_model(bench: Bench) -> None:
    ids = conclude(bench, *SAID[:2])
    first = call(bench, "peer_reasoning", query="Which drink suits the morning?", depth=2)
    assert first["by"] == "search" and "call again" in first["note"] and first["preparing"]
    assert bench.model.requests == [], "no tool waits for a model"
    bench.model.script(ASKED, lines(("Tea suits the morning, not coffee.", ["C1", "C2"])))
    now = now_of(bench)
    assert bench.layer.person.due(now) == [(LOCAL.key, "which drink suits the morning?")]
    think(bench, now)
    second = call(bench, "peer_reasoning", query="Which drink suits the  morning?", depth=2)
    assert second["by"] == "model" and second["lines"][0]["text"] == "Tea suits the morning, not coffee."
    assert set(second["lines"][0]["rests_on"]) == set(ids)
    conclude(bench, "Drinks hot chocolate in the morning since November.")
    again = call(bench, "peer_reasoning", query="Which drink suits the morning?")
    assert again["by"] == "search" and again["earlier"], "what has changed is thought about anew"


def test_while_a_model_is_away_nothing_is_prepared_and_who_waits_is_told(bench: Bench) -> None:
    conclude(bench, *SAID[:2])
    arrived: list[int] = []
    bench.layer.person.arrived = lambda: arrived.append(1)
    assert call(bench, "peer_reasoning", query="Which drink?")["preparing"]
    bench.layer.person.keep({"scope": LOCAL.key, "question": "which drink?", "failed": "away"}, time.time())
    assert arrived == [1] and "preparing" not in call(bench, "peer_reasoning", query="Which drink?")
    nobody = call(bench, "peer_reasoning", {**ME, "user": "telegram:9"}, query="Which drink?")
    assert nobody["conclusions"] == [] and "preparing" not in nobody, "of nothing no model thinks"


def test_nothing_of_one_person_reaches_another(bench: Bench) -> None:
    conclude(bench, *SAID)
    mine = conclude(bench, "Keeps bees on the roof.", "Plays the cello at night.", "Collects old maps.", caller=SENDER)
    bench.model.script(ASKED, lines(("Works at night and on Tuesday.", ["C1", "C2", "C3"])))
    think(bench, now_of(bench))
    told = [one.prompt for one in bench.model.requests]
    assert all(("bees" in one) != ("coffee" in one) for one in told if "Assess" in one)
    handles = {handle for one in call(bench, "peer_profile", SENDER)["lines"] for handle in one["rests_on"]}
    assert handles == set(mine)
    assert call(bench, "peer_search", query="bees on the roof")["results"] == []
    assert "bees" not in json.dumps(call(bench, "peer_context", query="bees"))
    with pytest.raises(Exception, match="no fact"):
        call(bench, "peer_conclude", delete=mine[0])
    assert bench.layer.person.keep(
        {"scope": LOCAL.key, "question": "", "lines": [{"text": "Keeps bees.", "facts": [_number(bench, mine[0])]}]},
        1.0,
    ) == {"lines": 0}, "a line of another's facts is not kept, whoever delivers it"


def _number(bench: Bench, handle: str) -> int:
    return bench.engine.facts.get(handle, Scope("telegram:42")).id


def test_a_first_turn_has_the_picture_unless_only_tools_are_wanted(tmp_path: Path, model_server: ModelServer) -> None:
    endpoint = model_server.endpoint(tmp_path.name)
    for mode, expected in (("hybrid", True), ("context", True), ("tools", False)):
        home = tmp_path / mode
        bench = Bench(settings_of(home, endpoint.base_url, understanding={"person_mode": mode}), endpoint)
        conclude(bench, *SAID)
        endpoint.script(ASKED, lines(("Prefers tea in the morning.", ["C1", "C2", "C3"])))
        think(bench, now_of(bench))
        payload = {
            "v": 1,
            "turn_id": "t",
            "session_id": "new",
            "user_message": "What is new in Lisbon?",
            "first_turn": True,
            **ME,
        }
        for who, there in ((payload, expected), ({**payload, **SENDER, "turn_id": "u"}, False)):
            context = bench.engine.recall(who)["context"]
            assert ("about the person" in context) == there, (mode, context)
        bench.engine.close()


def test_what_a_model_fails_at_is_tried_again_later(bench: Bench) -> None:
    conclude(bench, *SAID)
    bench.model.script(ASKED, Fail(401))
    now = now_of(bench)
    assert think(bench, now) == [{"lines": 0}]
    assert bench.layer.person.due(now + 60) == [] and bench.layer.person.due(now + 3600) == [(LOCAL.key, "")]
    assert bench.counted("person_failed")[0] == 1
