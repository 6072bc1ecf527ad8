"""The plugin (live turns) and the service (the host's history) have the same idea of what a person said and searched.

The plugin imports nothing of ours, so each has its own copy of the rules; here both read the same messages.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.facts.tools import ACTIONS
from memory_os.ground_truth.calls import FILE_TOOLS, MEMORY_TOOLS, READING_ACTIONS, TERMINAL_TOOLS, Places, look_up
from memory_os.sessions import cleaning
from memory_os.sessions.scopes import LOCAL_PLATFORMS, host_user
from memory_os_plugin import lookups, turn

SKILL = '[IMPORTANT: The user has invoked the "work" skill, indicating they want it. The full skill content is loaded below.]'
INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: "
BUNDLE = '[IMPORTANT: The user has invoked the "a, b" skill bundle, loading 2 skills together.]'
AUTO = '[IMPORTANT: The "notes" skill is auto-loaded. Follow its instructions for this session.]\n\nbody'
FOOTER = "Resolve paths, then run them with the terminal tool using the absolute path."

# What the hosts put in a user's place (their sources, both lines), and what of it the person said.
CORPUS = [
    ("Where is the key?", "Where is the key?"),
    ("  钥匙在哪里？\n", "钥匙在哪里？"),
    ("[draft] starts with a bracket", "[draft] starts with a bracket"),
    ("[Note: buy milk on the way]", "[Note: buy milk on the way]"),
    ("[SYSTEMS] which ones run?", "[SYSTEMS] which ones run?"),
    ("[CONTEXT] of the trial: none", "[CONTEXT] of the trial: none"),
    ("[IMPORTANT: don't touch the production host]", "[IMPORTANT: don't touch the production host]"),
    ("[IMPORTANT: You are running as a scheduled cron job. DELIVERY: …] Say hi", ""),
    ("[IMPORTANT: The following skill(s) were listed for this job but could not be found: x]", ""),
    ("Cronjob Response: morning report\n(job_id: 1)", ""),
    ("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted", ""),
    ("[CONTEXT SUMMARY]: they spoke of keys", ""),
    ("[PRIOR CONTEXT — for reference only; not a new message]", ""),
    ("[Your active task list was preserved across context compression]\n- [ ] a", ""),
    ("[Planning state preserved across compaction]", ""),
    ("[SYSTEM NOTICE — iteration budget checkpoint] You have used 5 of 9 iterations.", ""),
    ("[SYSTEM] old style", ""),
    ("[SYSTEM: Background process 3 finished]", ""),
    ("[System: Continue now. Execute the required tool calls.]", ""),
    ("[System: the turn ended UNFINISHED. Error: list [1] is bad.\n\nDo this: x.]", ""),
    ("[System: The active model for this chat has changed to m.]", ""),
    ("[System note: the session expired.]\n\nwhere were we?", "where were we?"),
    ("[Note: model was just switched from a to b]\n\n[System note: x]\n\ngo", "go"),
    ("[Note: Some earlier conversation turns have been compacted.]", ""),
    ("[Note: this message came from HUD mode — a small window.]\n\nwhat is this?", "what is this?"),
    ("[System note: nothing but a note]", ""),
    ("[IMPORTANT: Background process 4 finished]", ""),
    ("[IMPORTANT: 3 background processes completed for this session.]", ""),
    ("[IMPORTANT: MCP servers have been reloaded. Tools changed.]", ""),
    ("[Background process 4 is still running~ output]", ""),
    ("[ASYNC DELEGATION BATCH COMPLETE — d1]\nresult", ""),
    ("[OUT-OF-BAND USER MESSAGE — a direct message from the user]", ""),
    ("[Continuing toward your standing goal]\nGoal: x", ""),
    ("[The work looks complete, but the task is still open]\nclose it", ""),
    (f"{SKILL}\n\nbody", ""),
    (f"{SKILL}\n\nbody\n\n{INSTRUCTION}do it", "do it"),
    (f"{SKILL}\n\nbody quotes: {INSTRUCTION}no\n\n{INSTRUCTION}do it\n\n[Runtime note: x]", "do it"),
    (f"{BUNDLE}\n\nSkills loaded: a, b\nUser instruction: do it\n\n[Loaded as part of the bundle: a]\nbody", "do it"),
    (f"{BUNDLE}\n\nSkills loaded: a, b\n\n[Loaded as part of the bundle: a]\nbody", ""),
    ('[IMPORTANT: The user launched this CLI session with the "x" skill preloaded.]\nbody', ""),
    (f"{AUTO}\n\n{FOOTER}\n\nthe question\n\nin two parts", "the question\n\nin two parts"),
    (f"{AUTO}\n\n{FOOTER}", ""),
    (f"[System note: first message here.]\n\n{AUTO}\n\n{FOOTER}\n\nhello", "hello"),
    ("[System note: x]\n\n[System: y]", ""),
]


@pytest.mark.parametrize(("text", "said"), CORPUS)
def test_both_take_the_same_words_for_the_persons(text: str, said: str) -> None:
    assert turn.user_text(text) == said
    assert cleaning.typed_by_user(text).strip() == said


PIECES = [SKILL, BUNDLE, AUTO, FOOTER, INSTRUCTION, "\nUser instruction: ", "\n\n[Runtime note: x]", "]", "\n\n", "words"]


@given(st.lists(st.sampled_from(PIECES) | st.sampled_from([text for text, _ in CORPUS]) | st.text(max_size=8), max_size=6))
def test_both_agree_on_any_mixture(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert turn.user_text(text) == cleaning.typed_by_user(text).strip()


@pytest.mark.parametrize("platform", sorted({*turn._UNATTENDED_PLATFORMS, *cleaning._BACKGROUND_PLATFORMS, "cli", "telegram", ""}))
@pytest.mark.parametrize("session", ["20261130_0700_ab", "cron_1_x", "bg_7"])
def test_both_agree_on_who_nobody_talks_to(platform: str, session: str) -> None:
    assert bool(turn.unattended(session, platform)) is cleaning.is_background(platform, session)


@pytest.mark.parametrize("platform", [*sorted(LOCAL_PLATFORMS), "telegram", "api_server"])
@pytest.mark.parametrize("sender", ["", "42"])
@pytest.mark.parametrize("key", ["", "agent:main:x"])
def test_both_agree_on_whose_it_is(platform: str, sender: str, key: str) -> None:
    assert turn.resolve_user(platform, sender, "s1", key) == host_user(platform, sender, key, "s1")


def test_whatever_the_service_knows_as_a_search_is_told_to_it() -> None:
    places = Places(("/notes",))
    reading = {"query": "key", "path": "/notes/a.md", "action": "search"}
    for tool in (*MEMORY_TOOLS, *FILE_TOOLS, "mcp_home_qdrant_search", "session-search"):
        assert look_up(tool, reading, places) is not None and lookups.is_retrieval(tool, reading), tool
    assert lookups._TERMINALS == TERMINAL_TOOLS
    told = {action for action in ACTIONS if lookups.is_retrieval("fact_store", {"action": action})}
    assert told == {action for action in ACTIONS if action in READING_ACTIONS}
