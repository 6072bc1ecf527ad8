"""Facts stated twice: only ways of writing merge, the rest goes on a list; merges are taken back, and stay so."""

from __future__ import annotations

import numpy as np
import pytest
from memory_os.engine import Engine
from memory_os.errors import BadRequest
from memory_os.facts.fact import Fact, Statement
from memory_os.memory import Author, Scope

from .conftest import DAY, NOW

SCOPE = Scope()


def fact(engine: Engine, text: str, at: float = NOW - 40 * DAY, scope: Scope = SCOPE, **more: object) -> Fact:
    """A row as another version, or an import, may have left it: stated without the comparison at the door."""
    with engine.store.write() as db:
        return engine.facts._insert(db, Statement(text, scope, **more), at)  # type: ignore[arg-type]


def live(engine: Engine) -> list[str]:
    rows = engine.store.rows("SELECT text FROM facts WHERE superseded_by IS NULL AND removed_at IS NULL ORDER BY id")
    return [row["text"] for row in rows]


def alike(engine: Engine, *facts: Fact) -> None:
    """Embeddings as a model gives them to texts of one meaning."""
    vector = np.zeros(384, np.float32)
    vector[0] = 1
    for number, one in enumerate(facts):
        row = engine.store.row("SELECT embed_hash FROM passages WHERE id = ?", (one.passage_id,))
        assert row is not None
        near = vector.copy()
        near[1 + number] = 0.2
        engine.index.embeddings.keep({row["embed_hash"]: near / np.linalg.norm(near)})


def test_two_ways_of_writing_one_fact_merge_and_come_apart_again(engine: Engine) -> None:
    first = fact(engine, "The staging gateway listens on port 8443.")
    second = fact(engine, "Staging gateway listens on the port 8443", at=NOW - 10 * DAY)
    outcome = engine.maintenance.run("duplicates", NOW)
    assert outcome.result == "1 merged, 0 for review"
    assert live(engine) == [first.text]
    assert engine.facts.posterior(engine.facts.get(first.id, SCOPE), NOW).mean > 0.5
    assert engine.maintenance.undo(outcome.run, NOW) == "1 merges taken back"
    assert live(engine) == [first.text, second.text]
    assert engine.facts.get(first.id, SCOPE).counts.support == pytest.approx(0)


def test_a_merge_that_was_taken_back_is_not_made_again(engine: Engine) -> None:
    fact(engine, "The staging gateway listens on port 8443.")
    fact(engine, "Staging gateway listens on the port 8443")
    engine.maintenance.undo(engine.maintenance.run("duplicates", NOW).run, NOW)
    assert engine.maintenance.run("duplicates", NOW + 31 * DAY).result.startswith("0 merged")
    assert len(live(engine)) == 2


def test_a_restatement_taken_back_at_the_facts_stays_apart_too(engine: Engine) -> None:
    kept = engine.facts.state(Statement("The archive lies on disk B.", SCOPE), NOW - 9 * DAY).fact
    engine.facts.state(Statement("the archive lies on disk B", SCOPE), NOW - 8 * DAY)
    engine.facts.undo(kept, NOW - 7 * DAY)
    assert len(live(engine)) == 2
    engine.maintenance.run("duplicates", NOW)
    assert len(live(engine)) == 2


def test_of_many_one_stays_and_it_is_the_persons(engine: Engine) -> None:
    for number, text in enumerate(["The vault lies in Lisbon.", "the vault lies in Lisbon", "Vault lies in Lisbon"]):
        fact(engine, text, at=NOW - (40 - number) * DAY)
    said = fact(engine, "The vault, lies in Lisbon!", author=Author.USER, at=NOW - DAY)
    engine.maintenance.run("duplicates", NOW)
    assert live(engine) == [said.text]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"scope": Scope("telegram:42")}),
        ({}, {"valid_to": NOW + 50 * DAY}),
        ({"entities": ("Maria",)}, {"entities": ("Joana",)}),
    ],
    ids=["another person's", "for another time", "about somebody else"],
)
def test_the_same_words_may_be_two_facts(engine: Engine, one: dict[str, object], other: dict[str, object]) -> None:
    fact(engine, "Prefers tea in the morning.", **one)  # type: ignore[arg-type]
    fact(engine, "prefers tea in the morning", **other)  # type: ignore[arg-type]
    engine.maintenance.run("duplicates", NOW)
    assert len(live(engine)) == 2


