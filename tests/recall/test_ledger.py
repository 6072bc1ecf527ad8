"""Every recall is on record with its reasons; a record that can't be written breaks no turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.errors import BadRequest
from memory_os.recall.ledger import LEDGER_DAYS, TOO_LATE, Missed
from support.library import DAY, LOCAL, NOW, Library

from recall.notes import NOTES

PORT = "Which port does the staging gateway use?"


@pytest.fixture
def library(words_only: Library) -> Library:
    for name in ("port", "backup", "linter"):
        words_only.remember(NOTES[name], f"note:{name}")
    return words_only


def test_explain_tells_what_was_shown_and_why_the_rest_was_not(library: Library) -> None:
    library.ask(PORT, turn="t1", platform="cli")
    explained = library.recall.ledger.explain("t1")
    assert explained["outcome"] == "degraded"
    assert explained["arms"]["dense"]["state"] == "off"
    assert explained["arms"]["lexical"]["state"] == "ok"
    assert (explained["turn_id"], explained["session_id"], explained["scope"]) == ("t1", "session", "default/local")
    assert explained["tokens"] > 0
    (line,) = [one for one in explained["lines"] if one["shown"]]
    assert line["text"] == NOTES["port"]
    assert line["reason"] == "shown"
    assert set(line["scores"]) == {"probability", "rank", "prior", "cosine", "bm25", "coverage"}


def test_a_record_lets_answers_that_are_on_their_way_go_first(library: Library) -> None:
    answers, before = [False, True, True], []

    def busy() -> bool:
        before.append(library.store.value("SELECT count(*) FROM recalls"))
        return answers.pop()

    library.recall.ledger.busy = busy
    library.ask(PORT, turn="t1")
    assert library.recall.ledger.explain("t1")["outcome"] == "degraded"
    assert before[:1] == [0]


def test_a_record_is_written_though_the_service_is_never_idle(library: Library) -> None:
    library.recall.ledger.busy = lambda: True
    library.ask(PORT, turn="t1")
    assert library.recall.ledger.explain("t1")["outcome"] == "degraded"


def test_a_turn_that_got_nothing_shows_the_nearest_misses_first(memory: Library) -> None:
    recalled = memory.ask("What is the capital of France?", turn="paris")
    explained = memory.recall.ledger.explain("paris")
    assert explained["outcome"] == "nothing"
    best = max(one.scored.probability for one in recalled.selection.decisions)
    probabilities = [line["scores"]["probability"] for line in explained["lines"]]
    assert probabilities[0] == round(best, 3)
    assert probabilities == sorted(probabilities, reverse=True)
    assert {line["reason"] for line in explained["lines"]} == {"below the gate"}
    assert len(probabilities) == 12


def test_the_last_turn_is_the_one_recorded_last_whatever_its_clock_said(library: Library) -> None:
    library.ask(PORT, turn="before", now=NOW)
    library.ask(PORT, turn="after", now=NOW - 30 * DAY)
    assert library.recall.ledger.explain("last")["turn_id"] == "after"


def test_a_turn_asked_again_is_recorded_once(library: Library) -> None:
    library.ask(PORT, turn="t")
    library.ask("thanks", turn="t")
    explained = library.recall.ledger.explain("t")
    assert (explained["outcome"], explained["lines"]) == ("skipped", [])
    assert library.store.value("SELECT count(*) FROM recalls") == 1


def test_what_is_not_on_record_is_a_bad_request(library: Library) -> None:
    with pytest.raises(BadRequest, match="'nope'"):
        library.recall.ledger.explain("nope")
    with pytest.raises(BadRequest, match="No recall is on record yet"):
        library.recall.ledger.explain("last")


def test_shown_lines_count_as_retrieved(library: Library) -> None:
    library.ask(PORT)
    library.ask(PORT)
    library.recall.ledger.wait_written()
    uses = {row["source"]: row["uses"] for row in library.store.rows("SELECT source, uses FROM passages")}
    assert uses == {"note:port": 2, "note:backup": 0, "note:linter": 0}


def test_a_turn_without_an_id_is_recorded_too(library: Library) -> None:
    library.ask(PORT, turn="")
    assert library.recall.ledger.explain("last")["turn_id"].startswith("session:")


def test_a_ledger_that_can_not_be_written_breaks_no_recall_and_is_counted(library: Library) -> None:
    with library.store.write() as db:
        db.execute("DROP TABLE recall_lines")
    recalled = library.ask(PORT, turn="t")
    assert NOTES["port"] in recalled.context
    library.recall.ledger.wait_written()
    row = library.store.row("SELECT * FROM counters WHERE name = 'ledger_failed'")
    assert row is not None
    assert "recall_lines" in row["last_reason"]


def test_a_database_that_takes_no_writes_breaks_no_recall(library: Library) -> None:
    library.store._writer.execute("PRAGMA query_only=ON")
    try:
        assert NOTES["port"] in library.ask(PORT).context
        library.recall.ledger.wait_written()
    finally:
        library.store._writer.execute("PRAGMA query_only=OFF")


def test_rotation_takes_the_old(library: Library) -> None:
    library.ask(PORT, turn="old", now=NOW - (LEDGER_DAYS + 1) * DAY)
    library.ask(PORT, turn="new", now=NOW)
    library.recall.ledger.wait_written()
    assert library.recall.ledger.rotate(NOW) == 1
    with pytest.raises(BadRequest):
        library.recall.ledger.explain("old")
    assert library.store.value("SELECT count(*) FROM recall_lines WHERE turn_id = 'old'") == 0


def test_a_line_whose_memory_went_is_named_so(library: Library) -> None:
    library.ask(PORT, turn="t")
    library.index.remove("note:port")
    assert library.recall.ledger.explain("t")["lines"][0]["text"] == "(no longer there)"


def test_the_ledger_survives_a_restart(tmp_path: Path) -> None:
    first = Library.open(tmp_path, dense=False)
    first.remember(NOTES["port"])
    first.ask(PORT, turn="t")
    first.close()
    second = Library.open(tmp_path, dense=False)
    assert second.recall.ledger.explain("t")["lines"][0]["text"] == NOTES["port"]
    second.close()


# -- what came too late --------------------------------------------------------------------------------------------


def gave_up(turn: str, at: float = NOW + 0.3) -> Missed:
    return Missed(turn, "session", LOCAL.key, "cli", at, "timeout after 300 ms")


def assert_late(library: Library, turn: str) -> None:
    explained = library.recall.ledger.explain(turn)
    assert (explained["outcome"], explained["tokens"]) == ("late", 0)
    assert explained["reason"].startswith(f"{TOO_LATE}: timeout after 300 ms")
    found = explained["lines"][0]
    assert (found["text"], found["shown"], found["reason"]) == (NOTES["port"], False, TOO_LATE)
    assert not library.store.value("SELECT sum(uses) FROM passages")


def test_what_was_found_and_reached_nobody_is_late_and_nothing_of_it_shown(library: Library) -> None:
    library.ask(PORT, turn="t")
    for _ in range(2):  # its record may come twice
        library.recall.ledger.too_late(gave_up("t"))
        assert_late(library, "t")
    assert library.store.value("SELECT max(last_used_at) FROM passages") is None, "it is no younger for that"


def test_a_recall_that_ends_after_its_turn_gave_up_is_late_from_the_start(library: Library) -> None:
    library.recall.ledger.too_late(gave_up("t"))
    library.ask(PORT, turn="t", now=NOW + 5, asked_at=NOW)
    assert_late(library, "t")


def test_a_turn_that_is_asked_again_and_answered_was_given_its_lines(library: Library) -> None:
    library.recall.ledger.too_late(gave_up("t"))
    library.ask(PORT, turn="t", now=NOW + 5, asked_at=NOW + 4)
    library.recall.ledger.too_late(gave_up("t"))  # told once more, after a restart
    explained = library.recall.ledger.explain("t")
    assert explained["lines"][0]["shown"] and explained["tokens"] > 0


def test_nothing_found_too_late_is_still_nothing_found(library: Library) -> None:
    library.ask("thanks", turn="t")
    library.recall.ledger.too_late(gave_up("t"))
    assert library.recall.ledger.explain("t")["outcome"] == "skipped"


def test_a_turn_without_any_answer_is_on_record_too(library: Library) -> None:
    library.recall.ledger.too_late(gave_up("t"))
    explained = library.recall.ledger.explain("last")
    assert (explained["turn_id"], explained["session_id"], explained["scope"]) == ("t", "session", LOCAL.key)
    assert (explained["outcome"], explained["reason"]) == ("late", "no answer in time: timeout after 300 ms")
    assert explained["lines"] == []
