"""What of a message somebody said, and whose it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.memory import Scope, content_hash
from memory_os.sessions.cleaning import clean, is_background, spoken_by_agent, storable, typed_by_user
from memory_os.sessions.scopes import host_user, project_of, scope_for

SKILL = '[IMPORTANT: The user has invoked the "work" skill, indicating they want it. The full skill content is loaded below.]'


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("rename the module", "rename the module"),
        (f"{SKILL}\n\nbody", ""),
        (f"{SKILL}\n\nbody\n\nThe user has provided the following instruction alongside the skill invocation: do it", "do it"),
        (
            '[IMPORTANT: The user has invoked the "a, b" skill bundle, x]\nUser instruction: do it\n\n[Loaded as part of the a]',
            "do it",
        ),
        (
            '[IMPORTANT: The "x" skill is auto-loaded.]\nbody: then run them with the terminal tool using the absolute path.\n\nhi',
            "hi",
        ),
        ("[System note: the previous session was stopped.]\n\nwhere were we?", "where were we?"),
        ("[Note: model was just switched from a to b]\n\n[System note: x]\n\ngo", "go"),
        ("[Note: buy milk on the way]", "[Note: buy milk on the way]"),
        ("[IMPORTANT: don't touch the production host]", "[IMPORTANT: don't touch the production host]"),
        ("[IMPORTANT: Background process p1 finished]", ""),
        ("[IMPORTANT: 3 background subagent delegations finished]", ""),
        ("[ASYNC DELEGATION COMPLETE]", ""),
        ("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns", ""),
        ("Cronjob Response: done", ""),
        ("[1, 2, 3] is a list", "[1, 2, 3] is a list"),
    ],
)  # fmt: skip
def test_what_the_person_typed(text: str, typed: str) -> None:
    assert typed_by_user(text) == typed


def test_an_agents_summary_of_a_compaction_is_not_its_words() -> None:
    assert spoken_by_agent("[CONTEXT COMPACTION — REFERENCE ONLY] x") == ""
    assert spoken_by_agent("[System: x] is what I saw") == "[System: x] is what I saw"


@given(st.text(st.characters()))
def test_what_is_stored_is_utf8_and_hashed_as_the_window_shows_it(text: str) -> None:
    cleaned = clean("assistant", text)
    assert cleaned.text.encode("utf-8") is not None
    assert "\x00" not in cleaned.text
    if cleaned.text and not cleaned.secrets and "memory-context" not in text.lower() and not text.lstrip().startswith("["):
        assert cleaned.hash == content_hash(text)


def test_surrogates_are_joined_or_replaced() -> None:
    assert storable("a\ud83d\ude00b\ud800c\x00") == "a\U0001f600b\ufffdc"


@pytest.mark.parametrize(
    ("platform", "session", "background"),
    [("cli", "20260101_0000_ab", False), ("cron", "x", True), ("cli", "cron_1_x", True), ("telegram", "bg_1", True), ("", "a/b", False)],
)
def test_background(platform: str, session: str, background: bool) -> None:
    assert is_background(platform, session) is background


def test_users() -> None:
    assert host_user("desktop", "7", "k", "s") == "local"
    assert host_user("telegram", "7", "k", "s") == "telegram:7"
    assert host_user("webhook", "", "k", "s") == "webhook:key:k"
    assert host_user("webhook", "", "", "a/b") == "webhook:session:a/b"
    assert scope_for("", "", {}) == Scope()
    assert scope_for("telegram:7", "work", {"telegram:7": "local"}) == Scope("local", "work")


def test_projects() -> None:
    assert project_of("cli", "/home/x/shop") == "shop"
    assert project_of("telegram", "/home/x/shop") == ""
