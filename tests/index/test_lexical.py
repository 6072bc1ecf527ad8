"""Full text as a recall reads it: each hit once, and of very many only the leading scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_os.index import Hit, Index, Read
from memory_os.memory import Author, Layer, Passage
from memory_os.store import open_store

NOW = 1_790_000_000.0
MINE, ANOTHERS = "default/local", "default/telegram:1"
WORDS = ["kiln", "glaze", "cobalt"]
# As the words are rare: every passage has the first, every third the second, every seventh the third.
WEIGHTS = (0.1, 1.0, 2.0)
MANY = 300


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    store = open_store(tmp_path / "memory.db")
    made = Index(store, "test/1")
    for number in range(MANY):
        words = [word for word, every in zip(WORDS, (1, 3, 7), strict=True) if number % every == 0]
        add(made, f"m:{number}", f"{' '.join(words)} and step {number}", MINE)
    yield made
    store.close()


def add(index: Index, source: str, text: str, scope: str) -> None:
    passage = Passage(
        source=source, text=text, layer=Layer.SESSIONS, scope=scope, author=Author.USER, created_at=NOW - 60
    )
    index.replace(source, [passage])


def read(index: Index, scope: str = MINE, weights: tuple[float, ...] = (), limit: int = 8) -> Read:
    return index.lexical_read(WORDS, [scope], limit=limit, now=NOW, weights=weights)


def test_a_read_has_what_its_hits_say_and_their_embeddings(index: Index) -> None:
    with_vector = index.embeddings.pending(20)[3]
    vector = np.array([0.6, 0.8], np.float32)
    index.embeddings.keep({with_vector.embed_hash: vector})
    hits = index.lexical(WORDS, [MINE], limit=MANY, now=NOW)
    found = read(index, limit=MANY)
    assert found.hits == hits
    assert found.passages == index.passages([hit.pk for hit in hits])
    assert found.embedded == [with_vector.pk]
    np.testing.assert_allclose(found.vectors, [vector], atol=1e-3)
    again = index.read(hits)
    assert (again.hits, again.passages, again.embedded) == (hits, found.passages, found.embedded)


def test_nothing_found_is_nothing_read(index: Index) -> None:
    assert index.lexical_read([], [MINE], limit=8, now=NOW).hits == []
    nothing = index.lexical_read(["porcelain"], [MINE], limit=8, now=NOW, weights=(3.0,))
    assert (nothing.hits, nothing.passages, nothing.embedded) == ([], {}, [])
    assert index.read([]).hits == []


@pytest.mark.parametrize("limit", [1, 8, 20])
def test_of_very_many_the_best_are_those_of_all(index: Index, limit: int) -> None:
    assert read(index, weights=WEIGHTS, limit=limit).hits == read(index, limit=limit).hits


def test_only_the_leading_are_scored_and_of_equals_the_newest(index: Index) -> None:
    # By weights of no sense the first word alone counts, which all have: the newest lead, whatever else they have.
    hits = read(index, weights=(1.0, 0.0, 0.0), limit=3).hits
    assert min(hit.pk for hit in hits) > MANY - 12
    assert {hit.pk for hit in hits} != {hit.pk for hit in read(index, limit=3).hits}


def test_whose_passages_do_not_lead_are_found_all_the_same(index: Index) -> None:
    add(index, "m:theirs", "a kiln, and a good deal else that makes it long and puts it behind the others", ANOTHERS)
    (hit,) = read(index, ANOTHERS, WEIGHTS).hits
    assert texts(index, [hit]) == ["a kiln, and a good deal else that makes it long and puts it behind the others"]


def texts(index: Index, hits: list[Hit]) -> list[str]:
    passages = index.passages([hit.pk for hit in hits])
    return [passages[hit.pk].text for hit in hits]
