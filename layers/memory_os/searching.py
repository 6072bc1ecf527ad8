"""Search on request: what the tools and `memory-os recall` share with a turn's recall, and the tool `qdrant_search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_os.errors import EmbeddingError, VectorsError
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.memory import Layer, Passage
from memory_os.recall import Query, Recall
from memory_os.recall.query import TURN_DEPTH, layers_of
from memory_os.recall.relevance import Scored
from memory_os.recall.rendering import day_of
from memory_os.store import Store
from memory_os.text.smalltalk import is_small_talk
from memory_os.tooling import Arguments, Caller, page

# Somebody asked for it: a hit may be weaker than what a turn is given unasked, but not unrelated.
_LEAST_PROBABILITY = 0.1
# The model of documents rises more steeply: what is asked in other words lies lower.
_LEAST_OF_DOCUMENTS = 0.05
# Half of what the question's words weigh stands in it.
_SPOKEN_SHARE = 0.5
# A tool call may take longer than a hook.
_DEADLINE_S = 3.0
_DOCUMENT_LAYERS = (Layer.VECTORS, Layer.WIKI)
_DEPTH = 60


class Searching:
    def __init__(self, store: Store, index: Index, indexing: Indexing, recall: Recall) -> None:
        self._store = store
        self._index = index
        self._indexing = indexing
        self._recall = recall

    def passages(
        self, text: str, caller: Caller, layers: Sequence[Layer], limit: int, sources: Sequence[str] | None = None
    ) -> list[Passage]:
        """What the layers' own search tools use: by words and by meaning, best first, unrelated left out.

        `sources`: only passages of these, looked for among themselves; none given means all.
        """
        if sources is not None and not sources:
            return []
        query = Query.of(
            text, caller.scope, now=caller.now, session_id=caller.session_id, layers=layers, sources=sources or (),
            depth=max(limit, TURN_DEPTH),
        )  # fmt: skip
        ranked, _ = self._recall.ranked(query, _DEADLINE_S)
        return [one.passage for one in ranked if _is_related(one)][:limit]

    def qdrant_search(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Hybrid search in the collection. `layers` narrows it; `mode` says which arms really ran.

        Small talk finds nothing, and what is as unrelated as the layers' own tools leave out is left out here, too.
        """
        text = arguments.text("query", required=True)
        limit = arguments.integer("limit", 5, low=1, high=50)
        layers = layers_of(arguments.strings("layers"))
        query = Query.of(text, caller.scope, now=caller.now, layers=layers, depth=2 * _DEPTH)
        ids, mode, reason = self._ids(query)
        related = {} if is_small_talk(query.text) else self._related(query)
        passages = [related[one] for one in ids if one in related][:limit]
        self._index.used(passage.id for passage in passages)
        result = page([_item(passage) for passage in passages], arguments)
        result["mode"] = mode
        if reason:
            result["degraded"] = reason
        return result

    def _related(self, query: Query) -> dict[str, Passage]:
        """What the reader may see now and is related, by id."""
        ranked, _ = self._recall.ranked(query, _DEADLINE_S)
        return {one.passage.id: one.passage for one in ranked if _is_related(one)}

    def _ids(self, query: Query) -> tuple[list[str], str, str]:
        """Point ids best first, the mode, and why it is less than hybrid. Only a failure falls through to full text."""
        collection, embedder = self._indexing.collection, self._indexing.embedder
        if collection is not None and embedder is not None:
            try:
                searched = collection.search(
                    embedder.embed_query(query.text), query.text, query.scope.readable, query.layers, _DEPTH
                )
                return [point for point, _ in searched.hits], searched.mode, searched.degraded_reason
            except (VectorsError, EmbeddingError) as error:
                reason = str(error)
                self._store.count("search_degraded", reason=reason)
        else:
            reason = str(self._indexing.fault or "the embedding model is still loading")
        hits = self._index.lexical(
            list(query.terms), query.scope.readable, layers=query.layers, limit=_DEPTH, now=query.now
        )
        return [hit.id for hit in hits], "lexical", reason


def _item(passage: Passage) -> dict[str, Any]:
    item = {
        "id": passage.handle,
        "date": day_of(passage.created_at),
        "layer": passage.layer.value,
        "source": passage.source.partition(":")[2] if passage.layer in _DOCUMENT_LAYERS else "",
        "title": passage.title,
        "section": passage.context if passage.layer in _DOCUMENT_LAYERS else "",
        "text": passage.text,
        "flagged": passage.flagged,
    }
    return {key: value for key, value in item.items() if value}


def _is_related(one: Scored) -> bool:
    least = _LEAST_OF_DOCUMENTS if one.passage.layer in _DOCUMENT_LAYERS else _LEAST_PROBABILITY
    return one.probability >= least or one.candidate.coverage >= _SPOKEN_SHARE
