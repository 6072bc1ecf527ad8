"""Other embedding models: an endpoint that really embeds, its faults, and a memory that changes its model and back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_os.config import Settings, load_settings
from memory_os.embedding import FINGERPRINT, fingerprint_of, load_embedder
from memory_os.engine import Engine
from memory_os.errors import ConfigError, EmbeddingError, FingerprintMismatch
from memory_os.recall import Query
from support.embedding_server import MODEL, EmbeddingServer, embedding_server
from support.library import LOCAL, real_embedder

CALLER = {"user": "local", "platform": "cli", "profile": "default", "session_id": "s"}


@pytest.fixture(scope="module")
def shared_server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def server(shared_server: EmbeddingServer) -> EmbeddingServer:
    shared_server.asked.clear()
    shared_server.keys.clear()
    shared_server.answer, shared_server.dimension = None, 256
    shared_server.waits.set()
    return shared_server


def settings(home: Path, embedding: str = "", environ: dict[str, str] | None = None) -> Settings:
    folder = home / "memory-os"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"embedding: {{{embedding}}}\n" if embedding else "", "utf-8")
    return load_settings(environ or {}, hermes_home=home)


def at(server: EmbeddingServer, more: str = "") -> str:
    return f"engine: endpoint, model: {MODEL}, base_url: '{server.base_url}'{more}"


def test_vectors_of_an_endpoint_are_units_in_the_order_of_the_texts(server: EmbeddingServer, tmp_path: Path) -> None:
    embedder = load_embedder(settings(tmp_path, at(server, ", query_prefix: 'q: ', passage_prefix: 'p: '")))
    assert embedder.dimension == 256
    server.asked.clear()
    texts = ["The ferry leaves at six.", "Die Fähre fährt um sechs.", "", "渡船六点出发。"]
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (4, 256) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert server.asked[0] == "dimension", "by which the model is told from another"
    assert server.asked[1:] == ["p: The ferry leaves at six.", "p: Die Fähre fährt um sechs.", "p: ", "p: 渡船六点出发。"]
    assert embedder.embed_passages([texts[3]])[0] @ vectors[3] > 0.999
    asked = embedder.embed_query("When does the ferry leave?")
    assert server.asked[-1] == "q: When does the ferry leave?"
    assert asked @ vectors[0] > asked @ embedder.embed_passages(["Ines likes red tiles."])[0] + 0.1
    assert embedder.embed_passages([]).shape == (0, 256)


def test_a_second_start_asks_nothing_of_the_endpoint(server: EmbeddingServer, tmp_path: Path) -> None:
    chosen = settings(tmp_path, at(server))
    first = load_embedder(chosen).embed_passages(["A kept calibration."])
    server.asked.clear()
    again = load_embedder(chosen)
    assert not server.asked and again.dimension == 256
    assert np.allclose(again.embed_passages(["A kept calibration."]), first)
    next((chosen.models_dir).glob("calibration-*.npz")).write_bytes(b"half")
    assert load_embedder(chosen).dimension == 256, "made again"


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, {"error": {"message": "bad key"}}), (404, {"error": {"message": "no model"}}), (200, {"data": []}), (200, {"no": 1}),
     (200, {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}), (200, {"data": [{"index": 0, "embedding": ["x"]}]})],
)  # fmt: skip
def test_an_endpoint_that_fails_or_lies_is_one_typed_error(
    server: EmbeddingServer, tmp_path: Path, status: int, body: dict[str, Any]
) -> None:
    embedder = load_embedder(settings(tmp_path, at(server)))
    server.answer = (status, body)
    with pytest.raises(EmbeddingError) as told:
        embedder.embed_query("anything")
    assert MODEL in told.value.message


def test_another_model_under_the_same_name_is_seen(server: EmbeddingServer, tmp_path: Path) -> None:
    embedder = load_embedder(settings(tmp_path, at(server)))
    server.dimension = 200
    with pytest.raises(EmbeddingError, match="200 dimensions, not 256"):
        embedder.embed_passages(["a"])


def test_the_key_goes_along_and_is_named_when_missing(server: EmbeddingServer, tmp_path: Path, monkeypatch: Any) -> None:
    chosen = at(server, ", api_key_variable: ACME_KEY")
    monkeypatch.delenv("ACME_KEY", raising=False)
    with pytest.raises(EmbeddingError, match="ACME_KEY"):
        load_embedder(settings(tmp_path, chosen))
    monkeypatch.setenv("ACME_KEY", "sk-acme-1")
    load_embedder(settings(tmp_path, chosen))
    assert server.keys and set(server.keys) == {"Bearer sk-acme-1"}


@pytest.mark.parametrize("engine", ["auto", "onnx", "wheel"])
def test_a_model_that_no_wheel_has_is_refused_at_load(tmp_path: Path, engine: str) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.engine"):
        settings(tmp_path, f"model: acme, engine: {engine}")


def test_an_endpoint_without_an_address_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"embedding\.base_url"):
        load_embedder(settings(tmp_path, "engine: endpoint, model: acme"))


def test_the_fingerprint_names_what_a_vector_depends_on(tmp_path: Path) -> None:
    def of(embedding: str) -> str:
        return fingerprint_of(settings(tmp_path, embedding).values.embedding)

    assert of("") == of("engine: wheel") == FINGERPRINT
    other = of("engine: endpoint, model: a, base_url: 'http://one/v1'")
    assert other == of("engine: endpoint, model: a, base_url: 'http://two/v1'"), "a model may move"
    different = {other, of("engine: endpoint, model: b"), of("engine: fastembed, model: a"),
                 of("engine: endpoint, model: a, query_prefix: 'query: '"), FINGERPRINT}  # fmt: skip
    assert len(different) == 5


# -- a memory that changes its model ---------------------------------------------------------------------------------


class Home:
    """One home whose engine is opened again and again, with another model each time."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def open(self, embedding: str = "") -> Engine:
        engine = Engine.open(settings(self.home, embedding))
        engine.load_models(None if embedding else real_embedder())
        return engine


