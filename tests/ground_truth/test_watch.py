"""The watch over the real store and recall: what is judged, held, recorded, missed; and what it never does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.facts.schema import facts as facts_migrations
from memory_os.ground_truth.schema import ground_truth as migrations
from memory_os.ground_truth.watch import Watch
from memory_os.memory import Layer, Scope
from memory_os.recall import Query, Visible
from support.library import LOCAL, NOW, Library, in_time

ASKED = "Which port does the staging gateway use?"


class Desk:
    """A library with two notes, and the watch over it."""

    def __init__(self, library: Library, mode: str) -> None:
        self.library = library
        self.watch = Watch(library.store, library.index, library.settings)
        self.watch.mode = mode

    def recall(self, text: str, turn: str, **visible: Any) -> None:
        query = Query.of(text, LOCAL, now=NOW, turn_id=turn, session_id="s", visible=Visible(**visible))
        recalled = in_time(lambda: self.library.recall.for_turn(query), lambda recalled: recalled.reason)
        self.library.recall.ledger.wait_written()
        self.watch.began(query, recalled)

    def check(self, tool: str = "session_search", turn: str = "t1", **arguments: Any) -> dict[str, Any]:
        return self.watch.check(payload(tool, turn, arguments), LOCAL.key)

    def finish(self, tool: str = "session_search", turn: str = "t1", result: Any = "", call_id: str = "", **arguments: Any) -> str:
        told = {**payload(tool, turn, arguments), "result": result, "tool_call_id": call_id, "milliseconds": 7.0}
        return self.watch.observe({**told, "event": "post_tool"}, LOCAL.key)

    def rows(self) -> list[tuple[str, str, str]]:
        self.watch.wait_written()
        found = self.library.store.rows("SELECT verdict, action, handle FROM tool_calls ORDER BY id")
        return [(row["verdict"], row["action"], row["handle"]) for row in found]


def payload(tool: str, turn: str, arguments: object) -> dict[str, Any]:
    return {"tool": tool, "turn_id": turn, "session_id": "s", "arguments": arguments}


@pytest.fixture(params=["hold"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    library = Library.open(tmp_path, dense=False)
    library.store.migrate(facts_migrations, migrations)
    library.remember("The staging gateway listens on port 8443.", "note:port")
    library.remember("Weekly review: the project meets on Wednesdays at three.", "note:meeting")
    opened = Desk(library, request.param)
    opened.recall(ASKED, "t1")
    yield opened
    opened.watch.close()
    library.close()


def test_a_rediscovery_is_held_once_and_its_repeat_runs(desk: Desk) -> None:
    held = desk.check(query="staging gateway port")
    assert held["action"] == "hold" and "8443" in held["text"]
    for _ in range(10):
        assert desk.check(query="staging gateway port")["action"] == "run"
    assert desk.check(query="the port of the staging gateway")["action"] == "run", "the same line is not held twice"
    assert [row[:2] for row in desk.rows()] == [("rediscovery", "held")]


def test_of_parallel_calls_one_is_held(desk: Desk) -> None:
    actions: list[str] = []
    threads = [
        threading.Thread(target=lambda: actions.append(desk.check(query="staging gateway port")["action"])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(actions) == ["hold"] + ["run"] * 7


@pytest.mark.parametrize(
    "arguments",
    [{"query": "who is allergic to peanuts"}, {"query": ""}, {}, {"query": ["peanuts", 5, None]}, {"query": {"text": 3}}],
)
def test_anything_else_runs(desk: Desk, arguments: dict[str, Any]) -> None:
    assert desk.check(**arguments)["action"] == "run"


@pytest.mark.parametrize("arguments", [None, 5, "x", ["a"], b"\xff"])
def test_odd_arguments_run(desk: Desk, arguments: object) -> None:
    assert desk.watch.check(payload("session_search", "t1", arguments), LOCAL.key)["action"] == "run"
    nested: Any = []
    for _ in range(5000):
        nested = [nested]
    assert desk.watch.check(payload("session_search", "t1", {"query": nested}), LOCAL.key)["action"] == "run"


def test_another_persons_turn_and_an_unknown_one_are_never_held(desk: Desk) -> None:
    told = payload("session_search", "t1", {"query": "staging gateway port"})
    assert desk.watch.check(told, "default/telegram:42")["action"] == "run"
    assert desk.check(turn="gone", query="staging gateway port")["action"] == "run"
    assert desk.check(turn="", query="staging gateway port")["action"] == "run"


def test_a_turn_that_expired_is_counted_from_the_ledger_and_not_held(desk: Desk) -> None:
    desk.watch.turns.forget()
    assert desk.check(query="staging gateway port")["action"] == "run"
    assert desk.finish(query="staging gateway port", result="...") == "rediscovery"


def test_lines_of_an_earlier_turn_count_while_they_are_visible(desk: Desk) -> None:
    handle = desk.library.store.value("SELECT handle FROM passages WHERE source = 'note:port'")
    desk.recall(ASKED, "t2", handles=frozenset({handle}))
    assert desk.check(turn="t2", query="staging gateway port")["action"] == "hold"
    desk.recall("What about the weather?", "t3")
    assert desk.check(turn="t3", query="staging gateway port")["action"] == "run", "it left the window"


def test_lines_under_another_name_of_the_same_person_count_too(desk: Desk) -> None:
    """`scopes.aliases`: what was said under the other name is theirs, in the window and in what a search brings."""
    said = desk.library.remember("The boat is moored at jetty 12.", "note:boat", scope="default/telegram:42")
    missed = desk.library.remember("The kiln draws 40 kilowatts.", "note:kiln", scope="default/telegram:42")
    both = Scope(others=("telegram:42",))
    visible = Visible(handles=frozenset({said.handle}))
    query = Query.of("Where is the boat moored?", both, now=NOW, turn_id="t2", session_id="s", visible=visible)
    desk.watch.began(query, desk.library.recall.for_turn(query))
    assert desk.check(turn="t2", query="boat moored jetty")["action"] == "hold"
    assert desk.finish(turn="t2", query="kiln kilowatts", result=f"({missed.handle}) {missed.text}") == "new"
    desk.watch.wait_written()
    assert desk.library.store.value("SELECT passage_id FROM misses") == missed.id


def test_a_session_resumed_on_another_day(desk: Desk) -> None:
    """Yesterday's turn holds nothing any more but still counts; what the restored window shows is held as ever."""
    yesterdays = desk.watch.turns.get("t1", LOCAL.key)
    assert yesterdays is not None
    yesterdays.began -= 7 * 3600
    assert desk.check(query="staging gateway port")["action"] == "run"
    assert desk.finish(query="staging gateway port", result="...") == "rediscovery", "counted, from the ledger"
    handle = desk.library.store.value("SELECT handle FROM passages WHERE source = 'note:port'")
    for turn, asked, handles, action in (("t2", ASKED, {handle}, "hold"), ("t3", "And the weather?", set(), "run")):
        visible = Visible(handles=frozenset(handles))
        query = Query.of(asked, LOCAL, now=NOW + 86_400, turn_id=turn, session_id="s", visible=visible)
        desk.watch.began(query, desk.library.recall.for_turn(query))
        assert desk.check(turn=turn, query="staging gateway port")["action"] == action


