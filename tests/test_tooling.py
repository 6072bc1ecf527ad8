"""Arguments of a model's tool call: read by type, refused with what to change; results in pages."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import BadRequest
from memory_os.text import token_estimate
from memory_os.tooling import PAGE_TOKENS_MAX, Arguments, page

ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def given_(**values: Any) -> Arguments:
    return Arguments("fact_store", values)


@pytest.mark.parametrize(("value", "text"), [("  a b ", "a b"), (5, "5"), (0.5, "0.5"), (None, "no"), ("", "no"), ("  ", "no")])
def test_text(value: Any, text: str) -> None:
    assert given_(content=value).text("content", "no") == text


@pytest.mark.parametrize("value", [None, "", "   ", "\n"])
def test_a_required_text_says_something(value: Any) -> None:
    with pytest.raises(BadRequest, match=r"fact_store: `content` is required\. Call again with content="):
        given_(content=value).text("content", required=True)


@pytest.mark.parametrize("value", [True, [], ["a"], {"a": 1}])
def test_text_of_another_type(value: Any) -> None:
    with pytest.raises(BadRequest, match="`content` must be a string"):
        given_(content=value).text("content")


def test_a_text_that_is_too_long() -> None:
    with pytest.raises(BadRequest, match="has 11 characters; at most 10"):
        given_(content="x" * 11).text("content", longest=10)


def test_choice() -> None:
    assert given_(mode="any").choice("mode", ("any", "all")) == "any"
    assert given_().choice("mode", ("any", "all"), "all") == "all"
    with pytest.raises(BadRequest, match="'some'; use one of any, all"):
        given_(mode="some").choice("mode", ("any", "all"))
    with pytest.raises(BadRequest, match="`mode` is required"):
        given_().choice("mode", ("any", "all"))


@pytest.mark.parametrize(
    ("value", "number"), [("7", 7), (7.9, 7), (None, 5), ("", 5), (-3, 1), (10**6, 50), (10**30, 50), (True, 1)]
)
def test_integers_are_held_inside_their_range(value: Any, number: int) -> None:
    assert given_(limit=value).integer("limit", 5, low=1, high=50) == number


@pytest.mark.parametrize("value", ["seven", [], {}, 10**400, "nan", math.inf, -math.inf, math.nan])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(BadRequest, match="`limit` must be a"):
        given_(limit=value).number("limit", 5, low=1, high=50)


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), ("Yes", True), ("1", True), (1, True), ("no", False), (0, False), (None, False)]
)
def test_booleans(value: Any, truth: bool) -> None:
    assert given_(confirm=value).boolean("confirm") is truth


def test_what_is_no_boolean() -> None:
    with pytest.raises(BadRequest, match="`confirm` must be true or false"):
        given_(confirm="perhaps").boolean("confirm")


@pytest.mark.parametrize(
    ("value", "strings"), [("a, b,,c", ["a", "b", "c"]), (["a ", 5, ""], ["a", "5"]), (None, []), ([], [])]
)
def test_lists(value: Any, strings: list[str]) -> None:
    assert given_(tags=value).strings("tags") == strings


@pytest.mark.parametrize("value", [{"a": 1}, 5, [["a"]], [{}]])
def test_what_is_no_list(value: Any) -> None:
    with pytest.raises(BadRequest, match="`tags` must be a list of strings"):
        given_(tags=value).strings("tags")


@given(ANY)
def test_any_value_is_read_or_refused(value: Any) -> None:
    arguments = given_(a=value)
    for read in (
        lambda: arguments.text("a"), lambda: arguments.text("a", required=True), lambda: arguments.strings("a"),
        lambda: arguments.integer("a", 1, low=0, high=9), lambda: arguments.boolean("a"),
        lambda: arguments.choice("a", ("x",), "x"),
    ):  # fmt: skip
        try:
            read()
        except BadRequest as refused:
            assert "`a`" in refused.message


def test_a_page_holds_what_fits_and_says_where_the_next_begins() -> None:
    items = [{"id": number, "text": "word " * 100} for number in range(20)]
    seen: list[int] = []
    cursor: str | None = "0"
    while cursor is not None:
        result = page(items, given_(cursor=cursor, max_tokens=500))
        assert result["total"] == 20
        assert sum(token_estimate(str(item)) for item in result["results"]) <= 500
        seen += [item["id"] for item in result["results"]]
        cursor = result.get("cursor")
    assert seen == list(range(20))


def test_a_page_has_one_item_even_if_it_is_too_long() -> None:
    assert len(page([{"text": "word " * 9000}] * 2, given_())["results"]) == 1


def test_a_page_has_a_ceiling() -> None:
    items = [{"text": "word " * 100}] * 100
    assert sum(token_estimate(str(one)) for one in page(items, given_(max_tokens=10**9))["results"]) <= PAGE_TOKENS_MAX


def test_a_cursor_beyond_the_end_is_an_empty_page() -> None:
    assert page([{"a": 1}], given_(cursor="99")) == {"results": [], "total": 1}
