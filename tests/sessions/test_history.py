"""Earlier sessions come over from state.db: both schemas, each message once, nothing that nobody said."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os.memory import Author, Scope, State

from sessions.conftest import NOW, Memory, open_memory, switch_off, switch_on, turn
from sessions.host import HostDb, leave_unfinished

# A round long after everything was said, so that nothing has to settle.
LATER = NOW + 100_000


@pytest.fixture(params=[22, 31])
def host(request: pytest.FixtureRequest, memory: Memory) -> Iterator[HostDb]:
    db = HostDb(memory.settings.state_db, request.param)
    yield db
    db.close()


def talk(host: HostDb, session: str = "s1", at: float = NOW) -> tuple[int, int]:
    if not host.connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        host.session(session, "cli")
    asked = host.message(session, "user", "The staging database runs on port 6380.", at, api_content="<memory-context>x")
    return asked, host.message(session, "assistant", "Noted: staging uses port 6380.", at + 1)


def test_a_conversation_is_taken_over_once(memory: Memory, host: HostDb) -> None:
    talk(host)
    first = memory.sessions.import_history(now=LATER)
    assert (first.outcome, first.added) == ("ok", 2)
    assert memory.found("staging database")[0].created_at == NOW
    assert next(one for one in memory.found("noted") if one.author is Author.AGENT).context.startswith("user: The staging")
    assert memory.sessions.import_history(now=LATER).added == 0
    assert len(memory.archived()) == 2


def test_batches_go_on_where_the_last_one_ended(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    for number in range(7):
        host.message("s1", "user", f"Statement number {number} about topic{number}.", NOW + number)
        host.message("s1", "tool", "a result", NOW + number)
    rounds = [memory.sessions.import_history(limit=3, now=LATER) for _ in range(4)]
    assert [one.added for one in rounds] == [3, 3, 1, 0]
    assert [one.more for one in rounds] == [True, True, False, False]


def test_an_interrupted_import_goes_on_where_it_was(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    for number in range(60):
        host.message("s1", "user", f"Statement number {number} about topic{number}.", NOW + number)
    with memory.store.write() as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.text LIKE '%number 30 %'"
            " BEGIN SELECT raise(ABORT, 'disk full'); END"
        )
    with pytest.raises(sqlite3.IntegrityError):
        memory.sessions.import_history(now=LATER)
    taken = len(memory.archived())
    assert 0 < taken < 31
    with memory.store.write() as db:
        db.execute("DROP TRIGGER full")
    assert memory.sessions.import_history(now=LATER).added == 60 - taken
    assert [text for _, text in memory.archived()] == [f"Statement number {n} about topic{n}." for n in range(60)]


NOT_SAID = [
    ("user", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted."),
    ("assistant", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted."),
    ("user", "[IMPORTANT: Background process proc_1 finished]"),
    ("user", '[IMPORTANT: The user has invoked the "work" skill.] The full skill content is loaded below.]\n\nbody'),
    ("assistant", ""),
    ("assistant", None),
    ("tool", "file contents"),
    ("system", "You are Hermes"),
]


@pytest.mark.parametrize(("role", "text"), NOT_SAID)
def test_what_nobody_said_is_not_taken(memory: Memory, host: HostDb, role: str, text: str | None) -> None:
    host.session("s1")
    host.message("s1", role, text, NOW)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == []


def test_a_skills_body_is_left_and_the_instruction_taken(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    body = (
        '[IMPORTANT: The user has invoked the "work" skill. The full skill content is loaded below.]\n\nSkill body.\n\n'
        "The user has provided the following instruction alongside the skill invocation: rename the gateway module\n\n"
        "[Runtime note: x]"
    )
    host.message("s1", "user", body, NOW)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "rename the gateway module")]


@pytest.mark.parametrize("source", ["cron", "subagent", "curator", "tool", "kanban"])
def test_the_machines_own_sessions_stay_out(memory: Memory, host: HostDb, source: str) -> None:
    talk(host, host.session("x1", source))
    talk(host, host.session("cron_7_20260101", "cli"))
    talk(host, host.session("bg_77", "cli"))
    talk(host, host.session("d1", "cli", model_config={"_delegate_from": "x1"}))
    assert memory.sessions.import_history(now=LATER).skipped == Counter({"background": 8})


def test_parts_images_and_numbers_are_text(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    parts = [{"type": "text", "text": "What breed is this dog?"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    host.message("s1", "user", parts, NOW)
    host.message("s1", "user", [{"type": "image_url", "image_url": {"url": "data:"}}], NOW + 1)
    host.message("s1", "user", "\x00json:{broken", NOW + 2)
    host.message("s1", "user", 4711, NOW + 3)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "What breed is this dog?"), ("user", "4711")]


def test_what_asked_not_to_be_remembered_is_skipped_with_its_answer(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    host.message("s1", "user", "Don't remember this: I am looking for another job.", NOW)
    memory.sessions.import_history(now=LATER)
    host.message("s1", "assistant", "Understood, looking for another job stays between us.", NOW + 1)
    host.message("s1", "user", "The canteen closes at two.", NOW + 2)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "The canteen closes at two.")]


def test_what_was_said_while_switched_off_is_skipped(memory: Memory, host: HostDb) -> None:
    switch_off(memory, "s1", NOW - 10)
    talk(host)
    switch_on(memory, "s1", NOW + 50)
    host.message("s1", "user", "The canteen closes at two.", NOW + 60)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "The canteen closes at two.")]


@pytest.mark.parametrize("renamed", [True, False])
def test_a_chat_off_by_its_key_is_skipped_until_it_is_on_again(memory: Memory, host: HostDb, renamed: bool) -> None:
    host.session("s1", "telegram", user_id="42", session_key="agent:main:telegram:dm:42")
    switch_off(memory, "agent:main:telegram:dm:42", NOW - 10)
    talk(host)
    assert memory.sessions.import_history(now=LATER).skipped == Counter({"switched off": 2})
    (marker,) = (memory.settings.home / "off").iterdir()
    if renamed:
        marker.rename(f"{marker}.ended-{int((NOW + 50) * 1e9)}")
    else:
        marker.unlink()
        memory.sessions.off.observe(NOW + 50)
    host.message("s1", "user", "Whispered while it was off.", NOW + 40)
    host.message("s1", "user", "The canteen closes at two.", NOW + 60)
    memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "The canteen closes at two.")]


# -- whose it is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "user"),
    [
        ({"source": "cli"}, "local"),
        ({"source": "oneshot"}, "local"),
        ({"source": "tui", "user_id": "root"}, "local"),
        ({"source": "telegram", "user_id": "42"}, "telegram:42"),
        ({"source": "api_server", "session_key": "k1"}, "api_server:key:k1"),
        ({"source": "api_server"}, "api_server:session:who"),
        ({"source": "discord"}, "discord:session:who"),
    ],
)
def test_scopes(memory: Memory, host: HostDb, columns: dict[str, str], user: str) -> None:
    host.session("who", **columns)
    talk(host, "who")
    memory.sessions.import_history(now=LATER)
    assert {row["scope"] for row in memory.store.rows("SELECT scope FROM messages")} == {f"default/{user}"}
    assert memory.found("staging", Scope(user=user))
    assert user == "local" or not memory.found("staging")


# -- compaction, branches ------------------------------------------------------------------------------------------


def test_rows_repeated_by_compaction_in_place_count_once(memory: Memory, host: HostDb) -> None:
    for number in range(4):
        talk(host, at=NOW + 10 * number)
    memory.sessions.import_history(now=LATER)
    host.compact_in_place("s1", keep=4)
    assert memory.sessions.import_history(now=LATER).skipped["duplicate"] == 4
    assert len(memory.archived()) == 8
    assert memory.found("staging database")


def test_rows_repeated_by_compaction_into_a_child_count_once(memory: Memory, host: HostDb) -> None:
    talk(host)
    host.update("sessions", "s1", end_reason="compression")
    host.session("s2", parent_session_id="s1")
    talk(host, "s2")  # the tail, copied with its times
    host.message("s2", "user", "The canteen closes at two.", NOW + 20)
    memory.sessions.import_history(now=LATER)
    assert [text for _, text in memory.archived()].count("The staging database runs on port 6380.") == 1
    assert {row["lineage"] for row in memory.store.rows("SELECT lineage FROM messages")} == {"s1"}


def test_a_turn_captured_under_the_child_claims_the_row_of_the_parent(memory: Memory, host: HostDb) -> None:
    memory.sessions.add_turn(turn(1, "The staging database runs on port 6380.", "Noted: staging uses port 6380.", session="s2"))
    talk(host)
    host.update("sessions", "s1", end_reason="compression")
    memory.sessions.import_history(now=LATER)
    host.session("s2", parent_session_id="s1")
    host.message("s2", "user", "The canteen closes at two.", NOW + 20)
    memory.sessions.import_history(now=LATER)
    assert Counter(memory.archived()) == Counter(
        {("user", "The staging database runs on port 6380."): 1, ("assistant", "Noted: staging uses port 6380."): 1,
         ("user", "The canteen closes at two."): 1}
    )  # fmt: skip


def test_a_new_child_of_another_kind_is_its_own_conversation(memory: Memory, host: HostDb) -> None:
    talk(host)
    host.session("s2", parent_session_id="s1")
    talk(host, "s2")
    memory.sessions.import_history(now=LATER)
    assert len(memory.archived()) == 4


# -- both ways in --------------------------------------------------------------------------------------------------


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_message_is_doubled_or_lost_whichever_way_comes_first(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Turns of one session, some texts repeated; each reaches us by the hook, by the import, or by both, in any order."""
    memory = open_memory(tmp_path_factory.mktemp("home"))
    host = HostDb(memory.settings.state_db, data.draw(st.sampled_from([22, 31])))
    host.session("s1")
    texts = data.draw(st.lists(st.sampled_from(["Restart the gateway now.", "Which port is it?", "go on"]), min_size=1, max_size=6))
    for number, text in enumerate(texts):
        at = NOW + 10 * number + data.draw(st.sampled_from([0, -5000, 3]))
        host.message("s1", "user", text, at)
        host.message("s1", "assistant", f"Answer to it: {text}", at + 1)
        if data.draw(st.booleans()):
            memory.sessions.import_history(now=LATER)
    captured = data.draw(st.permutations(range(len(texts))))
    for number in captured[: data.draw(st.integers(0, len(texts)))]:
        memory.sessions.add_turn(turn(number, texts[number], f"Answer to it: {texts[number]}", at=NOW + 10 * number + 2))
        if data.draw(st.booleans()):
            memory.sessions.import_history(now=LATER)
    memory.sessions.import_history(now=LATER)
    expected = Counter(("user", text) for text in texts) + Counter(("assistant", f"Answer to it: {text}") for text in texts)
    assert Counter(memory.archived()) == expected
    assert memory.store.value("SELECT count(*) FROM messages WHERE host_id IS NULL") == 0
    host.close()
    memory.store.close()


