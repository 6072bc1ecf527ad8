from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_plugin.mirror import Write, of_provider, writes

DONE = json.dumps({"success": True, "entries": []})


@pytest.mark.parametrize(
    ("arguments", "result", "expected"),
    [
        ({"action": "add", "content": "a"}, {}, [Write("add", "memory", "a")]),
        ({"action": "add", "target": "user", "content": "a"}, {}, [Write("add", "user", "a")]),
        ({"action": "remove", "old_text": "part"}, {}, [Write("remove", "memory", "", "part")]),
        (
            {"action": "remove", "old_text": "part"},
            {"removed_entry": "the whole part"},
            [Write("remove", "memory", "", "the whole part")],
        ),
        (
            {"action": "replace", "old_text": "part", "content": "new"},
            {},
            [Write("replace", "memory", "new", "part")],
        ),
        (
            {"action": "patch", "old_text": "blue", "new_text": "red"},
            {"patched_entry": "a blue car", "patched_entry_after": "a red car"},
            [Write("replace", "memory", "a red car", "a blue car")],
        ),
        (
            {
                "operations": [
                    {"action": "add", "content": "a"},
                    {"action": "remove", "old_text": "b"},
                    {"action": "patch", "old_text": "c", "content": "d"},
                    {"action": "list"},
                    "rubbish",
                ]
            },
            {
                "removed_entries": {"2": "whole b"},
                "patched_entries": {"3": "a c"},
                "patched_entries_after": {"3": "a d"},
            },
            [
                Write("add", "memory", "a"),
                Write("remove", "memory", "", "whole b"),
                Write("replace", "memory", "a d", "a c"),
            ],
        ),
        ({"action": "add", "content": ""}, {}, []),
        ({"action": "read"}, {}, []),
    ],
)
def test_what_was_written(arguments: dict[str, Any], result: dict[str, Any], expected: list[Write]) -> None:
    assert writes(arguments, json.dumps({"success": True, **result})) == expected


@pytest.mark.parametrize(
    "result",
    ['{"success": false, "error": "full"}', '{"success": true, "staged": true}', "not json", "", None, "[]"],
)
def test_what_did_not_happen_is_not_mirrored(result: str | None) -> None:
    assert writes({"action": "add", "content": "a"}, result) == []


def test_a_providers_notice_says_the_same() -> None:
    assert of_provider("add", "user", "a", None) == [Write("add", "user", "a")]
    assert of_provider("remove", "memory", "", {"old_text": "p", "previous_content": "whole p"}) == [
        Write("remove", "memory", "", "whole p")
    ]
    assert of_provider("compress", "memory", "a", {}) == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["action", "content", "old_text", "operations", "target", "success", "removed_entries"]),
            inner | st.just("add") | st.just(True),
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(anything, anything)
def test_no_call_raises(arguments: Any, result: Any) -> None:
    for write in writes(arguments, result):
        assert write.content or write.old_text
