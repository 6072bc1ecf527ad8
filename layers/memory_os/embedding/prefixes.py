"""What a model wants before a question and before a text, by the family its name belongs to; settings go before."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory_os.config import EmbeddingSettings


class Prefixes(NamedTuple):
    query: str
    passage: str


_ASKING = "Represent this sentence for searching relevant passages: "
# As the models' cards say. The first that is found in a name is used.
_FAMILIES: tuple[tuple[re.Pattern[str], Prefixes], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), Prefixes(query, passage))
    for pattern, query, passage in (
        # e5-mistral and the instruct models are asked otherwise, with a task of the user's.
        (r"(?:^|[/_-])e5[_-](?!.*instruct|mistral)", "query: ", "passage: "),
        (r"nomic-embed-text", "search_query: ", "search_document: "),
        (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
        (r"arctic-embed(?:2|.*v2)", "query: ", ""),
        (r"arctic-embed", _ASKING, ""),
        (r"mxbai-embed", _ASKING, ""),
        (r"bge-(?:small|base|large)-en", _ASKING, ""),
        (r"bge-(?:small|base|large)-zh", "为这个句子生成表示以用于检索相关文章：", ""),
        (
            r"qwen3-embedding",
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
            "",
        ),
    )
)


def prefixes_of(embedding: EmbeddingSettings) -> Prefixes:
    """The prefixes of this configuration; an empty one in the settings is none, an absent one the family's."""
    known = next((prefixes for pattern, prefixes in _FAMILIES if pattern.search(embedding.model)), Prefixes("", ""))
    return Prefixes(
        known.query if embedding.query_prefix is None else embedding.query_prefix,
        known.passage if embedding.passage_prefix is None else embedding.passage_prefix,
    )