@pytest.mark.parametrize("import_first", [True, False])
def test_an_answer_with_a_footer_is_one_answer(memory: Memory, host: HostDb, import_first: bool) -> None:
    talk(host)
    captured = turn(1, "The staging database runs on port 6380.", "Noted: staging uses port 6380.\n\n— 2 tools, 1.2 s")
    if import_first:
        memory.sessions.import_history(now=LATER)
    memory.sessions.add_turn(captured)
    memory.sessions.import_history(now=LATER)
    assert [role for role, _ in memory.archived()] == ["user", "assistant"]


def test_the_hook_corrects_whose_message_it_is(memory: Memory, host: HostDb) -> None:
    host.session("s1", "custom")
    talk(host)
    memory.sessions.import_history(now=LATER)
    assert memory.found("staging") == []
    memory.sessions.add_turn(turn(1, "The staging database runs on port 6380.", "Noted: staging uses port 6380."))
    assert len(memory.found("staging")) == 2
    assert memory.found("staging", Scope(user="custom:session:s1")) == []


def test_a_turn_in_progress_is_left_to_the_hook(memory: Memory, host: HostDb) -> None:
    talk(host)
    assert memory.sessions.import_history(now=NOW + 30).added == 0
    assert memory.sessions.import_history(now=NOW + 62).added == 2


