"""Ids, handles and hashes: the same for the same memory, another for another."""

from __future__ import annotations

import hashlib
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.memory import SHARED_SCOPE, Author, Layer, Passage, Scope, content_hash, handle_of, passage_id

HANDLE = re.compile(r"(?:[wfsbd]):[a-z2-7]{8}")


@given(st.text(), st.integers(0, 10**6), st.text())
def test_ids_are_uuids_and_the_same_every_time(source: str, ordinal: int, scope: str) -> None:
    one = passage_id(source, ordinal, scope) if source.isascii() and scope.isascii() else ""
    if one:
        assert str(uuid.UUID(one)) == one == passage_id(source, ordinal, scope)


def test_another_source_chunk_or_owner_is_another_id() -> None:
    ids = {passage_id("fact:1", 0, "a"), passage_id("fact:1", 1, "a"), passage_id("fact:1", 0, "b"), passage_id("fact:2", 0, "a")}
    assert len(ids) == 4


@pytest.mark.parametrize("layer", list(Layer))
def test_every_layer_has_a_handle_that_can_be_parsed(layer: Layer) -> None:
    assert HANDLE.fullmatch(handle_of(layer, passage_id("x", 0, "y")))


def test_a_passage_knows_its_id_handle_and_hash() -> None:
    passage = Passage(Layer.FACTS, "fact:7", " tea ", "default/local", Author.AGENT)
    assert passage.id == passage_id("fact:7", 0, "default/local")
    assert passage.handle == handle_of(Layer.FACTS, passage.id)
    assert passage.content_hash == content_hash("tea")


def test_the_hash_is_the_one_the_plugin_computes() -> None:
    assert content_hash(" naïve \n") == hashlib.sha256("naïve".encode()).hexdigest()[:16]


def test_a_hash_of_half_a_character_exists() -> None:
    assert len(content_hash("broken \ud83d")) == 16


def test_a_reader_sees_their_own_and_what_is_shared() -> None:
    assert Scope("telegram:42", "work").readable == ("work/telegram:42", SHARED_SCOPE)
    assert Scope().key == "default/local"
