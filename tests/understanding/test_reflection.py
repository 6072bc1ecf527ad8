"""What several memories show together: derived, citing its parents, gone with them, never looked at again."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from memory_os.facts import Fact, Statement
from memory_os.llm import ModelClient, StoreUsage
from memory_os.memory import Author, Scope
from memory_os.understanding.asking import reflection_of
from memory_os.understanding.thinking import Memories
from support.model_server import Fail, Say

from understanding.conftest import LOCAL, MINUTE, NOW, Bench

TEXTS = [f"The nightly build of Monday {number} failed at the cache of rack 4." for number in range(1, 7)]
LATER = NOW + 60 * MINUTE


def remember(bench: Bench, *texts: str, scope: Scope = LOCAL, now: float = NOW) -> list[Fact]:
    return [bench.engine.facts.state(Statement(text, scope), now + number).fact for number, text in enumerate(texts)]


def seen(*products: dict[str, Any]) -> Say:
    return Say(json.dumps({"products": list(products)}))


def product(text: str, *on: str, kind: str = "pattern", confidence: float = 0.9) -> dict[str, Any]:
    return {"kind": kind, "text": text, "rests_on": list(on), "confidence": confidence}


def reflect(bench: Bench, reply: Any, now: float = LATER) -> list[dict[str, Any]]:
    """Everything that is due, as worker and service do it together."""
    bench.model.script("JSON object of products", reply)
    reflection = bench.layer.reflection

    async def one(scope: str) -> dict[str, Any]:
        memories = reflection.memories(scope, now)
        assert memories is not None
        client = ModelClient.open(bench.settings, StoreUsage(bench.engine.store))
        try:
            return await reflection_of(client, Memories.from_dict(json.loads(json.dumps(memories.as_dict()))))
        finally:
            await client.close()

    return [reflection.keep(json.loads(json.dumps(asyncio.run(one(scope)))), now) for scope in reflection.due(now)]


PATTERN = product("The nightly build fails every Monday at the cache of rack 4.", "M1", "M2", "M3")


def test_a_product_is_derived_cites_its_parents_and_is_never_looked_at(bench: Bench) -> None:
    facts = remember(bench, *TEXTS)
    assert reflect(bench, seen(PATTERN)) == [{"kept": 1}]
    (made,) = [one for one in bench.facts() if one.author is Author.DERIVED]
    assert (made.text, made.tags) == (PATTERN["text"], ("derived", "pattern"))
    assert {one.id for one in facts[:3]} == {
        row["parent_id"]
        for row in bench.engine.store.rows("SELECT * FROM reflection_parents WHERE fact_id = ?", (made.id,))
    }
    assert bench.layer.reflection.due(LATER + 9 * MINUTE) == [], "all were looked at, and what was made is not"
    remember(bench, *(f"The harbour crane {number} is yellow." for number in range(6)), now=LATER)
    memories = bench.layer.reflection.memories(LOCAL.key, LATER + 60 * MINUTE)
    assert memories is not None and all("crane" in text for _, _, text in memories.facts)


def test_it_goes_when_a_parent_no_longer_holds_and_with_one_that_is_forgotten(bench: Bench) -> None:
    facts = remember(bench, *TEXTS)
    again = product("The cache of rack 4 failed the nightly build again and again.", "M4", "M5")
    reflect(bench, seen(PATTERN, again))
    bench.engine.facts.retire(facts[0], LATER + 1)
    assert bench.layer.reflection.retire(LATER + 2) == 1
    derived = [one.text for one in bench.facts() if one.author is Author.DERIVED]
    assert derived == [again["text"]]
    bench.engine.call_tool("memory_forget", {"id": facts[3].handle}, {"user": "local", "profile": "default"})
    assert [one for one in bench.facts() if one.author is Author.DERIVED] == []
    assert again["text"].encode() not in bench.settings.database.read_bytes()


def test_contradictions_are_marked_or_proposed_and_the_unsure_is_dropped(bench: Bench) -> None:
    remember(bench, *TEXTS)
    reflect(bench, seen(
        product("Monday 1 and Monday 2 contradict at rack 4.", "M1", "M2", kind="contradiction"),
        product("Monday 5 and Monday 6 contradict at rack 4.", "M5", "M6", kind="contradiction", confidence=0.4),
        product("The build fails at rack 4.", "M1", "M2", confidence=0.4),
        product("The build of rack 4 fails.", "M1"), product("Bananas are yellow in summer.", "M1", "M2"),
    ))  # fmt: skip
    marked = bench.engine.store.rows("SELECT * FROM fact_conflicts WHERE marked_at IS NOT NULL")
    assert len(marked) == 1 and not [one for one in bench.facts() if one.author is Author.DERIVED]


def test_an_answer_that_can_not_be_read_is_an_abstention(bench: Bench) -> None:
    remember(bench, *TEXTS)
    assert reflect(bench, Say("I think that all of this is very interesting.")) == [{"kept": 0}]
    assert bench.layer.reflection.due(LATER + 90 * MINUTE) == []


def test_a_provider_that_is_away_is_asked_again(bench: Bench) -> None:
    remember(bench, *TEXTS)
    assert reflect(bench, Fail(401)) == [{"kept": 0}]
    assert bench.layer.reflection.due(LATER + MINUTE) == []
    # When a provider may be asked again is told by the clock of the wall, which is the only one a client has.
    assert bench.layer.reflection.due(max(LATER, time.time()) + 40 * MINUTE) == [LOCAL.key]
    assert bench.counted("reflection_failed")[0] == 1


@pytest.mark.parametrize("spent", [0.0, 25.0])
def test_only_in_silence_and_within_the_hours_units(bench: Bench, spent: float) -> None:
    remember(bench, *TEXTS)
    usage = StoreUsage(bench.engine.store)
    from memory_os.llm import Call

    usage.record_now(Call(at=LATER - MINUTE, job="reflection", model="m", units=spent))
    assert bench.layer.reflection.due(LATER) == ([] if spent else [LOCAL.key])
    bench.said("Hello, is anybody there at the harbour?", at=LATER - 5 * MINUTE)
    assert bench.layer.reflection.due(LATER) == []


def test_one_persons_memories_are_looked_at_alone(bench: Bench) -> None:
    other = Scope("telegram:42")
    remember(bench, *TEXTS)
    remember(bench, *(f"The lighthouse keeper {number} paints boats." for number in range(6)), scope=other)
    theirs = bench.layer.reflection.memories(other.key, LATER)
    assert theirs is not None and all("lighthouse" in text for _, _, text in theirs.facts)
    stolen = {
        "kind": "pattern",
        "text": "Keepers paint boats.",
        "confidence": 1,
        "facts": [one[0] for one in theirs.facts[:2]],
    }
    assert bench.layer.reflection.keep({"scope": LOCAL.key, "seen": [], "products": [stolen]}, LATER) == {"kept": 0}