def test_times_of_a_clock_that_ran_ahead_hold_nothing_up(memory: Memory, host: HostDb) -> None:
    talk(host, at=NOW + 50_000)
    assert memory.sessions.import_history(now=NOW).added == 2


# -- what the user took back ---------------------------------------------------------------------------------------


def test_rewound_rows_are_not_taken_and_leave_when_they_were(memory: Memory, host: HostDb) -> None:
    talk(host)
    taken_back = host.message("s1", "user", "The vault code word is marmalade.", NOW + 10)
    host.message("s1", "assistant", "I noted the code word marmalade.", NOW + 11)
    memory.sessions.import_history(now=LATER)
    assert memory.found("marmalade")
    host.rewind("s1", taken_back)
    assert memory.sessions.import_history(now=LATER).withdrawn == 2
    assert memory.found("marmalade") == []
    assert memory.found("staging")


def test_a_captured_turn_rewound_before_the_import_leaves_too(memory: Memory, host: HostDb) -> None:
    talk(host)
    memory.sessions.import_history(now=LATER)
    memory.sessions.add_turn(turn(9, "The vault code word is marmalade.", "I noted the code word marmalade."))
    asked = host.message("s1", "user", "The vault code word is marmalade.", NOW + 10)
    host.message("s1", "assistant", "I noted the code word marmalade.", NOW + 11)
    host.rewind("s1", asked)
    memory.sessions.import_history(now=LATER)
    assert memory.found("marmalade") == []


