"""A message's content as text, and its price in tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text import plain_text, token_estimate

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:…"}}], "look"),
        ([{"type": "text", "text": "one"}, "two", None], "one\ntwo"),
        ({"type": "image_url"}, ""),
        ({"text": 5}, ""),
        (42, "42"),
    ],
)
def test_content_of_any_shape_is_text(content: Any, text: str) -> None:
    assert plain_text(content) == text


@given(JSON)
def test_no_content_raises(content: Any) -> None:
    assert isinstance(plain_text(content), str)


@given(st.text(), st.text())
def test_tokens_grow_with_the_text_and_are_never_nothing(first: str, second: str) -> None:
    assert token_estimate(first) <= token_estimate(first + second)
    assert (token_estimate(first) == 0) == (first == "")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 10, 90, 130),
        ("Съешь ещё этих мягких французских булок. " * 10, 120, 200),
        ("نص حكيم له سر قاطع وذو شأن عظيم. " * 10, 100, 200),
        ("项目周会改到每周三下午三点举行。" * 10, 80, 160),
        ("来月の京都旅行では旅館に三泊する予定です。" * 10, 110, 220),
    ],
)
def test_the_estimate_is_near_what_tokenizers_count(text: str, least: int, most: int) -> None:
    assert least <= token_estimate(text) <= most
