"""Recall as a turn meets it: the real model, the real collection, a small memory in seven languages."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os.errors import EmbeddingError, VectorsError
from memory_os.memory import SHARED_SCOPE, Author, Layer, Scope
from memory_os.recall import Query
from memory_os.recall.flow import Recalled
from memory_os.recall.rendering import LEGEND
from memory_os.text import token_estimate
from support.library import DAY, LOCAL, NOW, Library, real_embedder

from recall.conftest import names
from recall.notes import ACROSS, NOTES, PARAPHRASED, SAME_LANGUAGE, SMALL_TALK, UNRELATED

PORT = "Which port does the staging gateway use?"
# A long message costs the encoder most of its time; on a busy machine that is too late.
LATE = "dense: search by meaning passed the deadline"


# -- by meaning, in any language -----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", list(SAME_LANGUAGE))
def test_a_question_finds_its_note(memory: Library, language: str) -> None:
    question, note = SAME_LANGUAGE[language]
    recalled = memory.ask(question)
    assert (recalled.outcome, names(recalled)[:1]) == ("injected", [note])
    assert NOTES[note] in recalled.context


@pytest.mark.parametrize("pair", list(ACROSS))
def test_a_question_finds_a_note_in_another_language(memory: Library, pair: str) -> None:
    question, note = ACROSS[pair]
    assert names(memory.ask(question))[:1] == [note]


@pytest.mark.parametrize(("question", "note"), PARAPHRASED)
def test_other_words_for_the_same_are_found_by_meaning_alone(memory: Library, question: str, note: str) -> None:
    recalled = memory.ask(question)
    assert names(recalled)[:1] == [note]
    assert recalled.lines[0].scored.candidate.coverage == 0, "no word in common, so this was the dense arm"


@pytest.mark.parametrize("question", ["ERR-4711", "What do we know about ERR-4711?", "ERR-4711 ist wieder da"])
def test_an_identifier_is_found_by_its_words(memory: Library, question: str) -> None:
    recalled = memory.ask(question)
    assert names(recalled)[:1] == ["ticket"]
    assert recalled.lines[0].scored.candidate.coverage > 0.5


@pytest.mark.parametrize("question", UNRELATED)
def test_an_unrelated_question_gets_nothing(memory: Library, question: str) -> None:
    recalled = memory.ask(question)
    assert (recalled.context, recalled.outcome, recalled.lines) == ("", "nothing", [])
    assert recalled.selection.decisions, "there were candidates, and each has its reason"


@pytest.mark.parametrize("message", SMALL_TALK)
def test_small_talk_searches_nothing(memory: Library, message: str) -> None:
    recalled = memory.ask(message)
    assert (recalled.context, recalled.outcome, recalled.reason) == ("", "skipped", "small talk")
    assert recalled.arms == {}


def test_an_empty_memory_has_nothing_and_says_so(fresh: Library) -> None:
    recalled = fresh.ask(PORT)
    assert (recalled.context, recalled.outcome) == ("", "nothing")


def test_a_megabyte_is_a_question_like_another(memory: Library) -> None:
    log = "".join(f"2026-09-{n % 30:02} INFO nothing happened in step {n}\n" for n in range(25_000))
    started = time.thread_time()
    recalled = memory.ask(f"{log}\nWhere do the nightly backups of the orders database go?", patient=False)
    assert time.thread_time() - started < 60
    assert recalled.outcome in ("injected", "nothing") or was_slow(recalled)


def was_slow(recalled: Recalled) -> bool:
    """Of a busy machine, which may still be at the question before."""
    return recalled.reason == LATE or "a question has been out for" in recalled.reason


@pytest.mark.parametrize("message", ["?", "…", "\x00", "🦑🦑", "\u202e", "(((((", '"""', "a" * 5000])
def test_odd_messages_are_answered(memory: Library, message: str) -> None:
    recalled = memory.ask(message)
    assert recalled.outcome in ("nothing", "skipped") or was_slow(recalled)
    assert recalled.context == ""


# -- when the other arm is not there -------------------------------------------------------------------------------


def told(library: Library) -> None:
    library.remember(NOTES["port"], "note:port")
    library.remember(NOTES["backup"], "note:backup")
    library.remember(NOTES["cat_pt"], "note:cat_pt")