def test_said_again_after_a_rewind_it_is_found_again(memory: Memory, host: HostDb) -> None:
    asked, _ = talk(host)
    memory.sessions.import_history(now=LATER)
    host.rewind("s1", asked)
    memory.sessions.import_history(now=LATER)
    memory.sessions.add_turn(turn(2, "The staging database runs on port 6380.", "Noted: staging uses port 6380.", at=NOW + 30))
    talk(host, at=NOW + 30)
    memory.sessions.import_history(now=LATER)
    assert len(memory.found("staging database")) >= 1
    assert len(memory.archived()) == 4


@pytest.mark.parametrize("seen", [True, False], ids=["its rows seen before", "its rows never seen"])
def test_a_retried_question_stays_with_its_second_answer_alone(memory: Memory, host: HostDb, seen: bool) -> None:
    """Hermes's `/retry`: the last exchange is taken back and the same words are said again, seconds later."""
    said = "Where does the marmalade stand?"
    asked, _ = talk(host)
    memory.sessions.add_turn(turn(10, said, "The marmalade stands in the pantry."))
    asked = host.message("s1", "user", said, NOW + 10)
    host.message("s1", "assistant", "The marmalade stands in the pantry.", NOW + 11)
    if seen:
        memory.sessions.import_history(now=LATER)
    host.rewind("s1", asked)
    memory.sessions.add_turn(turn(20, said, "The marmalade stands in the cellar."))
    host.message("s1", "user", said, NOW + 20)
    host.message("s1", "assistant", "The marmalade stands in the cellar.", NOW + 21)
    for _ in range(2):
        memory.sessions.import_history(now=LATER)
        texts = {one.text for one in memory.found("marmalade")}
        assert texts == {said, "The marmalade stands in the cellar."}