def test_a_recorded_contradiction_never_merges(engine: Engine) -> None:
    one = fact(engine, "The staging gateway listens on port 8443.")
    other = fact(engine, "Staging gateway listens on the port 8443")
    engine.facts.mark(one, other, NOW)
    engine.facts.mark(one, other, NOW + 1, consistent=True)
    engine.maintenance.run("duplicates", NOW + 2)
    assert len(live(engine)) == 2


def test_a_dry_run_names_them_and_does_nothing(engine: Engine) -> None:
    fact(engine, "The staging gateway listens on port 8443.")
    fact(engine, "Staging gateway listens on the port 8443")
    outcome = engine.maintenance.run("duplicates", NOW, dry_run=True)
    assert outcome.result == "1 would merge, 0 would go to the review list"
    assert "8443" in outcome.details[0]
    assert len(live(engine)) == 2


# -- the review list -----------------------------------------------------------------------------------------------


def test_what_means_the_same_in_other_words_waits_for_a_person(engine: Engine) -> None:
    one, other = fact(engine, "Maria prefers tea in the morning."), fact(engine, "In the mornings Maria likes to drink tea.")
    alike(engine, one, other)
    assert engine.maintenance.run("duplicates", NOW).result == "0 merged, 1 for review"
    (pair,) = engine.maintenance.duplicates.reviews(NOW)
    assert {item["text"] for item in pair["facts"]} == {one.text, other.text}  # type: ignore[attr-defined]
    assert engine.status()["maintenance"]["reviews"] == 1
    said = engine.maintenance.duplicates.decide(int(str(pair["id"])), merge=True, now=NOW)
    assert "merged" in said
    assert live(engine) == [one.text]
    engine.facts.undo(engine.facts.get(other.id, SCOPE), NOW)
    assert len(live(engine)) == 2


def test_two_facts_for_good(engine: Engine) -> None:
    one, other = fact(engine, "Maria prefers tea in the morning."), fact(engine, "In the mornings Maria likes to drink tea.")
    alike(engine, one, other)
    engine.maintenance.run("duplicates", NOW)
    (pair,) = engine.maintenance.duplicates.reviews(NOW)
    engine.maintenance.duplicates.decide(int(str(pair["id"])), merge=False, now=NOW)
    engine.maintenance.run("duplicates", NOW + 31 * DAY)
    assert engine.maintenance.duplicates.reviews(NOW + 31 * DAY) == []
    with pytest.raises(BadRequest, match="no open pair"):
        engine.maintenance.duplicates.decide(int(str(pair["id"])), merge=True, now=NOW)


def test_numbers_and_other_peoples_facts_are_no_question(engine: Engine) -> None:
    one, other = fact(engine, "The gateway listens on port 8443."), fact(engine, "The gateway listens on port 8080.")
    third = fact(engine, "At the gateway it is port 8443.", scope=Scope("telegram:42"))
    alike(engine, one, other, third)
    assert engine.maintenance.run("duplicates", NOW).result == "0 merged, 0 for review"


def test_forgetting_a_fact_takes_its_pairs_and_merges_along(engine: Engine) -> None:
    one, other = fact(engine, "Maria prefers tea in the morning."), fact(engine, "In the mornings Maria likes to drink tea.")
    fact(engine, "maria prefers tea in the morning")
    alike(engine, one, other)
    engine.maintenance.run("duplicates", NOW)
    assert engine.store.value("SELECT count(*) FROM reviews") == 1
    assert engine.store.value("SELECT count(*) FROM duty_steps") == 1
    engine.call_tool("memory_forget", {"id": one.handle}, {"user": "local"})
    assert engine.store.value("SELECT count(*) FROM reviews") == 0
    assert engine.store.value("SELECT count(*) FROM duty_steps") == 0
