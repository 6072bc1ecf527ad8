"""An endpoint that lies or is away, over a real memory: turns go by words, it is told, and everything is embedded later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.embedding import load_embedder, may_pass
from memory_os.engine import Engine
from memory_os.errors import EmbeddingError, EmbeddingInvalid, EmbeddingUnavailable
from support.embedding_server import LIES, EmbeddingServer, embedding_server

from embedding.test_other_models import CALLER, arms, at, embedded, settings


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EmbeddingServer, Path]]:
    """A server, and a home that has its calibration."""
    home = tmp_path_factory.mktemp("endpoint")
    with embedding_server() as server:
        load_embedder(settings(home, at(server)))
        yield server, home


@pytest.fixture
def engine(known: tuple[EmbeddingServer, Path], tmp_path: Path) -> Iterator[tuple[EmbeddingServer, Engine]]:
    server, calibrated = known
    server.lie = server.answer = None
    chosen = settings(tmp_path, at(server))
    chosen.models_dir.symlink_to(settings(calibrated, at(server)).models_dir)
    one = Engine.open(chosen)
    one.load_models()
    yield server, one
    one.close()


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_reaches_memory_and_what_waited_is_embedded_when_it_ends(engine: tuple[EmbeddingServer, Engine], lie: str) -> None:
    server, one = engine
    server.lie = LIES[lie]
    one.call_tool("fact_store", {"action": "add", "content": "The staging gateway listens on port 8443."}, CALLER)
    one.call_tool("fact_store", {"action": "add", "content": "渡船每天六点出发。"}, CALLER)
    with pytest.raises(EmbeddingInvalid):
        one.index_pending(16)
    assert one.store.value("SELECT count(*) FROM embeddings") == 0
    assert arms(one, "gateway port")[:2] == ("The staging gateway listens on port 8443.", "ok")
    status = one.status()
    assert status["counters"]["embedding_failed"]["value"] >= 1
    vectors = status["layers"]["5 vectors"]
    assert vectors["state"] == "degraded" and vectors["detail"] and vectors["cure"], "named, with its cure"
    server.lie = None
    embedded(one)
    assert arms(one, "gateway port")[::2] == ("The staging gateway listens on port 8443.", "ok")
    assert one.indexing.collection is not None and len(list(one.indexing.collection.ids())) == 2
    assert one.status()["layers"]["5 vectors"]["state"] == "ok"


def test_a_text_that_alone_fails_holds_up_no_other(engine: tuple[EmbeddingServer, Engine]) -> None:
    server, one = engine
    good = server.vectors

    def vectors(texts: list[str]) -> list[list[float]]:
        rows = good(texts)
        return [[float("nan")] * len(row) if "cursed" in text else row for text, row in zip(texts, rows, strict=True)]

    server.vectors = vectors  # type: ignore[method-assign]
    try:
        for text in ("An older note of the pier.", "A cursed line.", "A newer note of the quay."):
            one.call_tool("fact_store", {"action": "add", "content": text}, CALLER)
        for _ in range(8):
            try:
                one.index_pending(16)
            except EmbeddingError:
                continue
        assert one.index.embeddings.pending_count() == 1, "the one text that fails"
    finally:
        server.vectors = good  # type: ignore[method-assign]
    embedded(one)
    assert one.index.embeddings.pending_count() == 0


def test_which_faults_may_pass_by_themselves() -> None:
    assert may_pass(EmbeddingUnavailable("away")) and may_pass(EmbeddingInvalid("lies")) and may_pass(MemoryError())
    full = EmbeddingError("The model can't be written.")
    full.__cause__ = OSError(28, "No space left on device")
    assert may_pass(full)
    missing = EmbeddingError("fastembed is not installed.")
    missing.__cause__ = ImportError("fastembed")
    assert not may_pass(missing) and not may_pass(EmbeddingError("`embedding.base_url` is not set."))


def test_a_full_backup_of_a_memory_with_another_model_proves_itself(engine: tuple[EmbeddingServer, Engine]) -> None:
    _, one = engine
    for text in ("The staging gateway listens on port 8443.", "Ines tunes the piano in May.", "渡船每天六点出发。"):
        one.call_tool("fact_store", {"action": "add", "content": text}, CALLER)
    embedded(one)
    told = str(one.maintain({"action": "backup"}))
    assert "questions answered" in told and "0 questions answered" not in told