def test_a_deleted_session_leaves_and_a_pruned_one_stays(memory: Memory, host: HostDb) -> None:
    talk(host, host.session("old"), at=NOW - 90 * 86_400)
    host.session("fresh")
    host.message("fresh", "user", "The vault code word is marmalade.", NOW)
    memory.sessions.import_history(now=LATER)
    host.connection.execute("DELETE FROM messages")
    host.connection.execute("DELETE FROM sessions")
    memory.sessions.import_history(now=LATER)
    assert memory.found("marmalade") == []
    assert memory.found("staging")


def test_an_archived_session_is_not_quoted_until_it_is_brought_back(memory: Memory, host: HostDb) -> None:
    talk(host)
    memory.sessions.import_history(now=LATER)
    host.update("sessions", "s1", archived=1)
    memory.sessions.import_history(now=LATER)
    assert memory.found("staging") == []
    host.update("sessions", "s1", archived=0)
    memory.sessions.import_history(now=LATER)
    assert memory.found("staging")


def test_the_tail_of_an_archived_session_is_put_away_too(memory: Memory, host: HostDb) -> None:
    host.session("s1", archived=1)
    for number in range(6):
        host.message("s1", "user", f"Statement {number} about the staging rack.", NOW + number)
    while memory.sessions.import_history(2, now=LATER).more:
        assert memory.found("staging") == []
    assert len(memory.archived()) == 6
    assert memory.found("staging") == []
    host.update("sessions", "s1", archived=0)
    memory.sessions.import_history(now=LATER)
    assert len(memory.found("staging")) == 6


@pytest.mark.parametrize("when", [LATER, NOW - 31_536_000], ids=["now", "by a clock that is a year behind"])
def test_what_was_forgotten_does_not_come_back(memory: Memory, host: HostDb, when: float) -> None:
    talk(host)
    memory.sessions.import_history(now=LATER)
    ids = [row["id"] for row in memory.sessions.of_scope(Scope())]
    memory.sessions.forget(ids, Scope(), when)
    memory.store.set_meta("sessions.host_mark", "0")
    assert memory.sessions.import_history(now=LATER).skipped == Counter({"forgotten": 2})
    assert memory.archived() == []


# -- a file that can't be read -------------------------------------------------------------------------------------


def test_another_file_in_its_place_is_read_from_the_start_and_deletes_nothing(memory: Memory, host: HostDb) -> None:
    talk(host)
    memory.sessions.import_history(now=LATER)
    host.close()
    for leftover in memory.settings.hermes_home.glob("state.db*"):
        leftover.unlink()
    fresh = HostDb(memory.settings.state_db, host.schema)
    fresh.session("n1")
    for number in range(3):
        fresh.message("n1", "user", f"New statement {number} of the new file.", NOW + number)
    assert memory.sessions.import_history(now=LATER).added == 3
    assert memory.found("staging")
    fresh.close()


def test_a_missing_file_is_empty(memory: Memory) -> None:
    assert memory.sessions.import_history().outcome == "empty"
    assert memory.sessions.health().state is State.EMPTY
    assert not memory.settings.state_db.exists()


@pytest.mark.parametrize("damage", ["garbage", "truncated", "no columns", "directory"])
def test_a_damaged_file_is_reported_and_left_as_it_is(memory: Memory, damage: str) -> None:
    path = memory.settings.state_db
    if damage == "garbage":
        path.write_bytes(b"not a database at all" * 300)
    elif damage == "truncated":
        db = HostDb(path)
        talk(db)
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "no columns":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE messages(pk, body)")
        connection.close()
    else:
        path.mkdir()
    before = path.read_bytes() if path.is_file() else b""
    imported = memory.sessions.import_history(now=LATER)
    assert imported.outcome == ("empty" if damage == "directory" else "degraded")
    assert (path.read_bytes() if path.is_file() else b"") == before
    if damage != "directory":
        assert memory.sessions.health().state is State.DEGRADED
        assert memory.store.value("SELECT value FROM counters WHERE name = 'history_import_failed'") == 1


