"""Archival: only what is old, unimportant, unasked for and an agent's leaves recall; nothing of a person's; undo."""

from __future__ import annotations

import pytest
from memory_os.engine import Engine
from memory_os.facts.fact import Statement
from memory_os.maintenance.duty import WEEK_S
from memory_os.memory import Author, Layer, Passage, Scope
from memory_os.recall import Query

from .conftest import DAY, NOW, Home

SCOPE = Scope()
OLD = NOW - 800 * DAY


def said(engine: Engine, source: str, text: str, author: Author = Author.AGENT, at: float = OLD, **more: object) -> str:
    layer = more.pop("layer", Layer.SESSIONS)
    one = Passage(layer, source, text, SCOPE.key, author, created_at=at, **more)  # type: ignore[arg-type]
    engine.index.replace(source, [one])
    return one.id


def archived(engine: Engine) -> set[str]:
    return {row["id"] for row in engine.store.rows("SELECT id FROM passages WHERE archived = 1")}


def finds(engine: Engine, words: str) -> list[str]:
    ranked, _ = engine.recaller.ranked(Query.of(words, SCOPE, now=NOW), 10.0)
    return [one.passage.text for one in ranked]


def test_an_agents_old_words_leave_recall_and_come_back(engine: Engine) -> None:
    old = said(engine, "message:1", "The turbine ran at nine bar that afternoon.")
    assert finds(engine, "turbine bar")
    outcome = engine.maintenance.run("decay", NOW)
    assert outcome.result == "1 memories archived"
    assert archived(engine) == {old}
    assert finds(engine, "turbine bar") == []
    assert engine.maintenance.undo(outcome.run, NOW) == "1 memories are back"
    assert finds(engine, "turbine bar")


def test_what_a_clock_that_was_ahead_archived_is_back_once_it_is_right(engine: Engine) -> None:
    """For minutes it was years later, and all an agent ever said was old."""
    young = said(engine, "message:1", "The turbine ran at nine bar that afternoon.", at=NOW - DAY)
    old = said(engine, "message:2", "The compressor ran at four bar.")
    assert engine.maintenance.run("decay", NOW + 800 * DAY).result == "2 memories archived"
    assert "would be archived" in engine.maintenance.run("decay", NOW, dry_run=True).result
    assert archived(engine) == {young, old}
    assert "decay" in engine.maintenance.due(NOW)
    assert engine.maintenance.run("decay", NOW).result == (
        "1 memories archived; 2 are back, which a clock that was ahead had archived"
    )
    assert archived(engine) == {old}
    assert engine.maintenance.run("decay", NOW + DAY).result == "0 memories archived"


@pytest.mark.parametrize(
    "kept",
    [
        {"author": Author.USER},
        {"author": Author.DOCUMENT, "layer": Layer.VECTORS},
        {"importance": 0.8},
        {"at": NOW - 30 * DAY},
        {"layer": Layer.FABRIC},
        {"layer": Layer.WORKSPACE},
    ],
    ids=["the user's", "a document", "important", "young", "fabric has tiers", "workspace is a file"],
)
def test_what_is_exempt(engine: Engine, kept: dict[str, object]) -> None:
    said(engine, "message:1", "The turbine ran at nine bar that afternoon.", **kept)  # type: ignore[arg-type]
    outcome = engine.maintenance.run("decay", NOW)
    assert (archived(engine), outcome.run) == (set(), 0)


def test_what_was_asked_for_lately_stays(engine: Engine) -> None:
    forgotten, asked = said(engine, "message:1", "The lathe is blue."), said(engine, "message:2", "The drill is red.")
    with engine.store.write() as db:
        db.execute("UPDATE passages SET uses = 3, last_used_at = ? WHERE id = ?", (NOW - 5 * DAY, asked))
    engine.maintenance.run("decay", NOW)
    assert archived(engine) == {forgotten}