def arms(engine: Engine, text: str) -> tuple[str, str, str]:
    """(the first line, state of the lexical arm, state of the dense arm)."""
    ranked, found = engine.recaller.ranked(Query.of(text, LOCAL, now=time.time()), 30.0)
    states = {name: outcome.state.value for name, outcome in found.outcomes.items()}
    return (ranked[0].passage.text if ranked else ""), states["lexical"], states["dense"]


def embedded(engine: Engine) -> None:
    while engine.index_pending(64):
        pass


def test_a_new_model_loses_nothing_and_memory_answers_by_words_meanwhile(server: EmbeddingServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    engine = home.open()
    facts = ["The staging gateway listens on port 8443.", "Ines tunes the piano in May.", "渡船每天六点出发。"]
    for text in facts:
        engine.call_tool("fact_store", {"action": "add", "content": text}, CALLER)
    embedded(engine)
    assert arms(engine, "gateway port")[2] == "ok"
    engine.close()

    engine = home.open(at(server))
    assert isinstance(engine.indexing.fault, FingerprintMismatch) and "reindex" in engine.indexing.fault.cure
    first, lexical, dense = arms(engine, "gateway port")
    assert (first, lexical, dense) == (facts[0], "ok", "degraded")
    engine.call_tool("fact_store", {"action": "add", "content": "The lantern is lit at dusk."}, CALLER)
    assert arms(engine, "lantern lit dusk")[0] == "The lantern is lit at dusk.", "what is new is found by words"
    assert engine.index_pending(64) == 0
    assert engine.reindex()["points"] == 4
    assert arms(engine, "渡船几点出发")[::2] == (facts[2], "ok")
    assert arms(engine, "lantern lit dusk")[2] == "ok"
    assert engine.indexing.collection is not None and len(list(engine.indexing.collection.ids())) == 4
    assert "every text of this memory" not in str(engine.status()["egress"]), "loopback stays on this machine"
    engine.close()

    server.asked.clear()
    engine = home.open()
    assert isinstance(engine.indexing.fault, FingerprintMismatch)
    assert engine.reindex()["points"] == 4
    assert not server.asked and arms(engine, "gateway port")[::2] == (facts[0], "ok")
    engine.close()


def test_an_endpoint_that_hangs_costs_a_turn_its_meaning_and_not_its_words(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os.embedding.endpoint.QUESTION_S", 0.3)
    home = Home(tmp_path)
    engine = home.open(at(server))
    engine.call_tool("fact_store", {"action": "add", "content": "The staging gateway listens on port 8443."}, CALLER)
    embedded(engine)
    server.waits.clear()
    assert arms(engine, "gateway port") == ("The staging gateway listens on port 8443.", "ok", "degraded")
    server.waits.set()
    engine.close()


def test_what_goes_to_an_endpoint_elsewhere_is_said_in_status(tmp_path: Path) -> None:
    engine = Engine.open(settings(tmp_path, "engine: endpoint, model: a, base_url: 'https://user@embed.example/v1'"))
    assert any("every text of this memory" in told and "https://embed.example" in told for told in engine.status()["egress"])
    engine.close()
