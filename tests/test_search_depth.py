"""Search on request, through the engine: as deep as its caller says, filters before the cut, every retrieval counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.engine import Engine
from memory_os.tooling import Caller
from support.library import passage, real_embedder, settings_of

CALLER = {"user": "local", "profile": "default", "platform": "cli", "session_id": "s0"}
ON_THE_GATEWAY = 60
SMALL_TALK = ("thanks!", "Danke dir", "obrigado", "спасибо", "شكرا", "谢谢", "ありがとう")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """61 facts and 41 entries on one thing, one of each of another category or agent, a person who likes tea, and talk."""
    settings = settings_of(tmp_path_factory.mktemp("home"))
    opened = Engine.open(settings)
    opened.load_models(real_embedder())
    for number in range(ON_THE_GATEWAY):
        add(opened, content=f"The lantern gateway number {number} listens in rack {chr(65 + number % 26)}{number}.")
    add(opened, content="The lantern gateway wears a red sticker.", category="project")
    for number in range(40):
        add(opened, content=f"The tea house on corner {number} sells strong green tea number {number} in the morning.")
    call(opened, "peer_conclude", content="Prefers strong black tea in the morning.")
    settings.fabric_dir.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        entry(settings.fabric_dir, f"scout-note-{number}", f"{number:012x}", "scout", f"The lantern gateway note {number}",
              f"The lantern gateway of house {number} was looked at.")  # fmt: skip
    entry(settings.fabric_dir, "builder-note-z", "ffff00000001", "Builder", "A lamp at the quay", "The gateway has a lamp.")
    opened.fabric.refresh()
    for number in range(70):
        said = passage(f"We talked about holiday number {number} in Rome and the ferry.", f"message:{number}", session_id=f"x{number}")
        opened.index.replace(said.source, [said])
    while opened.index_pending(64):
        pass
    yield opened
    opened.close()


def call(engine: Engine, tool: str, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = engine.call_tool(tool, arguments, CALLER)
    assert "error" not in result, result
    return result


def add(engine: Engine, **arguments: Any) -> None:
    call(engine, "fact_store", action="add", **arguments)


def entry(folder: Path, name: str, number: str, agent: str, summary: str, text: str) -> None:
    head = f'---\nid: "{number}"\nagent: {agent}\ntype: note\nsummary: "{summary}"\n---\n\n'
    (folder / f"{name}.md").write_text(f"{head}{text}\n", "utf-8")


def texts(found: dict[str, Any], name: str = "results") -> list[str]:
    return [one["text"] for one in found.get(name, [])]


def uses(engine: Engine) -> dict[str, int]:
    rows = engine.store.rows("SELECT text, uses FROM passages")
    return {row["text"]: row["uses"] for row in rows}


def test_as_many_facts_as_are_asked_for_are_found(engine: Engine) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        found = call(engine, "fact_store", action="search", query="lantern gateway", limit=100, max_tokens=4000, min_trust=0, **cursor)
        seen += texts(found)
        if "cursor" not in found:
            break
        cursor = {"cursor": found["cursor"]}
    assert found["total"] == len(set(seen)) == ON_THE_GATEWAY + 1


@pytest.mark.parametrize("query", ["lantern gateway", "lantern gateway listens in rack", "der rote Aufkleber auf dem Gateway"])
def test_a_category_is_looked_for_in_itself(engine: Engine, query: str) -> None:
    found = call(engine, "fact_store", action="search", query=query, category="project", min_trust=0)
    assert texts(found) == ["The lantern gateway wears a red sticker."]
    assert call(engine, "fact_store", action="search", query=query, category="tool", min_trust=0)["results"] == []


def test_what_is_known_of_a_person_is_found_beside_forty_other_facts(engine: Engine) -> None:
    assert texts(call(engine, "peer_search", query="which tea in the morning")) == ["Prefers strong black tea in the morning."]


def test_the_entries_of_one_agent_are_looked_for_among_themselves_and_all_of_them_are_found(engine: Engine) -> None:
    found = call(engine, "fabric_recall", query="lantern gateway", agent="builder")
    assert [one["summary"] for one in found["results"]] == ["A lamp at the quay"]
    assert call(engine, "fabric_recall", query="lantern gateway", agent="nobody")["results"] == []
    assert call(engine, "fabric_recall", query="lantern gateway", max_results=50)["total"] == 41


def test_a_turn_looks_at_the_leading_ones_alone(engine: Engine) -> None:
    told = engine.recall({**CALLER, "v": 1, "user_message": "Which rack is the lantern gateway in?", "dry_run": True})
    assert len(told["candidates"]) == 32


def test_words_alone_narrow_as_well(engine: Engine) -> None:
    facts, fabric = engine.facts, engine.fabric
    searchers = facts.searcher, fabric.searcher
    facts.searcher = fabric.searcher = None
    try:
        (fact,) = facts.search("lantern gateway", Caller(), 1, "project")
        found = call(engine, "fabric_recall", query="gateway", agent="builder")
        assert facts.search("lantern gateway", Caller(), 5, "tool") == []
    finally:
        facts.searcher, fabric.searcher = searchers
    assert fact.category == "project"
    assert [one["summary"] for one in found["results"]] == ["A lamp at the quay"]


def test_what_the_tools_on_a_person_show_is_counted(engine: Engine) -> None:
    likes = "Prefers strong black tea in the morning."
    before = uses(engine)
    shown = call(engine, "peer_context", query="the holiday in Rome and the ferry")
    after = uses(engine)
    quoted = texts(shown, "said")
    assert quoted and all(after[one] == before[one] + 1 for one in quoted)
    assert after[likes] == before[likes] + 1, "a line of the card"
    assert sum(after.values()) == sum(before.values()) + len(quoted) + len(shown["lines"])
    call(engine, "peer_profile")
    assert uses(engine)[likes] == after[likes] + 1
    call(engine, "peer_reasoning", query="Which tea in the morning?")
    assert uses(engine)[likes] == after[likes] + 2


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_finds_nothing(engine: Engine, text: str) -> None:
    assert call(engine, "qdrant_search", query=text)["results"] == []


def test_what_is_unrelated_is_left_out_as_by_the_other_tools(engine: Engine) -> None:
    assert call(engine, "qdrant_search", query="What is the boiling point of water on Mars?")["results"] == []
    found = texts(call(engine, "qdrant_search", query="lantern gateway", limit=50, max_tokens=4000))
    assert found and all("gateway" in one for one in found)
