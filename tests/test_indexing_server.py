"""Vectors on a server, seen from memory.db: outages, a collection that vanishes, moves to and fro; nothing is lost and
nothing is encoded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.errors import FingerprintMismatch, VectorsDenied, VectorsError, VectorsGone, VectorsUnavailable
from memory_os.indexing import Indexing
from memory_os.memory import State
from memory_os.vectors.connection import Limit
from support.library import Library, real_embedder
from support.qdrant_server import Fault, QdrantServer
from test_indexing import Counting, counter, points, wanted

PORT = "The staging gateway listens on port 8443."
QUESTION = "Which port does the staging gateway use?"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr("memory_os.vectors.server.RECALL", Limit(30.0, 30.0))
    monkeypatch.setattr("memory_os.vectors.catalog.LOOK", Limit(30.0, 30.0, heeds_pause=False))
    running = QdrantServer(tmp_path / "server", key="the-key").start()
    yield running
    running.close()


@pytest.fixture
def encoder() -> Counting:
    return Counting()


@pytest.fixture
def library(tmp_path: Path, server: QdrantServer, encoder: Counting) -> Iterator[Library]:
    config = f"servers: {{qdrant_url: '{server.url}', qdrant_api_key: the-key}}"
    opened = Library.open(tmp_path / "hermes", config, dense=False)
    opened.connect(encoder)
    yield opened
    opened.close()


def restarted(library: Library, encoder: Counting, config: str | None = None) -> Library:
    """As after a restart of the service, perhaps with another config.yaml."""
    library.indexing.close()
    if config is not None:
        library.settings.config_file.write_text(config)
        library.settings = load_settings({}, hermes_home=library.settings.hermes_home)
    library.indexing = Indexing(library.store, library.index)
    library.connect(encoder)
    return library


def impatient(library: Library) -> None:
    """Time passes for the pause after a fault, and between two looks at the collection."""
    if library.indexing.collection is not None:
        library.indexing.collection._connection.pause.succeeded()  # type: ignore[attr-defined]
    library.indexing._verified_at = -1000.0


def test_what_is_said_reaches_the_server_and_is_recalled_by_meaning(library: Library, server: QdrantServer) -> None:
    library.remember(PORT)
    library.remember("Grandmother paints lighthouses.")
    assert library.embed() == 2
    assert points(library) == wanted(library)
    recalled = library.ask("Qual porta usa o gateway de staging?")
    assert recalled.outcome == "injected"
    assert "8443" in recalled.context
    assert server.asked("points/query")
    health = library.indexing.health()
    assert (health.state, health.figures["points"]) == (State.OK, 2)
    assert server.url in health.detail and "1.20" in health.detail


def test_no_text_and_no_key_is_sent_in_a_body(library: Library, server: QdrantServer) -> None:
    library.remember(PORT)
    library.embed()
    sent = "".join(str(one.body) for one in server.requests)
    assert "gateway" not in sent and "8443" not in sent and "the-key" not in sent


FAULTS: list[tuple[str, Callable[[QdrantServer], None], type[VectorsError]]] = [
    ("401", lambda server: server.faults.append(Fault(status=401)), VectorsDenied),
    ("403", lambda server: server.faults.append(Fault(status=403)), VectorsDenied),
    ("429", lambda server: server.faults.append(Fault(status=429, headers={"Retry-After": "1"})), VectorsUnavailable),
    ("500", lambda server: server.faults.append(Fault(status=500)), VectorsUnavailable),
    ("503", lambda server: server.faults.append(Fault(status=503)), VectorsUnavailable),
    ("hangs up", lambda server: server.faults.append(Fault(drop=True)), VectorsUnavailable),
    ("refused", lambda server: server.stop(), VectorsUnavailable),
]


@pytest.mark.parametrize(("harm", "expected"), [one[1:] for one in FAULTS], ids=[one[0] for one in FAULTS])
def test_while_the_server_fails_words_find_it_and_nothing_is_lost(
    library: Library,
    encoder: Counting,
    server: QdrantServer,
    harm: Callable[[QdrantServer], None],
    expected: type[VectorsError],
) -> None:
    library.remember(PORT, "note:1")
    library.remember("It goes.", "note:2")
    library.embed()
    harm(server)
    library.remember("The archive has its own port, 9017.", "note:3")
    library.index.remove("note:2")
    recalled = library.ask(QUESTION)
    assert recalled.outcome == "degraded"
    assert "8443" in recalled.context, "words still find it"
    assert server.url in recalled.reason
    with pytest.raises(expected):
        library.indexing.work(8)
    health = library.indexing.health()
    assert health.state is State.DEGRADED and health.cure
    assert health.figures["waiting"] == 1
    server.faults.clear()
    if server._loop is None:
        server.start()
    impatient(library)
    encoded = len(encoder.texts)
    assert library.embed() == 2
    assert len(encoder.texts) == encoded, "it had been encoded before the write failed"
    assert points(library) == wanted(library)
    assert library.index.embeddings.deleted_points() == []
    assert library.ask(QUESTION).outcome == "injected"


def test_what_words_found_is_judged_by_meaning_while_the_server_is_away(library: Library, server: QdrantServer) -> None:
    """The question is encoded here and memory.db has the vectors: one common word of another language is enough."""
    library.remember(PORT)
    for number in range(70):
        library.remember(f"Invoice {number} was paid in May.")
    library.embed()
    server.stop()
    recalled = library.ask("Qual porta usa o gateway?")
    assert recalled.outcome == "degraded"
    assert "8443" in recalled.context
    server.start()


def test_a_collection_that_vanished_is_derived_again_without_encoding(
    library: Library, encoder: Counting, server: QdrantServer
) -> None:
    for number in range(5):
        library.remember(f"note {number}", f"note:{number}")
    library.remember(PORT)
    library.embed()
    encoded = len(encoder.texts)
    server.wipe()
    recalled = library.ask(QUESTION)
    assert recalled.outcome == "degraded" and "8443" in recalled.context
    assert "memory.db" in recalled.reason
    assert library.indexing.health().state is State.DEGRADED
    assert library.embed() == 6
    assert points(library) == wanted(library)
    assert len(encoder.texts) == encoded
    assert library.ask(QUESTION).outcome == "injected"
    assert counter(library, "vectors_vanished") == 1


def test_one_that_vanishes_while_nothing_is_asked_is_noticed(library: Library, server: QdrantServer) -> None:
    library.remember(PORT)
    library.embed()
    server.wipe()
    assert library.indexing.work(5) == 0, "between two looks nothing is asked"
    impatient(library)
    with pytest.raises(VectorsGone):
        library.indexing.work(5)
    assert library.embed() == 1
    assert points(library) == wanted(library)


def test_a_server_that_is_away_at_the_start_is_opened_when_it_comes(
    library: Library, encoder: Counting, server: QdrantServer
) -> None:
    library.remember(PORT)
    library.embed()
    server.stop()
    restarted(library, encoder)
    assert isinstance(library.indexing.fault, VectorsUnavailable)
    assert library.indexing.health().state is State.DEGRADED
    assert "8443" in library.ask(QUESTION).context
    for _ in range(3):
        with pytest.raises(VectorsUnavailable):
            library.indexing.work(5)
    assert counter(library, "vectors_unavailable") == 1, "counted when it began"
    server.start()
    assert library.indexing.work(5) == 0
    assert library.indexing.health().state is State.OK
    assert library.ask(QUESTION).outcome == "injected"


def test_another_pipeline_on_the_server_asks_for_a_reindex_and_is_left_alone_until_then(
    library: Library, encoder: Counting, server: QdrantServer
) -> None:
    library.remember(PORT)
    library.embed()
    server.collections["knowledge_base-1"].metadata["memory_os"]["model"] = "another-model/768"
    restarted(library, encoder)
    assert isinstance(library.indexing.fault, FingerprintMismatch)
    assert library.indexing.work(5) == 0
    assert library.indexing.rebuild() == 1
    assert server.aliases == {"knowledge_base": "knowledge_base-2"}
    assert list(server.collections) == ["knowledge_base-2"], "its own points were the last of the former"
    assert library.ask(QUESTION).outcome == "injected"


def test_a_reindex_that_fails_leaves_the_former(library: Library, server: QdrantServer) -> None:
    library.remember(PORT)
    library.embed()
    server.faults.append(Fault(status=500, on="PUT /collections/knowledge_base-2/points"))
    with pytest.raises(VectorsUnavailable):
        library.indexing.rebuild()
    server.faults.clear()
    impatient(library)
    assert server.aliases == {"knowledge_base": "knowledge_base-1"}
    assert library.ask(QUESTION).outcome == "injected"
    assert library.indexing.rebuild() == 1
    assert points(library) == wanted(library)


@pytest.mark.parametrize("step", ["PATCH ", "POST /collections/aliases", "DELETE "])
def test_a_reindex_whose_last_steps_fail_loses_nothing(
    library: Library, encoder: Counting, server: QdrantServer, step: str
) -> None:
    """Before the alias moves the former stays in use; what could not be cleared after it goes at the next opening."""
    library.remember(PORT)
    library.embed()
    server.faults.append(Fault(status=500, on=step))
    if step == "DELETE ":
        assert library.indexing.rebuild() == 1
    else:
        with pytest.raises(VectorsUnavailable):
            library.indexing.rebuild()
    server.faults.clear()
    impatient(library)
    assert library.ask(QUESTION).outcome == "injected"
    assert points(library) == wanted(library)
    restarted(library, encoder)
    library.embed()
    assert points(library) == wanted(library)
    assert len(server.collections) == 1
    assert library.ask(QUESTION).outcome == "injected"


# -- moving --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reindex", [False, True], ids=["by itself", "reindex"])
def test_moving_to_a_server_and_back_encodes_nothing(
    tmp_path: Path, server: QdrantServer, encoder: Counting, reindex: bool
) -> None:
    on_server = f"servers: {{qdrant_url: '{server.url}', qdrant_api_key: the-key}}"
    library = Library.open(tmp_path / "hermes", dense=False)
    library.connect(encoder)
    library.remember(PORT, "note:port")
    library.remember("The lighthouse is white.", "note:2")
    library.remember("It goes.", "note:3")
    library.embed()
    for config, name in ((on_server, "server"), ("servers: {}", "embedded"), (on_server, "server")):
        restarted(library, encoder, config)
        encoded = len(encoder.texts)
        if reindex:
            assert library.indexing.rebuild() == library.index.count()
        else:
            library.embed()
        assert len(encoder.texts) == encoded, name
        assert points(library) == wanted(library)
        assert library.ask(QUESTION).outcome == "injected"
        # Changed under the same id while the other engine holds the former version.
        library.remember(f"The lighthouse was painted anew for the {name}.", "note:2")
        library.embed()
    assert library.indexing.left_behind == ""
    library.close()


def test_what_changed_meanwhile_has_its_new_vector_after_coming_back(
    tmp_path: Path, server: QdrantServer, encoder: Counting
) -> None:
    """The point's id stays when a passage is edited: an audit of ids alone would keep the vector of what it once said."""
    on_server = f"servers: {{qdrant_url: '{server.url}', qdrant_api_key: the-key}}"
    library = Library.open(tmp_path / "hermes", on_server, dense=False)
    library.connect(encoder)
    library.remember("It is about bees.", "note:1")
    library.embed()
    restarted(library, encoder, "servers: {}")
    library.remember("It is about the deploy port of the gateway.", "note:1")
    library.embed()
    assert library.indexing.left_behind == f"{server.url} knowledge_base-1"
    restarted(library, encoder, on_server)
    library.embed()
    assert library.indexing.collection is not None
    question = real_embedder().embed_query("Which port has the gateway?")
    ((_, score),) = library.indexing.collection.dense(question, ["default/local"])
    assert score > 0.3
    assert library.indexing.left_behind == ""
    library.close()


def test_two_homes_on_one_server_recall_their_own(tmp_path: Path, server: QdrantServer, encoder: Counting) -> None:
    config = f"servers: {{qdrant_url: '{server.url}', qdrant_api_key: the-key}}"
    homes = [Library.open(tmp_path / name, config, dense=False) for name in ("one", "two")]
    for number, library in enumerate(homes):
        library.connect(encoder)
        library.remember(f"The staging gateway listens on port 844{number}.", "note:port")
        library.embed()
    assert list(server.collections) == ["knowledge_base-1"]
    for number, library in enumerate(homes):
        context = library.ask(QUESTION).context
        assert f"844{number}" in context and f"844{1 - number}" not in context
        assert len(points(library)) == 1
    homes[0].index.remove("note:port")
    homes[0].embed()
    assert points(homes[0]) == set()
    assert len(points(homes[1])) == 1
    for library in homes:
        library.close()
