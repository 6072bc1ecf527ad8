"""What a model of a known family wants before its texts."""

from __future__ import annotations

import pytest
from memory_os.config import EmbeddingSettings
from memory_os.embedding.prefixes import prefixes_of


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [("intfloat/multilingual-e5-large", "query: ", "passage: "), ("multilingual-e5-small", "query: ", "passage: "),
     ("intfloat/e5-base-v2", "query: ", "passage: "), ("intfloat/multilingual-e5-large-instruct", "", ""),
     ("intfloat/e5-mistral-7b-instruct", "", ""), ("nomic-embed-text:latest", "search_query: ", "search_document: "),
     ("BAAI/bge-m3", "", ""), ("text-embedding-3-small", "", ""), ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
     ("snowflake-arctic-embed2", "query: ", ""), ("acme/le5-model", "", "")],
)  # fmt: skip
def test_a_family_is_known_by_the_name(model: str, query: str, passage: str) -> None:
    assert prefixes_of(EmbeddingSettings(model=model, engine="endpoint")) == (query, passage)


def test_an_english_bge_is_asked_with_its_instruction_and_takes_texts_as_they_are() -> None:
    found = prefixes_of(EmbeddingSettings(model="BAAI/bge-small-en-v1.5", engine="fastembed"))
    assert found.query.startswith("Represent this sentence") and found.passage == ""


def test_what_the_settings_say_goes_before_the_family_an_empty_one_too() -> None:
    chosen = EmbeddingSettings(model="intfloat/multilingual-e5-large", engine="fastembed", query_prefix="", passage_prefix="p: ")
    assert prefixes_of(chosen) == ("", "p: ")
