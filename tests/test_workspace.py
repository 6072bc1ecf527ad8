"""The host's memory files are read and never written; CREATIVE.md is ours, and the user's lines in it stay."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import BadRequest, HostError
from memory_os.memory import Scope, State
from memory_os.tooling import Caller
from memory_os.workspace import Item, Workspace, entries_of
from memory_os.workspace.creative import LEARNINGS, QUESTIONS, TEMPLATE, parse, with_cycles, with_item, without_item
from sessions.conftest import LOCAL, NOW, Memory, open_memory

HERE = Caller(scope=LOCAL, now=NOW)


@pytest.fixture
def workspace(memory: Memory) -> Workspace:
    memory.settings.memories_dir.mkdir()
    return Workspace(memory.settings, memory.store, memory.index)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = open_memory(tmp_path / "home")
    yield opened
    opened.store.close()


def write(workspace: Workspace, name: str, text: str | bytes) -> Path:
    path = workspace.settings.memories_dir / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# -- the host's files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ("Prefers tabs over spaces", "Prefers tabs over spaces"),
        ("Prefers tabs over spaces.", "prefers  tabs over spaces"),
        ("User prefers tabs over spaces in Go files", "prefers tabs over spaces"),
        ("Bevorzugt Tabulatoren gegenüber Leerzeichen", "bevorzugt tabulatoren gegenüber leerzeichen"),
        ("Prefere tabulações a espaços", "Prefere tabulações a espaços"),
        ("Предпочитает табуляцию пробелам", "Предпочитает табуляцию пробелам"),
        ("يفضل علامات الجدولة على المسافات", "يفضل علامات الجدولة على المسافات"),
        ("喜欢制表符胜过空格", "喜欢制表符胜过空格。"),
        ("スペースよりタブを好む", "スペースよりタブを好む"),
    ],
)
def test_what_stands_in_the_files_is_known(workspace: Workspace, entry: str, asked: str) -> None:
    write(workspace, "USER.md", f"Something else\n§\n{entry}")
    assert workspace.in_prompt(asked)
    assert workspace.in_files(asked) == ["USER.md"]
    assert not workspace.in_prompt("Deploys on Tuesdays only")


def test_a_word_is_no_entry(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", "The database of the staging system is called walrus")
    assert not workspace.in_prompt("database")
    assert not workspace.in_prompt("")


def test_an_entry_that_went_is_no_longer_known(workspace: Workspace) -> None:
    path = write(workspace, "MEMORY.md", "Prefers tabs over spaces")
    assert workspace.in_prompt("Prefers tabs over spaces")
    path.write_text("Something of quite another length")
    assert not workspace.in_prompt("Prefers tabs over spaces")
    path.unlink()
    assert not workspace.in_prompt("Something of quite another length")


def test_files_the_host_leaves_out_of_the_prompt_are_not_in_it(workspace: Workspace) -> None:
    write(workspace, "USER.md", "Prefers tabs over spaces")
    (workspace.settings.hermes_home / "config.yaml").write_text("memory:\n  user_profile_enabled: false\n")
    assert not workspace.in_prompt("Prefers tabs over spaces")
    assert workspace.in_files("Prefers tabs over spaces") == ["USER.md"]
    (workspace.settings.hermes_home / "config.yaml").write_text("memory: [not, what, is, expected]\n# longer now\n")
    assert workspace.in_prompt("Prefers tabs over spaces")


def test_the_hosts_files_are_never_written(workspace: Workspace) -> None:
    files = [write(workspace, name, "An entry of the host\n§\nAnother") for name in ("MEMORY.md", "USER.md")]
    for path in files:
        path.chmod(0o400)
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    workspace.in_prompt("An entry of the host")
    workspace.learn("Something new", NOW)
    workspace.health()
    workspace.first_turn_lines(HERE)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before


def test_entries() -> None:
    assert entries_of("\ufeffone\r\n§\r\ntwo\n§\n\n§\nthree § still three") == ["one", "two", "three § still three"]
    assert entries_of("") == []


def test_an_unreadable_file_degrades(workspace: Workspace) -> None:
    (workspace.settings.memories_dir / "MEMORY.md").mkdir()
    assert not workspace.in_prompt("anything at all here")
    assert workspace.health().state is State.DEGRADED
    assert workspace.store.value("SELECT value FROM counters WHERE name = 'workspace_unreadable'") == 1


def test_invalid_bytes_are_read(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", b"Prefers tabs over spaces\n\xc2\xa7\nbroken \xff byte")
    assert workspace.in_prompt("Prefers tabs over spaces")


# -- CREATIVE.md ---------------------------------------------------------------------------------------------------


def test_learnings_and_questions_are_kept_and_shown_on_a_first_turn(workspace: Workspace) -> None:
    assert workspace.learn("The staging database listens on 6380.", NOW)
    assert workspace.ask("Why is the nightly build slow?", NOW)
    assert not workspace.learn("the staging  database listens on 6380.", NOW + 9)
    lines = workspace.first_turn_lines(HERE)
    assert re.fullmatch(r'- \(w:[a-z2-7]{8}\) 2026-05-28, learning: "The staging database listens on 6380\."', lines[0])
    assert lines[1].endswith('open question: "Why is the nightly build slow?"')


def test_no_other_sender_is_shown_them(workspace: Workspace) -> None:
    workspace.learn("The staging database listens on 6380.", NOW)
    assert workspace.first_turn_lines(Caller(scope=Scope(user="telegram:1"))) == []


def test_lines_are_found_by_recall_and_leave_with_the_line(workspace: Workspace, memory: Memory) -> None:
    workspace.learn("The staging database listens on 6380.", NOW)
    assert len(memory.found("staging database")) == 1
    assert workspace.drop("The staging database listens on 6380.")
    assert not workspace.drop("The staging database listens on 6380.")
    assert memory.found("staging database") == []


def test_the_users_own_text_stays(workspace: Workspace) -> None:
    mine = "# My notes\r\n\r\nfree text – ünïcode\r\n\r\n## learnings\r\n* mine, undated\r\n\r\n## Recipes\r\n- soup\r\n"
    path = write(workspace, "CREATIVE.md", mine)
    workspace.learn("A new one.", NOW)
    workspace.ask("And this?", NOW)
    text = path.read_bytes().decode()
    assert "\n" not in text.replace("\r\n", "")
    assert [line for line in text.split("\r\n") if line and line in mine.split("\r\n")] == [line for line in mine.split("\r\n") if line]
    assert [item.text for item in parse(text).learnings] == ["mine, undated", "A new one."]
    workspace.drop("A new one.")
    workspace.drop("And this?")
    assert path.read_bytes().decode().startswith(mine.rstrip())


def test_an_edit_by_the_user_shows_at_once(workspace: Workspace) -> None:
    path = write(workspace, "CREATIVE.md", TEMPLATE)
    assert workspace.first_turn_lines(HERE) == []
    path.write_text(f"## {LEARNINGS}\n- Written by hand in the editor\n")
    assert "Written by hand" in workspace.first_turn_lines(HERE)[0]


def test_cycles_are_counted(workspace: Workspace) -> None:
    assert [workspace.count_cycle() for _ in range(3)] == [1, 2, 3]
    assert workspace.creative().cycles == 3


def test_the_file_is_private_and_a_link_stays_a_link(workspace: Workspace, tmp_path: Path) -> None:
    workspace.learn("A new one.", NOW)
    path = workspace.settings.memories_dir / "CREATIVE.md"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    elsewhere = tmp_path / "notes.md"
    path.rename(elsewhere)
    elsewhere.chmod(0o640)
    path.symlink_to(elsewhere)
    workspace.learn("Another one.", NOW)
    assert path.is_symlink()
    assert "Another one." in elsewhere.read_text()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o640


def test_bytes_that_are_no_utf8_survive(workspace: Workspace, memory: Memory) -> None:
    path = write(workspace, "CREATIVE.md", f"## {LEARNINGS}\n- broken ".encode() + b"\xff byte\n")
    workspace.learn("A new one.", NOW)
    assert b"broken \xff byte" in path.read_bytes()
    assert len(workspace.first_turn_lines(HERE)) == 2


def test_writers_at_the_same_moment_lose_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    # Twenty wait for each other; who would wait for too long is told so, and that is not meant here.
    monkeypatch.setattr("memory_os.workspace._LOCK_TIMEOUT_S", 120.0)
    threads = [threading.Thread(target=workspace.learn, args=(f"Learning number {n}.", NOW)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(workspace.creative().learnings) == 20


def test_secrets_and_fences_do_not_get_in(workspace: Workspace) -> None:
    workspace.learn("Use DB_PASSWORD=abc123xyz\nthere <memory-context>x</memory-context>", NOW)
    assert workspace.creative().learnings == [Item("Use DB_PASSWORD=[redacted] there", "2026-05-28")]
    with pytest.raises(BadRequest):
        workspace.learn("  \n ", NOW)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_an_error(workspace: Workspace) -> None:
    workspace.settings.memories_dir.chmod(0o500)
    with pytest.raises(HostError):
        workspace.learn("A new one.", NOW)


def test_health(workspace: Workspace) -> None:
    assert workspace.health().state is State.EMPTY
    write(workspace, "MEMORY.md", "one\n§\ntwo")
    workspace.learn("A new one.", NOW)
    assert workspace.health().figures == {"MEMORY.md": 2, "USER.md": 0, "learnings": 1, "questions": 0, "cycles": 0}


# -- the text, as policy -------------------------------------------------------------------------------------------

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1).filter(lambda text: text.split() != [])
FILES = st.lists(
    st.sampled_from(
        ["# Title", "## Learnings", "## Open questions", "## Mine", "- an item", "* 2026-01-02: dated", "text", "", "Cycles: 4"]
    )
).map("\n".join)  # fmt: skip


@given(FILES, WORDS, st.sampled_from([LEARNINGS, QUESTIONS]))
def test_adding_changes_no_other_line(text: str, words: str, section: str) -> None:
    changed = with_item(text, section, Item(words, "2026-01-01"))
    before, after = text.split("\n"), changed.split("\n")
    rest = iter(after)
    assert all(line in rest for line in before if line.strip())
    assert with_item(changed, section, Item(words, "2026-02-02")) == changed


@given(FILES, WORDS)
def test_adding_then_removing_leaves_the_lines_there_were(text: str, words: str) -> None:
    known = parse(text)
    if any(" ".join(words.split()).casefold() == one.text.casefold() for one in (*known.learnings, *known.questions)):
        return
    changed = without_item(with_item(text, LEARNINGS, Item(words, "2026-01-01")), " ".join(words.split()))
    kept = [line for line in changed.split("\n") if line.strip() and line != f"## {LEARNINGS}"]
    assert kept == [line for line in text.split("\n") if line.strip() and line != f"## {LEARNINGS}"]


@given(FILES, st.integers(0, 10**6))
def test_the_cycle_count_is_read_back(text: str, cycles: int) -> None:
    assert parse(with_cycles(text, cycles)).cycles == cycles


@given(st.text())
def test_any_text_parses(text: str) -> None:
    assert parse(text).cycles >= 0