@pytest.mark.parametrize("desk", ["observe"], indirect=True)
def test_observing_holds_nothing(desk: Desk) -> None:
    assert desk.check(query="staging gateway port")["action"] == "run"
    assert desk.finish(query="staging gateway port", result="hits") == "rediscovery"
    assert [row[:2] for row in desk.rows()] == [("rediscovery", "")]
    assert desk.library.store.value("SELECT value FROM counters WHERE name = 'rediscoveries'") == 1


@pytest.mark.parametrize("desk", ["point"], indirect=True)
def test_pointing_names_the_line_after_the_run(desk: Desk) -> None:
    told = {**payload("session_search", "t1", {"query": "staging gateway port"}), "result": "hits"}
    found = desk.watch.check(told, LOCAL.key)
    assert found["action"] == "point" and "8443" in found["text"] and "\n" not in found["text"]
    assert [row[:2] for row in desk.rows()] == [("rediscovery", "pointed")]


def test_a_call_told_twice_is_recorded_once(desk: Desk) -> None:
    assert desk.finish(query="other things", result="x", call_id="c1") == "new"
    assert desk.finish(query="other things", result="x", call_id="c1") == ""
    assert len(desk.rows()) == 1


def test_the_cost_of_a_cut_result_is_that_of_the_whole(desk: Desk) -> None:
    told = {**payload("session_search", "t1", {"query": "staging gateway port"}), "result": "word " * 100, "result_chars": 5000}
    desk.watch.observe({**told, "event": "post_tool", "milliseconds": 12.5}, LOCAL.key)
    desk.watch.wait_written()
    row = desk.library.store.row("SELECT result_tokens, milliseconds FROM tool_calls")
    assert row is not None and 1200 <= row["result_tokens"] <= 1300 and row["milliseconds"] == 12.5