def test_of_facts_only_what_nobody_confirmed_and_is_no_preference(engine: Engine) -> None:
    facts = engine.facts

    def fact(text: str, **more: object) -> str:
        return facts.state(Statement(text, SCOPE, **more), OLD).fact.passage_id  # type: ignore[arg-type]

    plain = fact("The old runner had 4 GB of memory.")
    fact("Prefers tabs over spaces.", category="user_pref")
    fact("The gateway listens on port 8443.", author=Author.USER)
    confirmed = facts.state(Statement("The archive lies on disk B.", SCOPE), OLD).fact
    facts.feedback(confirmed, True, OLD + DAY)
    engine.maintenance.run("decay", NOW)
    assert archived(engine) == {plain}


def test_undo_does_not_bring_back_what_was_corrected_since(engine: Engine) -> None:
    fact = engine.facts.state(Statement("The old runner had 4 GB of memory.", SCOPE), OLD).fact
    run = engine.maintenance.run("decay", NOW).run
    engine.facts.correct(fact, Statement("The old runner had 8 GB of memory.", SCOPE), NOW + DAY)
    assert engine.maintenance.undo(run, NOW + 2 * DAY) == "0 memories are back"
    assert "4 GB" not in str(finds(engine, "runner memory GB"))


def test_a_dry_run_names_them_and_does_nothing(engine: Engine) -> None:
    said(engine, "message:1", "The turbine ran at nine bar that afternoon.")
    outcome = engine.maintenance.run("decay", NOW, dry_run=True)
    assert outcome.result == "1 memories would be archived"
    assert "turbine" in outcome.details[0]
    assert archived(engine) == set()


@pytest.mark.parametrize(
    "text",
    ["Die Pumpe lief mit neun Bar.", "A bomba funcionou a nove bar.", "Насос работал при девяти барах.",
     "عملت المضخة عند تسعة بار.", "水泵以九巴运行。", "ポンプは九バールで動いた。", "The pump ran at nine bar."],
)  # fmt: skip
def test_in_every_language(engine: Engine, text: str) -> None:
    said(engine, "message:1", text)
    assert finds(engine, text)
    run = engine.maintenance.run("decay", NOW).run
    assert finds(engine, text) == []
    engine.maintenance.undo(run, NOW)
    assert finds(engine, text)


def test_more_than_a_page_of_them(engine: Engine) -> None:
    with engine.store.write():
        for number in range(2100):
            said(engine, f"message:{number}", f"Line {number} of the old log.")
        young = said(engine, "message:9999", "A line of today.", at=NOW)
    engine.maintenance.run("decay", NOW)
    assert len(archived(engine)) == 2100
    assert young not in archived(engine)


def test_the_age_is_a_setting(home: Home) -> None:
    never = home("never", "maintenance: {archive_after_days: 0}")
    said(never, "message:1", "The turbine ran at nine bar that afternoon.")
    assert "off" in never.maintenance.run("decay", NOW).result
    assert archived(never) == set()
    soon = home("soon", "maintenance: {archive_after_days: 10}")
    said(soon, "message:1", "The turbine ran at nine bar that afternoon.", at=NOW - 12 * DAY)
    soon.maintenance.run("decay", NOW)
    assert len(archived(soon)) == 1


def test_forgetting_takes_the_runs_record_of_it_along(engine: Engine) -> None:
    fact = engine.facts.state(Statement("The old runner had 4 GB of memory.", SCOPE), OLD).fact
    engine.maintenance.run("decay", NOW)
    engine.call_tool("memory_forget", {"id": fact.handle}, {"user": "local"})
    rows = engine.store.rows("SELECT * FROM duty_steps WHERE passage_id = ?", (fact.passage_id,))
    assert rows == []


def test_it_comes_weekly(engine: Engine) -> None:
    engine.maintenance.due(NOW - WEEK_S)
    said(engine, "message:1", "The turbine ran at nine bar that afternoon.")
    assert "decay" in engine.housekeeping(NOW)
    assert len(archived(engine)) == 1
