"""Jobs that failed for good stay until somebody decides about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os import dead_letters as dead_letters_module
from memory_os.dead_letters import DeadLetters, dead_letters
from memory_os.errors import BadRequest
from memory_os.store import open_store


@pytest.fixture
def letters(tmp_path: Path) -> Iterator[DeadLetters]:
    store = open_store(tmp_path / "memory.db", [dead_letters])
    yield DeadLetters(store)
    store.close()


def test_a_letter_keeps_what_is_needed_to_run_the_job_again(letters: DeadLetters) -> None:
    number = letters.add("home:ingest:1", "ingest", ["wiki/raw/Übung 日本.md", "5-1"], "DocumentError", "can't", 3)
    letter = letters.one(number)
    assert (letter.function, letter.payload) == ("ingest", ["wiki/raw/Übung 日本.md", "5-1"])
    assert (letter.error, letter.message, letter.attempts) == ("DocumentError", "can't", 3)
    assert letter.first_at == letter.last_at > 0


def test_the_same_job_that_fails_again_is_the_same_letter(letters: DeadLetters) -> None:
    first = letters.add("a", "embed", [["h"]], "TimeoutError", "slow", 6)
    assert letters.add("a", "embed", [["h"]], "StoreError", "busy", 6) == first
    (letter,) = letters.all()
    assert (letter.attempts, letter.error) == (12, "StoreError")
    assert letter.last_at >= letter.first_at


def test_removed_letters_are_gone(letters: DeadLetters) -> None:
    first, second = (letters.add(job, "embed", [[job]], "E", "m", 1) for job in ("a", "b"))
    assert letters.hashes() == {"a", "b"}
    assert letters.remove(first).job == "a"
    assert [letter.job for letter in letters.all()] == ["b"]
    with pytest.raises(BadRequest, match=f"no dead letter {first}"):
        letters.one(first)
    assert letters.one(second).job == "b"


def test_a_later_state_of_the_same_file_settles_its_letters_only(letters: DeadLetters) -> None:
    letters.add("a", "ingest", ["x.md", "1"], "E", "m", 1)
    letters.add("b", "ingest", ["y.md", "1"], "E", "m", 1)
    letters.add("c", "curate", ["x.md", "1"], "E", "m", 1)
    letters.supersede("ingest", "x.md")
    assert [letter.job for letter in letters.all()] == ["b", "c"]


@pytest.mark.parametrize("name", ["a.md", 'q"x.md', "Büro.md", "заметка.md", "ملاحظة.md", "笔记.md", "メモ.md", "\udce4.md"])
def test_letters_are_settled_by_names_in_any_script(letters: DeadLetters, name: str) -> None:
    letters.add("a", "ingest", [name, "1"], "E", "m", 1)
    letters.add("b", "ingest", [name], "E", "m", 1)
    letters.add("c", "ingest", [name + "x", "1"], "E", "m", 1)
    letters.add("d", "ingest", [name.upper() + "X", "1"], "E", "m", 1)
    letters.supersede("ingest", name)
    assert [letter.job for letter in letters.all()] == ["c", "d"]


def test_no_letter_is_read_to_settle_others(letters: DeadLetters, monkeypatch: pytest.MonkeyPatch) -> None:
    letters.add("a", "ingest", ["y.md", "1"], "E", "m", 1)
    monkeypatch.setattr(dead_letters_module, "_letter", None)
    letters.supersede("ingest", "x.md")
    assert letters.count() == 1


def test_a_message_of_any_length_is_kept_short(letters: DeadLetters) -> None:
    number = letters.add("a", "embed", [[]], "E", "x" * 100_000, 1)
    assert len(letters.one(number).message) <= 500
