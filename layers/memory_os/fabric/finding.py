"""Finding entries: by meaning or words, best first (recall), or by all of their words (search)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_os.fabric.card import Card
from memory_os.fabric.passages import source_of
from memory_os.memory import Layer, Passage
from memory_os.text import query_terms
from memory_os.tooling import Caller

if TYPE_CHECKING:
    from memory_os.fabric.layer import Fabric

_LAYERS = (Layer.FABRIC,)
# A hit that shares far less with the question than the best one shares a common word with it, and no more.
_WORTH = 0.3
# Passages looked at where words may leave most of them out.
_WIDE = 400
_SNIPPET_CHARS = 80
_SNIPPETS = 3


@dataclass(frozen=True, slots=True)
class Recalled:
    """An entry and the passage of it that fits best."""

    card: Card
    passage: Passage


def recall(
    fabric: Fabric, query: str, caller: Caller, most: int, *, agent: str = "", project: str = ""
) -> list[Recalled]:  # fmt: skip
    """At most `most` entries, each once, best first; only those of `agent` and `project` where given."""
    # An entry has several passages, and is shown once.
    wide = max(most * 4, 20)
    narrowed = agent or project
    sources = [source_of(key) for key in fabric.keys_of(agent=agent, project=project)] if narrowed else None
    if fabric.searcher is not None:
        found = fabric.searcher(query, caller, _LAYERS, wide, sources)
    else:
        found = _lexical(fabric, query_terms(query), caller, wide, worth=_WORTH, sources=sources)
    cards = fabric.cards_of([_key(passage) for passage in found])
    result: dict[str, Recalled] = {}
    for passage in found:
        card = cards.get(_key(passage))
        if card is None or card.key in result:
            continue
        result[card.key] = Recalled(card, passage)
        if len(result) == most:
            break
    return list(result.values())


def search(fabric: Fabric, query: str, caller: Caller) -> list[tuple[Card, str]]:
    """Entries whose text holds every word of `query`, best first, with that text."""
    wanted = [folded(one) for one in query.split()]
    terms = query_terms(query) or wanted
    found = _lexical(fabric, terms, caller, _WIDE, worth=0.0)
    cards = fabric.cards_of(list(dict.fromkeys(_key(passage) for passage in found)))
    result = []
    for key in dict.fromkeys(_key(passage) for passage in found):
        card = cards.get(key)
        if card is None:
            continue
        text = "\n".join(one.text for one in fabric.index.of_source(source_of(key)))
        heap = folded("\n".join((card.summary, text, card.ref, card.type, *card.tags)))
        if all(one in heap for one in wanted):
            result.append((card, text))
    return result


def matches(text: str, query: str) -> list[str]:
    """The first places where a word of the query stands, each with what is around it."""
    folded_text = folded(text)
    if len(folded_text) != len(text):  # folding moved the places ("ß", full-width signs): show the folded text
        text = folded_text
    snippets: list[str] = []
    last = -1
    for at in sorted(filter(lambda at: at >= 0, (folded_text.find(folded(one)) for one in query.split()))):
        if at < last:
            continue
        start, last = max(0, at - _SNIPPET_CHARS), at + _SNIPPET_CHARS
        snippets.append(" ".join(text[start:last].split()))
    return snippets[:_SNIPPETS]


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _lexical(
    fabric: Fabric, terms: list[str], caller: Caller, limit: int, *, worth: float, sources: Sequence[str] | None = None
) -> list[Passage]:
    if sources is not None and not sources:
        return []
    hits = fabric.index.lexical(
        terms, caller.scope.readable, layers=_LAYERS, sources=sources or (), limit=limit, now=caller.now
    )
    kept = [hit for hit in hits if hit.score >= worth * hits[0].score]
    found = fabric.index.passages([hit.pk for hit in kept])
    return [found[hit.pk] for hit in kept if hit.pk in found]


def _key(passage: Passage) -> str:
    return passage.source.removeprefix("fabric:")