def test_without_the_model_words_are_found_and_the_outcome_says_why(words_only: Library) -> None:
    told(words_only)
    recalled = words_only.ask(PORT)
    assert names(recalled) == ["port"]
    assert NOTES["port"] in recalled.context
    assert (recalled.outcome, recalled.reason) == ("degraded", "dense: the embedding model is still loading")
    assert words_only.ask(UNRELATED[0]).context == ""


@pytest.mark.parametrize("error", [VectorsError("The shard is gone."), EmbeddingError("The embedding model failed.")])
def test_a_failing_dense_arm_leaves_the_words(fresh: Library, error: Exception) -> None:
    told(fresh)
    fresh.embed()

    def failing(vector: np.ndarray, query: Query, limit: int) -> list[tuple[str, float]]:
        raise error

    fresh.recall.arms.dense = failing
    recalled = fresh.ask(PORT)
    assert (names(recalled), recalled.outcome, recalled.reason) == (["port"], "degraded", f"dense: {error}")


def test_a_late_dense_arm_is_not_waited_for(fresh: Library) -> None:
    told(fresh)
    fresh.embed()
    release = threading.Event()
    embed = real_embedder().embed_query

    def hanging(text: str) -> np.ndarray:
        release.wait(60)
        return embed(text)

    fresh.recall.arms.embed = hanging
    try:
        started = time.monotonic()
        # More than the arms have threads: even with all of them stuck a turn is answered.
        recalls = [fresh.ask(PORT, patient=False) for _ in range(6)]
        assert time.monotonic() - started < 50, "one that hangs takes a minute"
        for recalled in recalls:
            assert names(recalled) == ["port"]
            assert (recalled.outcome, recalled.reason) == ("degraded", LATE)
    finally:
        release.set()


def test_the_question_is_encoded_while_it_is_found_out_whether_a_session_begins(fresh: Library) -> None:
    fresh.remember(NOTES["port"], "note:port")
    fresh.embed()
    encode, begun, encoding = fresh.recall.arms.embed, threading.Event(), threading.Event()
    assert encode is not None

    def embed(text: str) -> np.ndarray:
        encoding.set()
        assert begun.wait(10)
        return encode(text)

    def begins(query: Query) -> bool:
        assert encoding.wait(10)
        begun.set()
        return True

    fresh.recall.arms.embed, fresh.recall.begins = embed, begins
    assert LEGEND in fresh.ask(PORT).context
    assert LEGEND not in fresh.recall.preview(Query.of(PORT, LOCAL, now=NOW)).context, "of a preview its query says so"


def test_what_was_said_a_moment_ago_is_found_before_it_has_its_vector(fresh: Library) -> None:
    told(fresh)
    fresh.embed()
    fresh.remember("The orders service was moved to the rack in Rotterdam.", "note:rack")
    recalled = fresh.ask("In which rack is the orders service?")
    assert (recalled.outcome, names(recalled)[:1]) == ("injected", ["rack"])


def test_a_collection_that_is_not_open_degrades_with_its_reason(words_only: Library) -> None:
    told(words_only)
    words_only.recall.arms.embed = real_embedder().embed_query
    words_only.recall.arms.dense = words_only.indexing.dense
    recalled = words_only.ask(PORT)
    assert (names(recalled), recalled.outcome) == (["port"], "degraded")
    assert "not open" in recalled.reason


# -- what is left out ----------------------------------------------------------------------------------------------


def test_a_line_shown_earlier_is_not_shown_while_it_is_in_the_window_and_again_once_it_left(memory: Library) -> None:
    shown = memory.ask(PORT).lines[0].scored.passage.handle
    assert "port" not in names(memory.ask(PORT, handles=[shown]))
    assert names(memory.ask(PORT))[:1] == ["port"]


def test_what_the_window_holds_is_asked_of_the_sessions_layer(memory: Library) -> None:
    memory.recall.in_window = lambda query: {"note:port"} if "hash" in query.visible.hashes else ()
    try:
        assert names(memory.ask(PORT, hashes=["hash"])) == []
        assert names(memory.ask(PORT))[:1] == ["port"]
    finally:
        memory.recall.in_window = lambda _: ()


