"""Search on request: hybrid, labelled with what really ran, and never another's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_os.embedding import Embedder
from memory_os.errors import BadRequest, EmbeddingError, VectorsError
from memory_os.memory import SHARED_SCOPE, Author, Layer, Scope
from memory_os.recall import Query
from memory_os.searching import Searching
from memory_os.tooling import Arguments, Caller
from support.library import NOW, Library, real_embedder

Search = Callable[..., dict[str, Any]]

DOCUMENTS = {
    "gateway.md": "The staging gateway listens on port 8443 behind the blue load balancer.",
    "backup.md": "Nightly copies of the orders database go to a storage box in Falkenstein.",
    "sauerteig.md": "Der Sauerteig wird am Abend angesetzt und ruht über Nacht im Kühlschrank.",
    "会议.md": "项目周会改到每周三下午三点，在二号会议室举行。",
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path)
    for name, text in DOCUMENTS.items():
        opened.remember(
            text, f"document:{name}", layer=Layer.VECTORS, scope=SHARED_SCOPE, author=Author.DOCUMENT, title=name, context="Ops"
        )
    opened.remember("My own staging gateway is a toy.", "message:1")
    opened.embed()
    yield opened
    opened.close()


@pytest.fixture
def searching(library: Library) -> Searching:
    return Searching(library.store, library.index, library.indexing, library.recall)


@pytest.fixture
def search(searching: Searching) -> Search:
    def run(scope: Scope | None = None, **arguments: Any) -> dict[str, Any]:
        return searching.qdrant_search(Arguments("qdrant_search", arguments), Caller(scope or Scope(), now=NOW))

    return run


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("port 8443", "gateway.md"),
        ("Where do backups of purchases live?", "backup.md"),
        ("Wann bereite ich das Brot vor?", "sauerteig.md"),
        ("周会", "会议.md"),
        ("オーダーデータベースのバックアップ", "backup.md"),
    ],
)
def test_both_arms_run_and_the_best_comes_first(search: Search, question: str, name: str) -> None:
    found = search(query=question)
    assert found["mode"] == "hybrid"
    assert "degraded" not in found
    assert found["results"][0]["source"] == name
    assert found["results"][0]["text"] == DOCUMENTS[name]
    assert (found["results"][0]["layer"], found["results"][0]["section"]) == ("vectors", "Ops")


def test_all_layers_by_default_and_one_when_asked(search: Search) -> None:
    everywhere = {one["layer"] for one in search(query="staging gateway port", limit=50)["results"]}
    assert {"vectors", "sessions"} <= everywhere
    assert {one["layer"] for one in search(query="staging gateway port", layers=["documents"])["results"]} == {"vectors"}
    assert {one["layer"] for one in search(query="staging gateway port", layers=["sessions"])["results"]} == {"sessions"}
    with pytest.raises(BadRequest, match="'dreams'"):
        search(query="x", layers=["dreams"])
    with pytest.raises(BadRequest, match="`query` is required"):
        search(query="  ")


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("documents", {"vectors", "wiki"}), ("qdrant", {"vectors", "wiki"}), ("vectors", {"vectors"}), ("wiki", {"wiki"}),
    ],
)  # fmt: skip
def test_documents_are_files_and_wiki_pages(library: Library, search: Search, asked: str, wanted: set[str]) -> None:
    page = "The staging gateway is the pottery's door to the world."
    library.remember(
        page, "document:wiki/concepts/gateway.md", layer=Layer.WIKI, scope=SHARED_SCOPE, author=Author.DOCUMENT, title="Gateway"
    )
    library.embed()
    assert {one["layer"] for one in search(query="staging gateway", layers=[asked])["results"]} == wanted


def test_the_limit_is_honoured_and_hits_are_counted(library: Library, search: Search) -> None:
    assert len(search(query="staging gateway port", limit=2)["results"]) == 2
    assert library.store.value("SELECT sum(uses) FROM passages") == 2


def test_nobody_finds_anothers(search: Search) -> None:
    found = search(Scope("telegram:42"), query="staging gateway", layers=["sessions", "vectors"], limit=50)
    assert all("My own" not in one["text"] for one in found["results"])


def test_archived_and_expired_are_not_found(library: Library, search: Search) -> None:
    library.index.update(library.index.of_source("document:gateway.md")[0].id, archived=True)
    library.index.update(library.index.of_source("document:backup.md")[0].id, valid_to=NOW - 1)
    sources = {one.get("source") for one in search(query="staging gateway port database", limit=50)["results"]}
    assert not sources & {"gateway.md", "backup.md"}


@pytest.mark.parametrize("error", [VectorsError("The shard is gone."), EmbeddingError("The embedding model failed.")])
def test_a_failure_falls_back_to_words_and_says_so(library: Library, search: Search, error: Exception) -> None:
    class Failing(Embedder):
        def embed_query(self, text: str) -> np.ndarray:
            raise error

    real = real_embedder()
    library.indexing.embedder = Failing(real._encoder, real._calibration)
    found = search(query="port 8443")
    assert (found["mode"], found["degraded"]) == ("lexical", str(error))
    assert found["results"][0]["source"] == "gateway.md"
    assert library.store.value("SELECT last_reason FROM counters WHERE name = 'search_degraded'") == str(error)


def test_before_the_model_is_loaded_words_answer(tmp_path: Path) -> None:
    library = Library.open(tmp_path, dense=False)
    library.remember("The port is 8443.", "document:a.md", layer=Layer.VECTORS, scope=SHARED_SCOPE)
    searching = Searching(library.store, library.index, library.indexing, library.recall)
    found = searching.qdrant_search(Arguments("qdrant_search", {"query": "port"}), Caller(now=NOW))
    assert (found["mode"], found["degraded"]) == ("lexical", "the embedding model is still loading")
    assert len(found["results"]) == 1
    library.close()


def test_an_empty_collection_has_an_empty_answer(tmp_path: Path) -> None:
    library = Library.open(tmp_path)
    searching = Searching(library.store, library.index, library.indexing, library.recall)
    found = searching.qdrant_search(Arguments("qdrant_search", {"query": "port"}), Caller(now=NOW))
    assert (found["mode"], found["results"]) == ("hybrid", [])
    library.close()


def test_what_the_layers_tools_find_is_related(searching: Searching) -> None:
    caller = Caller(now=NOW)
    documents = (Layer.VECTORS,)
    assert searching.passages("Where do backups of purchases live?", caller, documents, 5)[0].title == "backup.md"
    assert searching.passages("Who won the chess championship?", caller, documents, 5) == []
    assert len(searching.passages("staging gateway port", caller, documents, 1)) == 1
    assert searching.passages("", caller, documents, 5) == []


def test_hundreds_of_archived_messages_do_not_hide_the_live_one(library: Library, search: Search) -> None:
    for number in range(200):
        parts = ("importer", "queue", "dashboard", "tests", "database")
        library.remember(
            f"Project lantern: its {parts[number % 5]} needs a review of the queue, item {number}.", f"message:{100 + number}"
        )
    library.remember("For lantern we chose Valkey as the job queue, because one machine must be enough.", "message:900")
    library.embed()
    question = "Welche Warteschlange nehmen wir für das Projekt Laterne?"
    with library.store.write() as db:
        db.execute("UPDATE passages SET archived = 1 WHERE text LIKE 'Project lantern%'")
    library.embed()
    assert any("Valkey" in one["text"] for one in search(query=question)["results"])
    assert "Valkey" in str(library.recall.ranked(Query.of(question, Scope(), now=NOW), 60.0)[0])
