"""A session that several people share: each one's memory is made of what they said and were told, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memory_os.memory import Author, Scope, content_hash

from sessions.conftest import NOW, Memory, turn
from sessions.host import HostDb

ONE, OTHER = Scope(user="telegram:1"), Scope(user="telegram:2")
SAID = "The parking permit office is in the yellow annex."
LATER = NOW + 10_000


@pytest.fixture
def host(memory: Memory) -> Iterator[HostDb]:
    opened = HostDb(memory.settings.state_db)
    yield opened
    opened.close()


def test_another_members_answer_is_no_neighbour(memory: Memory) -> None:
    memory.sessions.add_turn(turn(1, "Where is the lagoon key?", "The lagoon key hangs behind the boiler.", user=ONE.user))
    memory.sessions.add_turn(turn(2, "My lawnmower needs a new blade.", "A blade is easy to order.", user=OTHER.user))
    memory.sessions.add_turn(turn(3, "Then I look behind the boiler.", "Good luck with it there.", user=ONE.user))
    rows = memory.store.rows("SELECT context FROM messages WHERE scope = ?", (OTHER.key,))
    assert [row["context"] for row in rows] == ["", "user: My lawnmower needs a new blade."]
    said = next(one for one in memory.found("look behind boiler", ONE) if one.author is Author.USER)
    assert said.context == "assistant: The lagoon key hangs behind the boiler.", "one's own answer, across another's turn"


def test_an_imported_question_has_no_answer_of_another_member(memory: Memory, host: HostDb) -> None:
    memory.sessions.add_turn(turn(1, "Where is the lagoon key?", "The lagoon key hangs behind the boiler.", user=OTHER.user))
    host.session("s1", "telegram", user_id="1")
    host.message("s1", "user", "My lawnmower needs a new blade.", NOW + 50)
    memory.sessions.import_history(now=LATER)
    assert [one.context for one in memory.found("lawnmower", ONE)] == [""]


def test_the_same_words_are_found_by_each_who_said_them(memory: Memory) -> None:
    for number, scope in enumerate((ONE, OTHER)):
        memory.sessions.add_turn(turn(number, SAID, "The yellow annex, noted.", user=scope.user))
    assert [len(memory.found("yellow annex", scope)) for scope in (ONE, OTHER)] == [2, 2]


def test_a_repeat_takes_the_place_of_its_owners_message_only(memory: Memory) -> None:
    for number, scope in enumerate((ONE, OTHER, OTHER, ONE)):
        memory.sessions.add_turn(turn(number, SAID, "", user=scope.user))
    first = memory.store.row("SELECT * FROM messages ORDER BY id LIMIT 1")
    assert first is not None
    with memory.store.write() as db:
        memory.sessions.archive.delete(db, [first])
    standing = [(row["scope"], row["standing"]) for row in memory.store.rows("SELECT * FROM messages ORDER BY id")]
    assert standing == [(OTHER.key, "indexed"), (OTHER.key, "repeat"), (ONE.key, "indexed")]


def test_two_peoples_turns_of_one_id_are_two(memory: Memory) -> None:
    for scope, text in ((ONE, "The anvil shop closes at seven."), (OTHER, "The violin teacher lives at number forty.")):
        captured = turn(1, text, "Noted, thank you for telling me.", user=scope.user)
        assert memory.sessions.add_turn(captured)
        assert not memory.sessions.add_turn(captured)
    assert len(memory.archived()) == 4


def test_an_answer_is_matched_within_its_owners_turn(memory: Memory, host: HostDb) -> None:
    """Two turns have one id; the host's answer without a footer belongs to the one that asked the question."""
    memory.sessions.add_turn(turn(1, "When does the anvil shop close?", "The anvil shop closes at seven.\n\n— 1 tool", user=ONE.user))
    memory.sessions.add_turn(turn(1, SAID, "The anvil shop closes at seven.\n\n— 2 tools", user=OTHER.user))
    host.session("s1", "telegram", user_id="2")
    host.message("s1", "user", SAID, NOW + 1)
    host.message("s1", "assistant", "The anvil shop closes at seven.", NOW + 2)
    memory.sessions.import_history(now=LATER)
    claimed = memory.store.rows("SELECT scope FROM messages WHERE host_id IS NOT NULL")
    assert [row["scope"] for row in claimed] == [OTHER.key] * 2


def test_what_another_said_long_ago_stays_theirs(memory: Memory, host: HostDb) -> None:
    host.session("s1", "telegram", user_id="1")
    host.message("s1", "user", SAID, NOW - 90_000)
    memory.sessions.import_history(now=LATER)
    memory.sessions.add_turn(turn(1, SAID, "", user=OTHER.user))
    assert [len(memory.found("yellow annex", scope)) for scope in (ONE, OTHER)] == [1, 1]


def test_a_members_turn_imported_as_the_owners_becomes_theirs_with_its_own_neighbour(memory: Memory, host: HostDb) -> None:
    """A turn of some minutes is imported, as the session's owner's, before the hook tells whose it is."""
    memory.sessions.add_turn(turn(1, SAID, "The yellow annex closes at noon.", user=ONE.user))
    host.session("s1", "telegram", user_id="1")
    for at, role, text in ((1, "user", SAID), (1, "assistant", "The yellow annex closes at noon."), (50, "user", SAID)):
        host.message("s1", role, text, NOW + at)
    memory.sessions.import_history(now=LATER)
    assert memory.store.value("SELECT count(*) FROM messages WHERE standing = 'repeat'") == 1
    memory.sessions.add_turn(turn(50, SAID, "", user=OTHER.user))
    assert [one.context for one in memory.found("parking permit", OTHER)] == [""]
    assert len([one for one in memory.found("parking permit", ONE) if one.content_hash == content_hash(SAID)]) == 1
    assert len(memory.archived()) == 3


def test_the_owners_repeat_gets_the_place_of_a_row_that_was_a_members(memory: Memory, host: HostDb) -> None:
    host.session("s1", "telegram", user_id="1")
    for at in (1, 50):
        host.message("s1", "user", SAID, NOW + at)
    memory.sessions.import_history(now=LATER)
    memory.sessions.add_turn(turn(1, SAID, "", user=OTHER.user))
    assert [len(memory.found("parking permit", scope)) for scope in (ONE, OTHER)] == [1, 1]