def test_a_repeated_question_is_not_its_own_answer(fresh: Library) -> None:
    fresh.remember("Which port does the staging gateway use?", "note:asked")
    fresh.embed()
    recalled = fresh.ask(PORT)
    assert recalled.lines == []
    assert [one.reason for one in recalled.selection.decisions] == ["asks the same question"]


def test_expired_archived_flagged_and_coming_memories_are_never_shown(fresh: Library) -> None:
    text = "The staging gateway listens on port {}."
    fresh.remember(text.format(1), "note:expired", valid_to=NOW - 1)
    fresh.remember(text.format(2), "note:coming", valid_from=NOW + DAY)
    fresh.remember(text.format(3), "note:flagged", flagged="instruction")
    archived = fresh.remember(text.format(4), "note:archived")
    fresh.remember(text.format(8443), "note:port")
    fresh.index.update(archived.id, archived=True)
    fresh.embed()
    for library_is_dense in (True, False):
        if not library_is_dense:
            fresh.recall.arms.dense = None
        assert names(fresh.ask(PORT)) == ["port"]


def test_the_same_from_two_layers_is_one_line_and_two_numbers_are_two(fresh: Library) -> None:
    said = "We found out that the staging gateway listens on port 8443."
    fresh.remember(said, "note:turn")
    fresh.remember("The staging gateway listens on port 8443.", "note:fact", layer=Layer.FACTS, author=Author.AGENT, trust=0.6)
    fresh.remember("The staging gateway listens on port 9443.", "note:other", layer=Layer.FACTS, author=Author.AGENT, trust=0.6)
    fresh.embed()
    recalled = fresh.ask(PORT)
    assert sorted(names(recalled)) == ["fact", "other"]
    assert recalled.context.count("differs from f:") == 2
    assert said not in recalled.context


def test_switched_off_and_background_turns_get_nothing(memory: Library, tmp_path: Path) -> None:
    assert memory.ask(PORT, platform="cron").outcome == "skipped"
    memory.recall.session_off = lambda session: session == "session"
    try:
        recalled = memory.ask(PORT)
        assert (recalled.outcome, recalled.context) == ("off", "")
    finally:
        memory.recall.session_off = lambda _: False
    off = Library.open(tmp_path, "recall: {enabled: false}", dense=False)
    assert (off.ask(PORT).outcome, off.ask(PORT).reason) == ("off", "recall.enabled is false")
    off.close()


# -- order, priors, budget -----------------------------------------------------------------------------------------


def test_the_same_question_gets_the_same_block(memory: Library) -> None:
    blocks = {memory.ask("Where do the nightly backups of the orders database go?").context for _ in range(5)}
    assert len(blocks) == 1


def test_priors_order_equals_and_make_nothing_relevant(fresh: Library) -> None:
    port = "The staging gateway listens on port {}, says the runbook."
    fact = Layer.FACTS
    fresh.remember(port.format(8443), "note:old", created_at=NOW - 900 * DAY, layer=fact, trust=0.3)
    fresh.remember(port.format(9443), "note:new", created_at=NOW - DAY, layer=fact, trust=0.9)
    fresh.remember("Grandmother paints lighthouses.", "note:dear", created_at=NOW, layer=fact, trust=1.0, importance=1.0)
    fresh.embed()
    recalled = fresh.ask(PORT)
    assert names(recalled) == ["new", "old"]
    assert all(abs(one.scored.prior - 1) <= 0.25 + 1e-9 for one in recalled.selection.decisions)


def test_limits_of_the_configuration_hold(tmp_path: Path) -> None:
    library = Library.open(tmp_path, "recall: {max_lines: 3, max_tokens: 200, min_probability: 0}", dense=False)
    for number in range(40):
        text = f"Host number {number} of the staging gateway answers on port {8000 + number}."
        library.remember(text, layer=Layer.FACTS, trust=0.5)
    recalled = library.ask(PORT)
    assert 1 <= len(recalled.lines) <= 3
    assert token_estimate(recalled.context) <= 200
    library.close()


