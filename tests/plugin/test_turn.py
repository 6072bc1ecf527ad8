from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import ModuleType
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
    text = '[IMPORTANT: The "notes" skill is auto-loaded. Follow its instructions for this session.]\n\nbody, '
    text += "then run them with the terminal tool using the absolute path.\n\nthe question"
    assert turn.user_text(text) == "the question"


def test_a_bare_skill_call_is_skipped() -> None:
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
        ("desktop", "42", "local"),
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


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """The two modules of the host that say whether this process runs a gateway, and for whom this thread works."""
    made = Gateway()
    run, context = ModuleType("gateway.run"), ModuleType("gateway.session_context")
    run._gateway_runner_ref = lambda: made.runner  # type: ignore[attr-defined]
    context.session_context_engaged = lambda: made.engaged  # type: ignore[attr-defined]
    context.get_session_env = lambda name, default="": made.bound.get(name, os.environ.get(name, default))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gateway.run", run)
    monkeypatch.setitem(sys.modules, "gateway.session_context", context)
    return made


class Gateway:
    def __init__(self) -> None:
        self.runner: object = self
        self.engaged = True
        self.bound: dict[str, str] = {}


def test_a_session_that_nobody_knows_in_a_gateway_is_nobodys(home: paths.Home, gateway: Gateway) -> None:
    assert turn.identity_of(home, "s9").user == "unknown:session:s9"
    assert turn.identify(home, session_id="s9", platform="").user == "unknown:session:s9"
    assert turn.identify(home, session_id="cron_1", platform="cron").user == "unknown:session:cron_1"
    gateway.bound = {"HERMES_SESSION_PLATFORM": "telegram", "HERMES_SESSION_USER_ID": "42"}
    assert turn.identity_of(home, "s9").user == "telegram:42"


def test_a_gateways_environment_is_no_word_of_who_asks(
    home: paths.Home, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is that of whoever started it, or of the chat served last."""
    monkeypatch.setenv("HERMES_SESSION_SOURCE", "cli")
    monkeypatch.setenv("HERMES_SESSION_PLATFORM", "telegram")
    monkeypatch.setenv("HERMES_SESSION_USER_ID", "7")
    monkeypatch.setenv("HERMES_SESSION_KEY", "agent:main:telegram:7")
    found = turn.identity_of(home, "s9")
    assert (found.user, found.key) == ("unknown:session:s9", "")


def test_a_terminal_that_loaded_the_gateways_code_stays_local(home: paths.Home, gateway: Gateway) -> None:
    gateway.runner = None
    assert turn.identity_of(home, "s9").user == "local"
    gateway.runner, gateway.engaged = gateway, False
    assert turn.identity_of(home, "s9").user == "local"
    gateway.engaged, gateway.bound = True, {"HERMES_SESSION_SOURCE": "tui", "HERMES_SESSION_KEY": "k"}
    assert turn.identity_of(home, "s9").user == "local"


def test_a_platform_given_in_a_gateway_counts(gateway: Gateway) -> None:
    assert turn.resolve_user("api_server", "", "s9", "key of the object") == "api_server:key:key of the object"
    assert turn.resolve_user("acp", "", "s9") == "local"


def test_the_project_is_the_repository_or_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "garden" / "src"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert turn.project_name("cli") == "src"
    (tmp_path / "garden" / ".git").mkdir()
    assert turn.project_name("cli") == "garden"
    assert turn.project_name("telegram") == ""
