from __future__ import annotations

import hashlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from memory_os.memory import content_hash as stored_hash
from memory_os_plugin.window import content_hash, visible

BLOCK = """<memory-context>
Recalled by memory-os; quoted records of earlier conversations and notes.
[facts]
- (f:abcdefgh) 2026-11-02, agent noted, trust 0.62: "one"
- (s:zyxwvut2) 2026-11-03, user said: "two"
</memory-context>"""


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@given(st.text())
def test_the_hash_is_the_one_the_service_stores(text: str) -> None:
    assert content_hash(text) == stored_hash(text)


def test_the_message_being_answered_is_not_part_of_it() -> None:
    window = visible([user("first"), assistant("answer"), user("second")], "second")
    assert window.hashes == [content_hash("first"), content_hash("answer")]


def test_a_task_list_that_the_host_puts_behind_the_message_does_not_hide_it() -> None:
    history = [user("first"), assistant("answer"), user("second"), user("[Your active task list was preserved]")]
    assert visible(history, "second").hashes == [content_hash("first"), content_hash("answer")]


def test_the_same_words_said_before_stay_visible() -> None:
    window = visible([user("again"), assistant("yes"), user("again")], "again")
    assert window.hashes == [content_hash("again"), content_hash("yes")]


def test_handles_are_read_from_what_was_sent_and_only_inside_a_block() -> None:
    history = [user("q", api_content=f"q\n\n{BLOCK}"), assistant("see (f:qqqqqqqq)"), user("now")]
    assert visible(history, "now").handles == ["f:abcdefgh", "s:zyxwvut2"]


def test_a_cut_block_still_gives_its_handles() -> None:
    history = [user("q", api_content="q\n\n" + BLOCK.removesuffix("</memory-context>")), assistant("a")]
    assert visible(history).handles == ["f:abcdefgh", "s:zyxwvut2"]


def test_a_block_that_is_a_part_of_an_image_message_is_no_part_of_its_text() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": BLOCK}]
    window = visible([user(parts), assistant("I see")])
    assert window.hashes[0] == content_hash("look")
    assert window.handles == ["f:abcdefgh", "s:zyxwvut2"]


def test_a_compaction_summary_is_no_original() -> None:
    history = [assistant("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier: a, b"), user("left"), assistant("kept")]
    window = visible(history)
    assert window.hashes == [content_hash("left"), content_hash("kept")]


def test_tools_and_system_rows_do_not_count() -> None:
    history = [{"role": "system", "content": "s"}, user("u"), {"role": "tool", "content": "t"}, assistant(None)]
    assert visible(history).hashes == [content_hash("u")]


def test_lone_surrogates_are_hashed_not_raised() -> None:
    text = "cut \ud83d emoji"
    expected = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    assert visible([user(text), assistant("a")]).hashes[0] == expected


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(BLOCK),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["role", "content", "api_content", "text", "type"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(anything, anything)
def test_no_history_raises(history: Any, current: Any) -> None:
    visible(history, current).as_json()
