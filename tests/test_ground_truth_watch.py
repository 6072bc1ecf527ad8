"""Searching for what stands in the prompt is noticed; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.ground_truth_watch import RETRIEVAL_TOOLS, Watch
from support.library import Library

SCOPE = "default/local"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path, dense=False)
    opened.remember("The staging gateway listens on port 8443.", "note:port")
    opened.remember("项目周会改到每周三下午三点举行。", "note:meeting")
    assert opened.ask("Which port does the staging gateway use?", turn="t1").lines
    assert opened.ask("项目周会是什么时候？", turn="t2").lines
    opened.recall.ledger.settle()
    yield opened
    opened.close()


@pytest.fixture
def watch(library: Library) -> Watch:
    return Watch(library.store)


def call(tool: str = "session_search", turn: str = "t1", event: str = "post_tool", **arguments: Any) -> dict[str, Any]:
    return {"event": event, "tool_name": tool, "turn_id": turn, "session_id": "s", "arguments": arguments}


@pytest.mark.parametrize("tool", sorted(RETRIEVAL_TOOLS))
def test_asking_again_for_what_was_given_is_a_rediscovery(library: Library, watch: Watch, tool: str) -> None:
    assert watch.observe(call(tool, query="staging gateway port"), SCOPE) == "rediscovery"
    row = library.store.row("SELECT * FROM tool_calls")
    assert row is not None
    assert (row["tool"], row["turn_id"], row["scope"], row["verdict"]) == (tool, "t1", SCOPE, "rediscovery")
    assert library.store.value("SELECT value FROM counters WHERE name = 'rediscoveries'") == 1


def test_in_chinese_too(watch: Watch) -> None:
    assert watch.observe(call(turn="t2", query="项目周会"), SCOPE) == "rediscovery"


@pytest.mark.parametrize(
    "payload",
    [
        call(query="who is allergic to peanuts"),
        call(query="gateway certificate expiry date"),
        call(turn="t2", query="staging gateway port"),
        call(turn="", query="staging gateway port"),
        call(turn="never", query="staging gateway port"),
        call(query=""),
        call(),
        call(query="the of and"),
    ],
)
def test_another_question_or_turn_is_new(library: Library, watch: Watch, payload: dict[str, Any]) -> None:
    assert watch.observe(payload, SCOPE) == "new"
    assert library.store.value("SELECT count(*) FROM counters") == 0


@pytest.mark.parametrize(
    "payload",
    [
        call("terminal", query="staging gateway port"),
        call(event="pre_tool", query="staging gateway port"),
        call("fact_store", action="add", content="The staging gateway listens on port 8443."),
        {"event": "session_start"},
        {},
        {"event": "post_tool", "tool_name": "session_search", "arguments": "staging gateway port"},
        {"event": "post_tool", "tool_name": ["session_search"], "arguments": 5},
    ],
)
def test_what_retrieves_nothing_is_not_recorded(library: Library, watch: Watch, payload: dict[str, Any]) -> None:
    assert watch.observe(payload, SCOPE) == ""
    assert library.store.value("SELECT count(*) FROM tool_calls") == 0


def test_looking_up_facts_is_watched(watch: Watch) -> None:
    assert watch.observe(call("fact_store", action="probe", entity="staging gateway"), SCOPE) == "rediscovery"


def test_arguments_of_any_type_are_read(watch: Watch) -> None:
    for value in (8443, ["staging", "gateway"], {"text": "staging gateway"}, True, "x" * 100_000):
        assert watch.observe(call(query=value), SCOPE) in ("new", "rediscovery")


def test_a_long_question_is_stored_cut(library: Library, watch: Watch) -> None:
    watch.observe(call(query="word " * 1000), SCOPE)
    assert len(library.store.value("SELECT query FROM tool_calls")) == 300


@pytest.mark.parametrize("before", ["", "x " * 145])
def test_a_secret_in_a_question_is_not_stored(library: Library, watch: Watch, before: str) -> None:
    watch.observe(call(query=f"{before}sk-proj-9aB8cD7eF6gH5iJ4kL3m"), SCOPE)
    assert "9aB8" not in library.store.value("SELECT query FROM tool_calls")


def test_only_what_was_shown_counts(library: Library, watch: Watch) -> None:
    with library.store.write() as db:
        db.execute("UPDATE recall_lines SET shown = 0")
    assert watch.observe(call(query="staging gateway port"), SCOPE) == "new"
