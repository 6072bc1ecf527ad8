"""The heartbeat with the real model: green, degraded, failed, each for its reason; nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.engine import Engine
from memory_os.errors import StoreError
from memory_os.facts.fact import Statement
from memory_os.memory import Scope
from support.library import real_embedder, settings_of

from .conftest import DAY, NOW

TABLES = ("facts", "fact_entities", "fact_changes", "passages", "embeddings", "tombstones", "deleted_points", "recalls",
          "recall_lines", "messages", "tool_calls", "counters")  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """With its models loaded, as a service has it."""
    opened = Engine.open(settings_of(tmp_path / "hermes"))
    embedder = real_embedder()
    opened.indexing.open(opened.settings.vectors_dir, embedder)
    opened.recaller.arms.embed = embedder.embed_query
    opened.recaller.arms.dense = opened.indexing.dense
    yield opened
    opened.close()


def held(engine: Engine) -> dict[str, int]:
    return {table: engine.store.value(f"SELECT count(*) FROM {table}") for table in TABLES}


def test_a_flight_writes_embeds_searches_recalls_and_leaves_nothing(engine: Engine) -> None:
    engine.facts.state(Statement("The staging gateway listens on port 8443.", Scope()), NOW)
    engine.indexing.work(8)
    before = held(engine)
    outcome = engine.maintenance.run("canary", NOW)
    assert (outcome.state, outcome.error) == ("ok", "")
    for lap in ("written", "embedded", "searched", "recalled", "removed", "nothing left"):
        assert lap in outcome.result
    assert held(engine) == before
    assert engine.indexing.collection is not None
    assert engine.indexing.collection.count() == 1
    (flight,) = engine.maintenance.canary.history()
    assert (flight["state"], flight["at"]) == ("ok", NOW)


def test_its_passage_is_embedded_before_all_that_waits(engine: Engine) -> None:
    for number in range(300):
        engine.facts.state(Statement(f"The rack number {number} stands in hall {number * 3}.", Scope()), NOW)
    outcome = engine.maintenance.run("canary", NOW)
    assert outcome.state == "ok"
    assert engine.index.embeddings.pending_count() >= 292


def test_load_does_not_fake_a_failure(engine: Engine) -> None:
    """Others write and embed without pause; the canary waits for its turn and is green."""
    stop = threading.Event()

    def busy() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            engine.facts.state(Statement(f"The rack number {number} stands in hall {number * 3}.", Scope()), NOW)
            engine.indexing.work(2)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        outcomes = [engine.maintenance.run("canary", NOW + number) for number in range(3)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [outcome.state for outcome in outcomes] == ["ok"] * 3, outcomes


def test_without_a_model_it_is_degraded(tmp_path: Path) -> None:
    engine = Engine.open(settings_of(tmp_path / "hermes"))
    outcome = engine.maintenance.run("canary", NOW)
    assert outcome.state == "degraded"
    assert "model is not loaded" in outcome.result
    assert engine.store.value("SELECT count(*) FROM facts") == 0
    engine.close()


def test_a_collection_that_loses_points_is_degraded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.indexing, "dense", lambda *_: [])
    outcome = engine.maintenance.run("canary", NOW)
    assert (outcome.state, "does not find it" in outcome.result) == ("degraded", True)


def _no_write(engine: Engine, patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("The disk is full.")

    patch.setattr(engine.facts, "state", refuse)


def _no_words(engine: Engine, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.index, "lexical", lambda *_, **__: [])


def _no_recall(engine: Engine, patch: pytest.MonkeyPatch) -> None:
    ranked = engine.recaller.ranked
    patch.setattr(engine.recaller, "ranked", lambda *arguments: ([], ranked(*arguments)[1]))


def _no_removal(engine: Engine, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.index, "remove", lambda source: 0)


@pytest.mark.parametrize(
    ("break_it", "said"),
    [(_no_write, "disk is full"), (_no_words, "not found by its words"), (_no_recall, "not recalled"), (_no_removal, "still")],
)
def test_each_step_can_fail_and_is_named(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[Engine, pytest.MonkeyPatch], None], said: str
) -> None:
    break_it(engine, monkeypatch)
    outcome = engine.maintenance.run("canary", NOW)
    assert (outcome.state, said in outcome.error) == ("failed", True), outcome
    assert engine.maintenance.canary.history()[0]["state"] == "failed"
    monkeypatch.undo()
    assert engine.maintenance.run("canary", NOW + DAY).state == "ok"


def test_what_a_killed_flight_left_goes_with_the_next(engine: Engine) -> None:
    scope = Scope("canary:0123456789ab", "canary")
    engine.facts.state(Statement("The memory check keeps the word x in the drawer y.", scope), NOW)
    engine.maintenance.run("canary", NOW)
    assert engine.store.value("SELECT count(*) FROM facts") == 0
    assert engine.store.value("SELECT count(*) FROM tombstones") == 0


def test_nobody_else_sees_it_fly(engine: Engine) -> None:
    """The scratch scope is nobody's: its words come up for no reader, not even in between."""
    seen: list[int] = []
    forget = engine.facts.forget

    def look(*arguments: object) -> object:
        row = engine.store.row("SELECT id, scope FROM passages WHERE scope LIKE 'canary/%'")
        assert row is not None
        seen.append(len(engine.index.visible([row["id"]], Scope().readable, now=NOW)))
        return forget(*arguments)  # type: ignore[arg-type]

    engine.facts.forget = look  # type: ignore[method-assign,assignment]
    engine.maintenance.run("canary", NOW)
    assert seen == [0]