def test_a_locked_file_degrades_and_recovers(memory: Memory) -> None:
    host = HostDb(memory.settings.state_db)
    talk(host)
    host.connection.execute("PRAGMA journal_mode=DELETE")
    host.connection.execute("BEGIN EXCLUSIVE")
    assert memory.sessions.import_history(now=LATER).reason == "locked"
    assert memory.sessions.health().state is State.DEGRADED
    host.connection.execute("COMMIT")
    assert memory.sessions.import_history(now=LATER).added == 2
    assert memory.sessions.health().state is State.OK
    host.close()


def test_an_unfinished_write_of_the_host_is_waited_for(memory: Memory) -> None:
    host = HostDb(memory.settings.state_db)
    talk(host)
    host.close()
    assert memory.sessions.import_history(now=LATER).added == 2
    leave_unfinished(memory.settings.state_db)
    before = memory.settings.state_db.read_bytes()
    assert memory.sessions.import_history(now=LATER).reason == "unfinished"
    assert memory.settings.state_db.read_bytes() == before
    assert memory.sessions.health().state is State.OK
    assert "its next start mends that" in memory.sessions.health().detail
    with contextlib.closing(sqlite3.connect(memory.settings.state_db)) as opened_by_the_host:
        opened_by_the_host.execute("SELECT count(*) FROM messages").fetchone()
    assert memory.sessions.import_history(now=LATER).outcome == "ok"
    assert "mends" not in memory.sessions.health().detail


def test_a_newer_schema_is_read_as_long_as_it_can_be(memory: Memory) -> None:
    host = HostDb(memory.settings.state_db, 47)
    talk(host)
    assert memory.sessions.import_history(now=LATER).added == 2
    assert "newer than the tested" in memory.sessions.health().detail
    host.close()


def test_the_hosts_file_is_not_written(memory: Memory, host: HostDb) -> None:
    talk(host)
    host.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = memory.settings.state_db.read_bytes(), os.stat(memory.settings.state_db).st_mtime_ns
    memory.sessions.import_history(now=LATER)
    assert (memory.settings.state_db.read_bytes(), os.stat(memory.settings.state_db).st_mtime_ns) == before


def test_another_profiles_file_is_never_read(tmp_path: Path) -> None:
    root = HostDb(tmp_path / "state.db")
    talk(root)
    (tmp_path / "profiles").mkdir()
    memory = open_memory(tmp_path / "profiles" / "work")
    assert memory.sessions.import_history(now=LATER).outcome == "empty"
    assert memory.archived() == []
    memory.store.close()
    root.close()


@pytest.mark.parametrize("config", ["capture: {import_history: false}", "capture: {enabled: false}"])
def test_it_can_be_switched_off(tmp_path: Path, config: str) -> None:
    memory = open_memory(tmp_path / "home", config)
    host = HostDb(memory.settings.state_db)
    talk(host)
    assert memory.sessions.import_history(now=LATER).outcome == "off"
    assert memory.archived() == []
    host.close()
    memory.store.close()


def test_invalid_utf8_and_odd_types_are_read(memory: Memory, host: HostDb) -> None:
    host.session("s1")
    host.connection.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES('s1', 'user', CAST(x'546865206b6579ff' AS TEXT), ?)",
        (NOW,),
    )
    host.connection.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES('s1', 'user', x'5468652067617465', 'never')"
    )
    host.message("ghost", "user", "A row without its session.", NOW)
    imported = memory.sessions.import_history(now=LATER)
    assert memory.archived() == [("user", "The key\ufffd"), ("user", "The gate")]
    assert imported.skipped["orphan"] == 1