def test_what_a_search_found_and_recall_had_not_given_is_a_miss(desk: Desk) -> None:
    meeting = desk.library.store.row("SELECT id, handle FROM passages WHERE source = 'note:meeting'")
    assert meeting is not None
    result = f'{{"results": [{{"id": "{meeting["handle"]}", "text": "…"}}]}}'
    assert desk.finish("qdrant_search", query="weekly review Wednesdays", result=result) == "new"
    quoted = '{"hits": ["Weekly review: the project meets on Wednesdays at three."]}'
    assert desk.finish("session_search", query="weekly review project", result=quoted) == "new"
    assert desk.finish("session_search", query="project budget", result=quoted) == "new"
    desk.watch.wait_written()
    missed = desk.library.store.rows("SELECT passage_id FROM misses")
    assert [row["passage_id"] for row in missed] == [meeting["id"]] * 2


def test_a_megabyte_and_binary_results_are_read(desk: Desk) -> None:
    for result in ("x" * 10**6, "\x00\xff" * 1000, b"\xff", 5, ["a"], None):
        desk.finish(query="something else", result=result)
    assert {row[0] for row in desk.rows()} == {"new"}


@pytest.mark.parametrize("before", ["", "x " * 145])
def test_a_secret_in_a_question_is_not_stored(desk: Desk, before: str) -> None:
    desk.finish(query=f"{before}sk-proj-9aB8cD7eF6gH5iJ4kL3m")
    desk.watch.wait_written()
    assert "9aB8" not in desk.library.store.value("SELECT query FROM tool_calls")


def test_a_database_that_fails_is_counted_and_the_call_runs(desk: Desk) -> None:
    with desk.library.store.write() as db:
        db.execute("ALTER TABLE tool_calls RENAME TO elsewhere")
    assert desk.check(query="staging gateway port")["action"] == "hold", "nothing is read from there"
    desk.watch.wait_written()
    assert "tool_calls" in desk.library.store.value("SELECT last_reason FROM counters WHERE name = 'ground_truth_failed'")
    with desk.library.store.write() as db:
        db.execute("ALTER TABLE elsewhere RENAME TO tool_calls")


def test_a_file_newer_than_the_line_is_a_check(desk: Desk) -> None:
    page = desk.library.settings.memories_dir / "staging-gateway.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("8443")
    assert desk.finish("search_files", pattern="staging gateway", path=str(page), result="8443") == "check"


def test_only_terminals_speak_of_the_system(desk: Desk) -> None:
    desk.finish("terminal", command="ss -ltnp", result="LISTEN 9443 staging-gateway")
    desk.finish("session_search", query="staging gateway port", result="it said 9443 once")
    turn = desk.watch.turns.get("t1", LOCAL.key)
    assert turn is not None
    assert [action.result for action in turn.actions] == ["LISTEN 9443 staging-gateway", ""]


def test_the_layer_of_a_line_is_kept(desk: Desk) -> None:
    turn = desk.watch.turns.get("t1", LOCAL.key)
    assert turn is not None and [line.layer for line in turn.lines] == [Layer.SESSIONS.value]


def test_a_check_costs_far_less_than_the_call_waits(desk: Desk) -> None:
    """By processor time, so that a busy machine fails nothing: 16 long lines, the median of 50 checks below 15 ms."""
    for at in range(16):
        desk.library.remember(f"The staging gateway number {at} of hall {at * 7} listens on port {8000 + at}, says team {at}.")
    desk.recall("Which port does the staging gateway of hall 21 use?", "t9")
    turn = desk.watch.turns.get("t9", LOCAL.key)
    assert turn is not None and len(turn.lines) > 5
    spent = []
    for at in range(50):
        began = time.thread_time()
        desk.check(turn="t9", query=f"staging gateway {at} hall port owner question {at}")
        spent.append(time.thread_time() - began)
    assert sorted(spent)[25] < 0.015


def test_a_question_nobody_waits_for_any_more_is_not_encoded(desk: Desk) -> None:
    """Else each that times out holds up the ones after it."""
    go, encoded = threading.Event(), []

    def embed(question: str) -> Any:
        encoded.append(question)
        go.wait(30)
        raise RuntimeError("no vector")

    desk.watch.embed = embed
    assert [desk.watch.encode(question) for question in ("one", "two", "three")] == [None, None, None]
    go.set()
    desk.watch._encoder.submit(str).result(30)  # what waits before it is done then
    assert len(encoded) <= 1
    desk.watch.close()
    assert desk.watch.encode("closed") is None
