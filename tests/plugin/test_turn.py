from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.content import plain_text as stored_text
from memory_os_plugin import paths, state, turn

SKILL = '[IMPORTANT: The user has invoked the "deploy" skill, indicating they want you to follow its instructions.]'

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.just("text") | st.text(), inner, max_size=3),
    max_leaves=15,
)


@given(anything)
def test_text_of_a_message_is_what_the_service_takes_it_for(content: Any) -> None:
    assert turn.plain_text(content) == stored_text(content)


@given(anything)
def test_no_message_raises(message: Any) -> None:
    assert isinstance(turn.user_text(message), str)


@pytest.mark.parametrize(
    "text",
    [
        "Where is the key?",
        "Wo liegt der Schlüssel?",
        "Onde está a chave?",
        "Где лежит ключ?",
        "أين المفتاح؟",
        "钥匙在哪里？",
        "鍵はどこですか",
        "[draft] this starts with a bracket",
        "[Alice] a group chat's prefix",
    ],
)
def test_what_a_person_wrote_is_kept_as_it_is(text: str) -> None:
    assert turn.user_text(f"  {text}\n") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "[IMPORTANT: You are running as a scheduled cron job. Deliver …] Do it",
        "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted",
        "[System: Continue now.]",
        "[IMPORTANT: Background process 4 finished]",
        "[ASYNC DELEGATION COMPLETE — d1]\nresult",
        "[Continuing toward your standing goal]\nGoal: x",
        "[System note: nothing but a note]",
    ],
)
def test_what_the_host_wrote_in_the_users_place_is_nothing(text: str) -> None:
    assert turn.user_text(text) == ""


def test_a_note_before_the_message_is_taken_off() -> None:
    assert (
        turn.user_text("[System note: session expired.]\n\n[Note: model was just switched x]\n\nHi, you") == "Hi, you"
    )


def test_an_image_message_gives_its_text() -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert turn.user_text(parts) == "What is this?"


def test_an_auto_loaded_skills_body_is_left_out() -> None:
    text = '[IMPORTANT: The "notes" skill is auto-loaded. Follow its instructions for this session.]\n\nbody\n\nthe question'
    assert turn.user_text(text) == "the question"


def test_a_skill_without_a_host_to_read_it_is_skipped() -> None:
    assert turn.user_text(SKILL + "\n\nbody") == ""


def test_a_message_of_a_megabyte_is_cut() -> None:
    assert len(turn.user_text("x" * 3_000_000)) == turn.MESSAGE_MAX_CHARS


@pytest.mark.parametrize(
    ("platform", "sender", "expected"),
    [
        ("cli", "", "local"),
        ("", "", "local"),
        ("tui", "", "local"),
        ("desktop", "", "local"),
        ("acp", "", "local"),
        ("telegram", "42", "telegram:42"),
        ("telegram", "", "telegram:session:s1"),
        ("api_server", "", "api_server:session:s1"),
    ],
)
def test_whose_memory(platform: str, sender: str, expected: str) -> None:
    assert turn.resolve_user(platform, sender, "s1") == expected


def test_a_chat_without_sender_is_told_apart_by_the_hosts_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SESSION_KEY", "agent:main:x")
    assert turn.resolve_user("api_server", "", "s1") == "api_server:key:agent:main:x"


@pytest.mark.parametrize(
    ("session", "platform"),
    [("cron_1_2", "cli"), ("bg_7", "telegram"), ("s", "cron"), ("s", "subagent"), ("s", "curator")],
)
def test_nobody_sits_there(session: str, platform: str) -> None:
    assert turn.unattended(session, platform)


def test_a_tools_own_session_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not turn.unattended("s", "cli")
    monkeypatch.setenv("HERMES_SESSION_SOURCE", "tool")
    assert turn.unattended("s", "cli") == "tool"


def test_the_background_review_is_known_by_its_thread() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(turn.unattended("s", "cli")), name="bg-review-1")
    thread.start()
    thread.join()
    assert found == ["background_review"]


def test_a_subagent_reads_as_whoever_sent_it(home: paths.Home) -> None:
    parent = turn.identify(home, session_id="p", platform="telegram", sender_id="42")
    state.shared().sessions.put((str(home.hermes), "p"), parent)
    child = turn.identify(home, session_id="c", platform="subagent", parent_session_id="p")
    assert (child.user, child.kept) == ("telegram:42", False)


def test_a_branch_of_a_chat_stays_its_senders_and_is_kept(home: paths.Home) -> None:
    parent = turn.identify(home, session_id="p", platform="telegram", sender_id="42")
    state.shared().sessions.put((str(home.hermes), "p"), parent)
    branch = turn.identify(home, session_id="c", platform="telegram", sender_id="7", parent_session_id="p")
    assert (branch.user, branch.kept) == ("telegram:7", True)


def test_the_project_is_the_repository_or_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "garden" / "src"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert turn.project_name("cli") == "src"
    (tmp_path / "garden" / ".git").mkdir()
    assert turn.project_name("cli") == "garden"
    assert turn.project_name("telegram") == ""
