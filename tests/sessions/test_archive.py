"""What captured turns become: archived rows, passages with their neighbours, once each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_os.memory import Author, Layer, Scope, State, content_hash
from memory_os.sessions.archive import CHUNKS_MOST, same_answer, sane_time

from sessions.conftest import LOCAL, NOW, Memory, open_memory, turn


def test_a_turn_is_found_by_its_words_with_author_time_and_session(memory: Memory) -> None:
    assert memory.sessions.add_turn(turn(1, "The staging database runs on port 6380.", "Noted: staging uses port 6380."))
    said = next(one for one in memory.found("staging database") if one.author is Author.USER)
    assert (said.layer, said.kind, said.session_id, said.created_at) == (Layer.SESSIONS, "said", "s1", NOW + 1)
    answered = next(one for one in memory.found("noted") if one.author is Author.AGENT)
    assert answered.kind == "answered"
    assert answered.context == "user: The staging database runs on port 6380."


def test_a_question_carries_the_answer_before_it(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "Where do we meet?", "At the boathouse, at noon?"))
    memory.sessions.add_turn(turn(2, "Make it half past twelve instead.", "Done, half past twelve."))
    assert memory.found("instead")[0].context == "assistant: At the boathouse, at noon?"


def test_the_same_turn_twice_is_stored_once(memory: Memory) -> None:
    assert memory.sessions.add_turn(turn(1, "Deploys happen on Tuesdays.", "Understood, Tuesdays it is."))
    assert not memory.sessions.add_turn(turn(1, "Deploys happen on Tuesdays.", "Understood, Tuesdays it is."))
    assert len(memory.archived()) == 2


def test_said_three_times_is_archived_three_times_and_found_once(memory: Memory) -> None:
    for number in (1, 2, 3):
        memory.sessions.add_turn(turn(number, "Run the migration again.", f"Migration run number {number} finished."))
    assert [text for role, text in memory.archived() if role == "user"] == ["Run the migration again."] * 3
    assert len([one for one in memory.found("migration again") if one.author is Author.USER]) == 1


@pytest.mark.parametrize("small", ["thanks!", "好的", "obrigado", "👍", "спасибо", "شكرا", "ありがとう", "danke"])
def test_small_talk_is_archived_and_not_searchable(memory: Memory, small: str) -> None:
    memory.sessions.add_turn(turn(1, small, "You're welcome!"))
    assert memory.archived() == [("user", small), ("assistant", "You're welcome!")]
    assert memory.index.count() == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Der Staging-Server heißt Nordwind.", "Nordwind"),
        ("O servidor de testes chama-se Vento.", "servidor"),
        ("Тестовый сервер называется Ветер.", "сервер"),
        ("خادم الاختبار اسمه نسيم", "نسيم"),
        ("测试服务器叫做北风。", "北风"),
        ("テストサーバーの名前は北風です。", "北風"),
    ],
)
def test_every_script_is_found(memory: Memory, text: str, words: str) -> None:
    memory.sessions.add_turn(turn(1, text, ""))
    assert memory.found(words)[0].text == text


def test_one_users_words_never_reach_another(memory: Memory) -> None:
    one = Scope(user="telegram:1")
    other = Scope(user="telegram:2")
    for number in range(6):
        who = ("telegram:1", "telegram:2")[number % 2]
        memory.sessions.add_turn(turn(number, f"My locker code word is walrus{number}.", "ok", session=who, user=who))
    assert {hit.text for hit in memory.found("locker walrus", one)} == {f"My locker code word is walrus{n}." for n in (0, 2, 4)}
    assert {hit.text for hit in memory.found("locker walrus", other)} == {f"My locker code word is walrus{n}." for n in (1, 3, 5)}
    assert memory.found("locker walrus", LOCAL) == []


def test_an_alias_makes_two_senders_one(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "home", "scopes: {aliases: {'telegram:42': local}}")
    memory.sessions.add_turn(turn(1, "The garage key is under the pot.", "", user="telegram:42"))
    assert len(memory.found("garage key", LOCAL)) == 1
    memory.store.close()


def test_secrets_are_not_stored_and_counted(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "Use DB_PASSWORD=abc123xyz for staging.", "I set DB_PASSWORD=abc123xyz there."))
    assert "abc123xyz" not in str(memory.archived())
    assert memory.store.value("SELECT value FROM counters WHERE name = 'secrets_redacted'") == 2


def test_the_hash_is_of_what_the_window_shows(memory: Memory) -> None:
    raw = "Use DB_PASSWORD=abc123xyz for staging."
    memory.sessions.add_turn(turn(1, raw, "Done, staging is configured."))
    assert len(memory.sessions.sources_of([content_hash(raw)], "s1")) == 1
    assert memory.sessions.sources_of([content_hash(raw)], "another") == set()


def test_a_megabyte_is_archived_whole_and_indexed_by_its_first_chunks(memory: Memory) -> None:
    text = "\n\n".join(f"Paragraph {number} tells of item{number} at some length." for number in range(20_000))
    memory.sessions.add_turn(turn(1, text, "Long."))
    assert memory.archived()[0][1] == text[:1_000_000].strip()
    assert memory.index.count() == CHUNKS_MOST + 1
    assert memory.store.value("SELECT value FROM counters WHERE name = 'message_chunks_left_out'") > 0


@pytest.mark.parametrize("raw", ["lone \ud800 surrogate here", "a NUL \x00 inside the text", "emoji \ud83d\ude00 pair"])
def test_text_that_utf8_cannot_hold_is_stored(memory: Memory, raw: str) -> None:
    memory.sessions.add_turn(turn(1, raw, "An answer of some length."))
    assert memory.archived()[0][1].encode("utf-8")


def test_a_session_id_with_slashes_is_only_a_name(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "The path of the report is fixed.", "", session="../../etc/passwd"))
    assert memory.found("report path")[0].session_id == "../../etc/passwd"


@pytest.mark.parametrize("at", [0.0, -5.0, float("nan"), float("inf"), 1e18])
def test_an_impossible_time_becomes_now(at: float) -> None:
    assert 1_600_000_000 < sane_time(at) < 10_000_000_000


def test_a_clock_going_backwards_keeps_the_order(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "First statement about walnuts.", "One.", at=NOW))
    memory.sessions.add_turn(turn(2, "Second statement about walnuts.", "Two.", at=NOW - 90_000))
    assert [text for _, text in memory.archived()] == [
        "First statement about walnuts.", "One.", "Second statement about walnuts.", "Two.",
    ]  # fmt: skip


def test_two_hundred_sessions_at_once(memory: Memory) -> None:
    def speak(number: int) -> None:
        for one in range(3):
            said = f"Room {number} booked for topic{one} talk."
            memory.sessions.add_turn(turn(one, said, "Booked, as you asked for it.", session=f"c{number}"))

    with ThreadPoolExecutor(200) as pool:
        list(pool.map(speak, range(200)))
    assert len(memory.archived()) == 200 * 3 * 2
    assert memory.store.value("SELECT count(DISTINCT session_id) FROM messages") == 200


def test_forgetting_deletes_repeats_and_neighbours_quotes(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "My blood type is AB negative.", "I will keep that in mind for you."))
    memory.sessions.add_turn(turn(2, "My blood type is AB negative.", "You told me that already, I know."))
    row = memory.sessions.of_session("s1", LOCAL)[0]
    assert memory.sessions.forget([row["id"]], LOCAL, NOW + 100) == 2
    assert memory.found("blood type") == []
    assert memory.store.value("SELECT count(*) FROM passages WHERE context LIKE '%blood%'") == 0
    # The same words said again later are new words.
    memory.sessions.add_turn(turn(3, "My blood type is AB negative.", "", at=NOW + 200))
    assert len(memory.found("blood type")) == 1


def test_forgetting_stops_at_the_scope(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "My blood type is AB negative.", "", user="telegram:1"))
    row = memory.sessions.of_scope(Scope(user="telegram:1"))[0]
    assert memory.sessions.forget([row["id"]], LOCAL, NOW) == 0
    assert len(memory.archived()) == 1


def test_the_host_adding_a_footer_is_the_same_answer() -> None:
    answer = "The port is 6380, as set in config/redis.conf."
    assert same_answer(answer, f"{answer}\n\n— model x, 3 tools")
    assert same_answer(f"Header line\n\n{answer}", answer)
    assert not same_answer("Done.", "Done. And more.")
    assert not same_answer(answer, "Something quite different was said here.")


def test_health_tells_empty_from_filled(memory: Memory) -> None:
    assert memory.sessions.health().state is State.EMPTY
    memory.sessions.add_turn(turn(1, "The canteen closes at two.", ""))
    assert memory.sessions.health().state is State.OK
    assert memory.sessions.health().figures["messages"] == 1