def test_lines_of_a_first_turn_stay_within_the_budget(tmp_path: Path) -> None:
    library = Library.open(tmp_path, "recall: {max_tokens: 300}", dense=False)
    library.remember(NOTES["port"], "note:port")
    extras: dict[str, Sequence[str]] = {"workspace": ["- learned " + "much " * 40] * 9, "pending": ["- x </memory-context> y"]}
    library.recall.first_turn_extras = lambda _: extras
    recalled = library.ask(PORT, first_turn=True)
    assert token_estimate(recalled.context) <= 300
    assert "- learned" in recalled.context
    assert NOTES["port"] in recalled.context
    assert recalled.context.count("</memory-context>") == 1
    assert "- learned" not in library.ask(PORT).context
    library.close()


# -- whose ---------------------------------------------------------------------------------------------------------

SCOPES = [Scope(), Scope("telegram:1"), Scope("telegram:2"), Scope("local", "work")]
_MARKS = [f"mark{number:02}" for number in range(12)]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    owners=st.lists(st.sampled_from([*(scope.key for scope in SCOPES), SHARED_SCOPE]), min_size=1, max_size=12),
    reader=st.sampled_from(SCOPES),
)
def test_one_users_words_never_reach_another(words_only: Library, owners: list[str], reader: Scope) -> None:
    for number, mark in enumerate(_MARKS):
        if number < len(owners):
            words_only.remember(f"The staging gateway port of {mark} is {number}.", f"note:{number}", scope=owners[number])
        else:
            words_only.index.remove(f"note:{number}")
    recalled = words_only.ask(PORT, scope=reader)
    for mark, owner in zip(_MARKS, owners, strict=False):
        assert mark not in recalled.context or owner in reader.readable
    for one in recalled.selection.decisions:
        assert one.scored.passage.scope in reader.readable


def test_nor_by_meaning(fresh: Library) -> None:
    for scope in SCOPES:
        fresh.remember(f"My dentist is in the street of {scope.user} {scope.profile}.", f"note:{scope.key}", scope=scope.key)
    fresh.embed()
    for scope in SCOPES:
        recalled = fresh.ask("Where is my tooth doctor?", scope=scope)
        assert {one.scored.passage.scope for one in recalled.selection.decisions} <= {scope.key}


def test_anothers_thousand_memories_don_t_change_what_my_words_weigh(words_only: Library) -> None:
    """BM25 counts over all passages; measured against my own few, one common word passed for the whole question."""
    with words_only.store.write():
        for number in range(300):
            words_only.remember(f"Entry {number} is about the weather in town {number * 7}.", scope="default/telegram:1")
    words_only.remember("The gateway of the new house is made of oak.", "note:oak")
    recalled = words_only.ask("Which certificate protects the gateway towards external partners?")
    assert recalled.lines == []


def test_two_users_ask_at_once(fresh: Library) -> None:
    for scope in SCOPES:
        fresh.remember(f"The staging gateway port for {scope.user} of {scope.profile}.", f"note:{scope.key}", scope=scope.key)
    fresh.embed()

    def shown(scope: Scope) -> set[str]:
        return {line.scored.passage.scope for line in fresh.ask(PORT, scope=scope, turn=f"{scope.key}{time.time_ns()}").lines}

    with ThreadPoolExecutor(4) as pool:
        for scope, seen in zip(SCOPES * 5, pool.map(shown, SCOPES * 5), strict=True):
            assert seen <= {scope.key}


def test_a_clock_that_went_back_hides_nothing(memory: Library) -> None:
    assert names(memory.ask(PORT, now=NOW - 2000 * DAY))[:1] == ["port"]


def test_a_date_is_no_word_and_a_question_of_nothing_else_is_answered(memory: Library) -> None:
    questions = (Query.of(text, LOCAL, now=NOW) for text in (PORT, f"{PORT[:-1]} on 9 July 2021?"))
    bare, dated = (memory.recall.ranked(query, 60.0)[0] for query in questions)
    assert dated[0].passage.id == bare[0].passage.id
    assert dated[0].probability > 0.7
    memory.ask("9 July 2021?")
    by_meaning = replace(Query.of("What was on 9 July 2021?", LOCAL, now=NOW), terms=())
    assert memory.recall.ranked(by_meaning, 60.0)[0]


def test_layers_can_be_chosen(memory: Library) -> None:
    assert memory.ask(PORT, layers=[Layer.FACTS]).lines == []
    assert names(memory.ask(PORT, layers=[Layer.SESSIONS]))[:1] == ["port"]


def test_the_scope_of_the_fixture_is_the_terminals() -> None:
    assert LOCAL.key == "default/local"
