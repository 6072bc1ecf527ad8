"""Which calls look something up: names under prefixes, terminal commands, arguments of any type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.ground_truth.calls import MEMORY_TOOLS, Places, look_up

PLACES = Places(("/srv/vault", "/mnt/share/fabric"), ("qdrant.local:7333",))


def terminal(command: str) -> tuple[str, str] | None:
    call = look_up("terminal", {"command": command}, PLACES)
    return None if call is None else (call.kind, call.question)


RENAMED = ("mcp_home_qdrant_search", "Session-Search", "team.fabric_recall", "session_search_v2")


@pytest.mark.parametrize("tool", [*sorted(MEMORY_TOOLS), *RENAMED])
def test_tools_that_search_are_known_under_any_prefix(tool: str) -> None:
    call = look_up(tool, {"query": "the key"}, PLACES)
    assert call is not None and (call.kind, call.question) == ("memory", "the key")


@pytest.mark.parametrize("tool", ["", "memory", "web_search", "delegate_task", "my_session_searcher", "fact_feedback", None, 5])
def test_others_are_not(tool: Any) -> None:
    assert look_up(tool, {"query": "the key"}, PLACES) is None


@pytest.mark.parametrize("action", ["add", "update", "remove", "contradict", "undo"])
def test_a_fact_store_that_acts_is_no_look_up(action: str) -> None:
    assert look_up("fact_store", {"action": action, "content": "x", "query": "x"}, PLACES) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -ri 'the key' /srv/vault/wiki", ("terminal", "the key")),
        ("cd /tmp && rg -n key /mnt/share/fabric | head -3", ("terminal", "key")),
        ("cat /srv/vault/wiki/boat-house.md", ("terminal", "boat house")),
        ("cat ~/.hermes/memories/MEMORY.md", ("terminal", "MEMORY")),
        ("sqlite3 ~/.hermes/state.db \"select content from messages where content like '%boat%'\"", ("terminal", "boat")),
        ("python3 -c \"import sqlite3; sqlite3.connect('memory.db').execute('select 1')\"", ("terminal", "")),
        ("curl -s http://127.0.0.1:6333/collections/kb/points/query -d '{\"query\": \"boat house\"}'", ("terminal", "boat house")),
        ("curl qdrant.local:7333/collections/kb/points/scroll", ("terminal", "")),
        ("memory-os recall boat house key", ("terminal", "boat house key")),
        ("sqlite3 memory.db 'select count(*) from facts'", ("state", "")),
        ("curl localhost:6333/collections/kb", ("state", "")),
        ("ls -l /srv/vault", ("state", "")),
        ("tail -f /srv/vault/wiki/log.md", ("state", "")),
        ("grep -r key /srv/vault-evil", None),
        ("grep -r key /srv/vault/../other", None),
        ("cat /etc/hosts", None),
        ("curl https://example.org", None),
        ("grep -r key /srv/vault > /tmp/found", None),
        ("rm /srv/vault/a.md", None),
        ("sqlite3 memory.db \"delete from facts where text = 'key'\"", None),
        ("curl -X DELETE localhost:6333/collections/kb", None),
        ("sed -i s/a/b/ /srv/vault/a.md", None),
        ("echo \"unbalanced", None),
        ("", None),
    ],
)  # fmt: skip
def test_terminal_commands(command: str, expected: tuple[str, str] | None) -> None:
    found = terminal(command)
    assert found is None if expected is None else found is not None and (found[0], found[1].strip()) == expected


def test_files_count_only_inside_our_places() -> None:
    for path, inside in (("/srv/vault/a.md", True), ("/srv/vault-evil/a.md", False), ("share/fabric/x.md", True), ("a.md", False)):
        assert (look_up("read_file", {"path": path}, PLACES) is not None) is inside, path
    call = look_up("search_files", {"pattern": "boat.*house", "path": "/srv/vault"}, PLACES)
    assert call is not None and call.question.split() == ["boat", "house"]


def test_the_same_call_has_the_same_key_and_another_has_not() -> None:
    one = look_up("session_search", {"query": "key", "limit": 3}, PLACES)
    again = look_up("session_search", {"limit": 3, "query": "key"}, PLACES)
    other = look_up("session_search", {"query": "key", "limit": 4}, PLACES)
    assert one is not None and again is not None and other is not None
    assert one.key == again.key != other.key


def test_a_call_for_what_is_newer_says_so() -> None:
    call = look_up("session_search", {"query": "key", "after": "2026-11-01"}, PLACES)
    assert call is not None and call.after
    newest = look_up("session_search", {"query": "key", "sort": "newest"}, PLACES)
    assert newest is not None and newest.after


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from([*sorted(MEMORY_TOOLS), "terminal", "read_file", "search_files", "other"]), anything)
def test_arguments_of_any_type_raise_nothing(tool: str, arguments: Any) -> None:
    look_up(tool, arguments, PLACES)


@given(st.text(max_size=200))
def test_any_command_raises_nothing(command: str) -> None:
    terminal(command)
    terminal(f"sqlite3 memory.db {command}")
    terminal(f"grep {command} /srv/vault/a")
