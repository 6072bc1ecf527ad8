"""Capture: spool records become memory once; our own block, secrets and what asked not to be kept do not."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.capture import Capture, Captured, strip_fence, wants_no_memory
from memory_os.errors import BadRequest
from memory_os.facts import Facts
from memory_os.facts.schema import facts as facts_migrations
from memory_os.memory import Scope
from memory_os.recall.ledger import Missed
from sessions.conftest import LOCAL, NOW, Memory, open_memory, switch_off, switch_on

BLOCK = """<memory-context>
Recalled by memory-os; quoted records of earlier conversations and notes.
[facts]
- (f:abcdefgh) 2026-11-02, agent noted, trust 0.62: "the vault is in the cellar"
</memory-context>"""


class Home:
    """A home with everything capture writes to."""

    def __init__(self, memory: Memory) -> None:
        memory.store.migrate(facts_migrations)
        self.memory = memory
        self.facts = Facts(memory.store, memory.index, memory.settings)
        self.capture = Capture(memory.store, memory.sessions, self.facts, memory.settings)

    def said(self, user: Any, assistant: Any = "A sufficiently long answer.", /, **more: Any) -> Captured:
        return self.capture.take(turn_record(user, assistant, **more))

    def wrote(self, action: str, content: str = "", old_text: str = "", **more: Any) -> Captured:
        record = {"v": 1, "type": "memory_write", "at": NOW, "action": action, "target": "memory", "session_id": "s1",
                  "content": content, "old_text": old_text, "user": "local", "profile": "default", **more}  # fmt: skip
        return self.capture.take(record)

    def held(self, scope: Scope = LOCAL) -> list[str]:
        return [fact.text for fact in self.facts.current(scope, NOW + 10)]


def turn_record(user: Any, assistant: Any = "A sufficiently long answer.", /, **more: Any) -> dict[str, Any]:
    return {
        "v": 1, "type": "turn", "turn_id": "t1", "session_id": "s1", "parent_session_id": "", "platform": "cli",
        "user": "local", "profile": "default", "project": "", "model": "m", "at": NOW, "user_message": user,
        "assistant_response": assistant, **more,
    }  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    memory = open_memory(tmp_path / "home")
    yield Home(memory)
    memory.store.close()


# -- turns ---------------------------------------------------------------------------------------------------------


def test_a_turn_is_stored_once(home: Home) -> None:
    assert home.said("The canteen closes at two.").outcome == "stored"
    assert home.said("The canteen closes at two.").outcome == "known"
    assert len(home.memory.archived()) == 2


def test_a_turn_without_an_id_is_stored_once_too(home: Home) -> None:
    assert home.said("The canteen closes at two.", turn_id="").outcome == "stored"
    assert home.said("The canteen closes at two.", turn_id="").outcome == "known"
    assert home.said("The canteen closes at two.", turn_id="", at=NOW + 5).outcome == "stored"


def test_what_was_recalled_is_not_captured_as_said(home: Home) -> None:
    home.said(f"Where is the vault?\n\n{BLOCK}", f"You noted it earlier.\n{BLOCK}\nIn the cellar then.")
    assert "the vault is in the cellar" not in str(home.memory.archived())
    assert home.memory.archived()[1] == ("assistant", "You noted it earlier.\n\nIn the cellar then.")


def test_a_wish_not_to_be_remembered_covers_the_answer(home: Home) -> None:
    captured = home.said("Don't remember this: I will resign in May.", "Your resignation in May stays between us.")
    assert captured == Captured("skipped", "asked not to be remembered")
    assert home.memory.archived() == []
    assert home.memory.store.value("SELECT last_reason FROM counters WHERE name = 'capture_skipped'").startswith("turn")


@pytest.mark.parametrize("platform", ["cron", "subagent", "curator", "tool"])
def test_the_machines_own_turns_are_not_kept(home: Home, platform: str) -> None:
    assert home.said("Check the disks.", platform=platform).outcome == "skipped"


@pytest.mark.parametrize("session", ["cron_9_20260101_000000", "bg_12"])
def test_background_sessions_are_not_kept(home: Home, session: str) -> None:
    assert home.said("Check the disks.", session_id=session).outcome == "skipped"


def test_a_session_switched_off_is_not_kept_until_it_is_on(home: Home) -> None:
    switch_off(home.memory, "s1")
    later = 4_000_000_000.0
    assert home.said("Secret plan.", at=later).reason == "memory is off in this session"
    switch_on(home.memory, "s1", time.time())
    assert home.said("Open plan for the garden.", at=later).outcome == "stored"


def test_a_turn_right_after_on_is_kept_also_where_no_history_is_imported(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "home", "capture: {import_history: false}")
    home = Home(memory)
    marker = switch_off(memory, "s1", NOW)
    assert home.said("Secret plan.", at=NOW + 10).reason == "memory is off in this session"
    marker.rename(f"{marker}.ended-{int((NOW + 20) * 1e9)}")
    assert home.said("Open plan for the garden.", at=NOW + 21).outcome == "stored"
    assert home.said("A secret that came late.", turn_id="t2", at=NOW + 19).reason == "memory is off in this session"
    assert tuple(memory.store.row("SELECT since, until FROM off_periods") or ()) == (NOW, NOW + 20)
    memory.store.close()


def test_a_chat_switched_off_by_the_hosts_key_is_not_kept(home: Home) -> None:
    switch_off(home.memory, "agent:main:telegram:42")
    later = 4_000_000_000.0
    off = {"at": later, "session_key": "agent:main:telegram:42"}
    assert home.said("Secret plan.", **off).reason == "memory is off in this session"
    assert home.wrote("add", "A secret.", **off).reason == "memory is off in this session"
    assert home.said("Another chat's plan.", at=later, session_key="agent:main:telegram:43").outcome == "stored"
    assert home.held() == []


def test_capture_off_keeps_nothing(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "home", "capture: {enabled: false}")
    assert Home(memory).said("The canteen closes at two.").outcome == "skipped"
    memory.store.close()


@pytest.mark.parametrize(
    "content",
    [[{"type": "text", "text": "What breed is this?"}, {"type": "image_url", "image_url": {}}], 42, None, {"text": "x"}, ""],
)
def test_content_of_any_shape_is_taken(home: Home, content: Any) -> None:
    assert home.said(content, "An answer that is long enough.").outcome == "stored"


@given(user=st.text(st.characters()), answer=st.text(st.characters()), session=st.text(st.characters(), max_size=20))
def test_no_text_breaks_capture(tmp_path_factory: pytest.TempPathFactory, user: str, answer: str, session: str) -> None:
    record = turn_record(user + "\ud800", answer, session_id=session, project=session, turn_id=session)
    memory = _shared_memory(tmp_path_factory)
    assert memory.capture.take(record).outcome in ("stored", "known", "skipped")


_SHARED: dict[str, Home] = {}


def _shared_memory(factory: pytest.TempPathFactory) -> Home:
    if "home" not in _SHARED:
        _SHARED["home"] = Home(open_memory(factory.mktemp("shared") / "home"))
    return _SHARED["home"]


def test_two_users_interleaved_stay_apart(home: Home) -> None:
    for number in range(4):
        user = f"telegram:{number % 2}"
        home.said(f"My bicycle lock opens with parrot{number}.", turn_id=f"t{number}", session_id=user, user=user, platform="telegram")
    found = home.memory.found("bicycle lock", Scope(user="telegram:0"))
    locks = {one.text for one in found if "parrot" in one.text}
    assert locks == {"My bicycle lock opens with parrot0.", "My bicycle lock opens with parrot2."}


@pytest.mark.parametrize(
    "record",
    [{}, {"v": 2, "type": "turn"}, {"v": 1, "type": "surprise"}, {"v": 1, "type": None}, {"v": 1, "type": "missed", "what": "?"},
     {"v": 1, "type": "memory_write", "action": "explode", "target": "memory"}],
)  # fmt: skip
def test_a_record_nobody_writes_is_refused(home: Home, record: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        home.capture.take(record)


DELEGATED = {"v": 1, "type": "delegation", "turn_id": "t1", "session_id": "s1", "child_session_id": "c1", "at": NOW,
             "user": "local", "profile": "default", "platform": "cli", "task": "Count the boats in the basin",
             "result": "There are 14 boats in the basin.", "status": "completed"}  # fmt: skip


def test_delegated_work_is_the_parents_and_found_once(home: Home) -> None:
    assert home.capture.take(DELEGATED) == Captured("stored") and home.capture.take(DELEGATED) == Captured("known")
    assert home.said("How many boats are there?", "I asked around: 14.").outcome == "stored"
    (found,) = [one for one in home.memory.found("boats basin") if "14 boats" in one.text]
    assert found.session_id == "s1" and "Count the boats" in found.text and found.author == "agent"
    assert not home.memory.found("boats basin", Scope(user="telegram:2"))


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"status": "failed", "result": ""}, "stored"),
        ({"task": "", "result": ""}, "skipped"),
        ({"platform": "subagent"}, "skipped"),
        ({"asked": "Don't remember this."}, "skipped"),
        ({"task": 7, "result": None}, "skipped"),
        ({"task": "the token is ghp_" + "a1B2c3D4" * 5}, "stored"),
    ],
)
def test_what_of_delegated_work_is_kept(home: Home, more: dict[str, Any], outcome: str) -> None:
    assert home.capture.take({**DELEGATED, **more}).outcome == outcome
    assert "a1B2c3D4" not in str([tuple(row) for row in home.memory.store.rows("SELECT text FROM messages")])


def window_of(*turns: tuple[str, str], **more: Any) -> dict[str, Any]:
    said = [{"user_message": question, "assistant_response": answer} for question, answer in turns]
    return {"v": 1, "type": "compaction", "session_id": "s1", "platform": "cli", "user": "local", "profile": "default",
            "at": NOW + 5, "turns": said, **more}  # fmt: skip


KEY, LADDER = ("Where is the spare key of the barn?", "Under the third pot."), ("And the ladder of the barn?", "In the shed.")


def texts(home: Home) -> list[str]:
    return [row["text"] for row in home.memory.store.rows("SELECT text FROM messages ORDER BY id")]


def test_before_a_compaction_what_nobody_captured_is_captured_once(home: Home) -> None:
    home.said(*KEY)
    for _ in range(2):
        home.capture.take(window_of(KEY, LADDER))
    assert texts(home) == [*KEY, *LADDER]
    assert home.memory.store.value("SELECT value FROM counters WHERE name = 'compaction_captured'") == 1


def test_a_compaction_brings_nothing_back_and_guesses_nobody(home: Home) -> None:
    home.said(*KEY)
    home.memory.sessions.forget([row["id"] for row in home.memory.store.rows("SELECT id FROM messages")], LOCAL, NOW + 1)
    secretive = ("Don't remember this: the ladder is broken.", "All right.")
    home.capture.take(window_of(KEY, secretive, LADDER, ("Forget that.", "Done.")))
    assert home.capture.take(window_of(LADDER, user="telegram:2", platform="telegram")).reason == "others may have said it"
    assert texts(home) == []


def test_of_a_chat_that_was_off_for_a_while_nothing_is_taken_from_the_window(home: Home) -> None:
    switch_off(home.memory, "s1")
    assert home.capture.take(window_of(KEY)).outcome == "skipped"
    switch_on(home.memory, "s1", NOW)
    assert home.capture.take(window_of(KEY)).outcome == "skipped" and texts(home) == []


@pytest.mark.parametrize("turns", [None, "x", [3, None, {}], [{"user_message": 3}], {"user_message": "x"}])
def test_a_window_of_any_shape_is_taken(home: Home, turns: Any) -> None:
    assert home.capture.take({**window_of(), "turns": turns}).outcome in ("known", "stored")


def test_a_missed_recall_is_counted(home: Home) -> None:
    record = {"v": 1, "type": "missed", "at": NOW, "what": "recall", "reason": "deadline", "milliseconds": 312}
    assert home.capture.take(record).outcome == "counted"
    row = home.memory.store.row("SELECT value, last_reason FROM counters WHERE name = 'recall_missed'")
    assert row is not None
    assert tuple(row) == (1, "deadline after 312 ms")


def test_the_turn_a_missed_recall_was_for_is_told_and_counted_once_that_is_on_record(home: Home) -> None:
    told: list[Missed] = []
    home.capture.came_late = told.append
    record = {"v": 1, "type": "missed", "at": NOW, "what": "recall", "reason": "timeout", "milliseconds": 312}
    home.capture.take({**record, "what": "tool", "turn_id": "t"})
    home.capture.take(record)  # of a plugin that did not say so yet
    assert told == []
    home.capture.take({**record, "turn_id": "t", "session_id": "s", "platform": "telegram", "user": "telegram:4", "profile": "p"})
    assert told == [Missed("t", "s", "p/telegram:4", "telegram", NOW, "timeout after 312 ms", 312.0)]

    def locked(_: Missed) -> None:
        raise sqlite3.OperationalError("database is locked")

    home.capture.came_late = locked
    with pytest.raises(sqlite3.OperationalError):
        home.capture.take({**record, "turn_id": "t"})
    assert home.memory.store.value("SELECT value FROM counters WHERE name = 'recall_missed'") == 2


# -- the host's memory tool ----------------------------------------------------------------------------------------


def test_entries_are_mirrored_with_their_source(home: Home) -> None:
    home.wrote("add", "Prefers tabs over spaces", target="user")
    (fact,) = home.facts.current(LOCAL, NOW + 10)
    assert (fact.text, fact.category, fact.origin, fact.session_id) == ("Prefers tabs over spaces", "user_pref", "memory:user", "s1")


def test_a_replaced_entry_replaces_the_fact(home: Home) -> None:
    home.wrote("add", "The build runs on Jenkins")
    home.wrote("replace", "The build runs on Buildkite", "The build runs on Jenkins", at=NOW + 1)
    assert home.held() == ["The build runs on Buildkite"]
    home.wrote("replace", "The build runs on Buildkite", "The build runs on Jenkins", at=NOW + 1)
    assert home.held() == ["The build runs on Buildkite"]


def test_a_part_of_an_entry_names_it_when_it_is_the_only_one(home: Home) -> None:
    home.wrote("add", "The build runs on Jenkins")
    home.wrote("add", "Deploys run on Tuesdays")
    home.wrote("remove", old_text="Jenkins")
    assert home.held() == ["Deploys run on Tuesdays"]
    home.wrote("add", "Backups run on Sundays")
    home.wrote("remove", old_text="run on")
    assert len(home.held()) == 2


def test_a_replacement_of_what_was_never_mirrored_is_an_addition(home: Home) -> None:
    home.wrote("replace", "The build runs on Buildkite", "something older")
    assert home.held() == ["The build runs on Buildkite"]


def test_an_entry_of_one_user_stays_theirs(home: Home) -> None:
    home.wrote("add", "Lives in Porto", user="telegram:1", platform="telegram")
    home.wrote("remove", old_text="Lives in Porto", user="telegram:2", platform="telegram")
    assert home.held(Scope(user="telegram:1")) == ["Lives in Porto"]
    assert home.held() == []


def test_secrets_and_empty_entries_are_not_mirrored(home: Home) -> None:
    home.wrote("add", "DB_PASSWORD=abc123xyz is the staging password")
    assert "abc123xyz" not in str(home.held())
    assert home.wrote("add", "   ").outcome == "skipped"


def test_a_replay_brings_nothing_forgotten_back(home: Home) -> None:
    home.wrote("add", "Lives in Porto", at=NOW)
    for forgotten_at in (NOW + 100, NOW + 300):
        (fact,) = home.facts.current(LOCAL, NOW + 200)
        home.facts.forget(fact.id, forgotten_at)
        for said_at in (NOW, forgotten_at):
            assert home.wrote("add", "Lives in Porto", at=said_at) == Captured("skipped", "forgotten since")
        home.wrote("add", "Lives in Porto", at=forgotten_at + 1)


def test_a_secret_entry_stays_forgotten(home: Home) -> None:
    home.wrote("add", "DB_PASSWORD=abc123xyz is the staging password")
    (fact,) = home.facts.current(LOCAL, NOW + 10)
    home.facts.forget(fact.id, NOW + 100)
    assert home.wrote("add", "DB_PASSWORD=abc123xyz is the staging password").reason == "forgotten since"


def test_what_one_user_forgot_another_may_say(home: Home) -> None:
    home.wrote("add", "Lives in Porto")
    (fact,) = home.facts.current(LOCAL, NOW + 10)
    home.facts.forget(fact.id, NOW + 100)
    assert home.wrote("add", "Lives in Porto", user="telegram:1", platform="telegram").outcome == "stored"


# -- the fence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"before\n{BLOCK}\nafter", "before\n\nafter"),
        (BLOCK, ""),
        (f"{BLOCK}\n{BLOCK}x", "x"),
        ("a <memory-context>\n[facts]\n- never closed", "a"),
        ("a <memory-context>\nopen\n\nnext paragraph", "a \n\nnext paragraph"),
        ("only a close </memory-context> tag", "only a close  tag"),
        ("&lt;memory-context&gt;quoted&lt;/memory-context&gt; rest", "rest"),
        ("<MEMORY-CONTEXT >x</ memory-context> rest", "rest"),
        ('As recalled:\n- (s:abcdefgh) 2026-11-02, user said: "the vault"\nso it is there', "As recalled:\nso it is there"),
        ("plain text stays  as it is\n\n\n\nreally", "plain text stays  as it is\n\n\n\nreally"),
        ("the memory context is large", "the memory context is large"),
    ],
)
def test_the_fence_leaves(text: str, rest: str) -> None:
    assert strip_fence(text) == rest


@given(st.text(), st.text())
def test_nothing_inside_a_closed_fence_survives(before: str, inside: str) -> None:
    text = f"{before}\n<memory-context>\nMARKER{inside}</memory-context>"
    assert "MARKER" not in strip_fence(text) or "MARKER" in before + inside


def test_a_megabyte_of_fences_is_quick() -> None:
    assert strip_fence("<memory-context>" * 60_000) == ""
    assert strip_fence("<memory-context>x</memory-context>" * 30_000) == ""


# -- "don't remember this" -----------------------------------------------------------------------------------------

ORDERS = [
    "Don't remember this.", "Please don't remember this: my salary is 5000", "off the record, I plan to leave",
    "I plan to leave. This is off the record.", "My code is 1, don't remember that please",
    "Do not store this message.", "DON’T REMEMBER THIS!", "keep this out of your memory",
    "Between us: I am looking for a job.", "Merk dir das nicht", "Bitte nicht speichern",
    "Ich kündige bald, bitte merk dir das nicht.", "Das bleibt unter uns.", "Não guarde isso, por favor",
    "não se lembre disso", "No recuerdes esto", "No lo guardes.", "Ne retiens pas ça, s'il te plaît",
    "n'enregistre pas ce message", "Non ricordare questo", "не запоминай это", "Мой доход 5, это между нами",
    "Пожалуйста, не сохраняй это сообщение.", "لا تتذكر هذا", "لا تحفظ هذه الرسالة، راتبي 5000", "请不要记住这个",
    "别记住这件事，我要辞职", "不要保存这条消息", "これは覚えないでください", "オフレコで、来月辞めます",
    "来月辞めます。これは記録しないで", "이건 기억하지 마세요", "A long story. " * 400 + "Don't remember this.",
]  # fmt: skip

TALK = [
    "I don't remember this function", "don't remember this function at all",
    'What happens when I say "don\'t remember this"?', 'Add a test for: "don\'t remember this".', "remember this",
    "Edit the file, don't save it", "don't store this in redis but in postgres", "off the record store sales",
    "Why don't you remember this?", "You never remember this setting", "Ich merke mir das nicht so gut",
    "Das kann ich mir nicht merken, wie geht das?", "não me lembro disso", "no recuerdo esto",
    "je ne retiens pas les noms", "не помню это", "لا أتذكر هذا", "我不记得这个函数", "覚えていません",
    "この関数は覚えにくいです", "", "?!",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_not_to_remember(text: str) -> None:
    assert wants_no_memory(text)


@pytest.mark.parametrize("text", TALK)
def test_talk_about_remembering_is_no_order(text: str) -> None:
    assert not wants_no_memory(text)


def test_a_megabyte_is_judged_by_its_ends() -> None:
    assert not wants_no_memory("please " * 150_000)
    assert wants_no_memory("word " * 200_000 + ". Don't remember this.")
