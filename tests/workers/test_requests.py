"""What a body may be, with properties: any JSON object comes through, anything else is a BadRequest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import BadRequest
from memory_os_workers.requests import RECALL_FIELDS, checked, parse_object

_TEXT = st.text(max_size=30)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_TEXT, _JSON, max_size=5), st.booleans())
def test_every_object_comes_through_unchanged(value: dict[str, Any], escaped: bool) -> None:
    assert parse_object(json.dumps(value, ensure_ascii=escaped).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_bad_request(body: bytes) -> None:
    try:
        assert isinstance(parse_object(body), dict)
    except BadRequest as error:
        assert error.message


@pytest.mark.parametrize(
    "body", [b"[]", b"1", b'"x"', b"null", b"{", b'{"a": NaN}', b'{"a": Infinity}', b"\xff{}", b'{"a":' * 100_000]
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_object(body)


def test_an_empty_body_is_an_empty_object() -> None:
    assert parse_object(b"") == parse_object(b" \n") == {}


@given(st.text(st.characters(), max_size=20))
def test_half_a_character_becomes_a_replacement_and_whole_ones_stay(text: str) -> None:
    value = {"a": [text], f"b{text}": {"c": text}}
    found = parse_object(json.dumps(value).encode())
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # raises for half a character
    if not any("\ud800" <= one <= "\udfff" for one in text):
        assert found == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_message", 7), ("user_message", ["a"]), ("first_turn", 1), ("at", "now"), ("at", True), ("visible", []),
        ("v", True), ("session_id", {}),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_named(name: str, value: object) -> None:
    with pytest.raises(BadRequest, match=name):
        checked({name: value}, RECALL_FIELDS)


def test_null_is_as_good_as_absent_and_another_version_is_refused() -> None:
    assert checked(dict.fromkeys(RECALL_FIELDS), RECALL_FIELDS)
    with pytest.raises(BadRequest, match="version 2"):
        checked({"v": 2}, RECALL_FIELDS)
