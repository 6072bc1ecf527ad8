from __future__ import annotations

import sys
import threading
import time
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_plugin import state


@given(st.lists(st.integers(0, 20)), st.integers(1, 5))
def test_it_never_holds_more_than_its_limit_and_always_the_last(keys: list[int], limit: int) -> None:
    held: state.Expiring[int] = state.Expiring(limit, 60)
    for key in keys:
        held.put(key, key)
        assert held.get(key) == key
        assert len(held) <= limit


def test_entries_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    held: state.Expiring[str] = state.Expiring(10, 5)
    held.put("old", "x")
    clock[0] += 6
    assert held.get("old") is None
    assert held.add("old", "y") and held.get("old") == "y"
    held.put("new", "z")
    clock[0] += 6
    held.put("newer", "z")
    assert len(held) == 1


def test_only_one_of_many_threads_adds() -> None:
    held: state.Expiring[int] = state.Expiring(10, 60)
    won: list[bool] = []
    threads = [threading.Thread(target=lambda: won.append(held.add("turn", 1))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won.count(True) == 1


def test_a_second_copy_of_the_module_finds_the_same_state() -> None:
    from plugin.loading import load

    other = load("memory_os_plugin_second_copy")
    from memory_os_plugin_second_copy import state as second

    try:
        state.shared().hook_homes.add("/home")
        assert second.hooks_serve("/home", "s") and not second.hooks_serve("/elsewhere", "s")
    finally:
        for name in [each for each in sys.modules if each.startswith(other.__name__)]:
            del sys.modules[name]


def test_counts_are_told_once() -> None:
    counts = state.Counts()
    assert counts.add("a") and not counts.add("a") and counts.add("b")
    assert counts.take() == {"a": 2, "b": 1}
    assert counts.take() == {}


def test_the_state_of_an_earlier_version_gets_what_it_lacks_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin replaced on disk and loaded anew in a running host."""
    earlier = ModuleType(state._SHARED_KEY)
    earlier.hook_homes = {"/home"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, state._SHARED_KEY, earlier)
    assert state.shared() is earlier and earlier.hook_homes == {"/home"}
    fresh = ModuleType("fresh")
    monkeypatch.setitem(sys.modules, state._SHARED_KEY, fresh)
    assert vars(state.shared()).keys() == vars(earlier).keys()
    assert hasattr(earlier, state._LATEST_PART)
