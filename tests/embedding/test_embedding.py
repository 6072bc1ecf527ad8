"""The real model: its vectors, its calibration, its files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from memory_os import embedding
from memory_os.config import load_settings
from memory_os.embedding import Embedder, load_embedder, prepare_model
from memory_os.errors import EmbeddingError
from support.library import model_files, real_embedder

# One meaning in seven languages, and a question about something else.
PORT = {
    "en": "The staging gateway listens on port 8443.",
    "de": "Das Staging-Gateway lauscht auf Port 8443.",
    "pt": "O gateway de staging escuta na porta 8443.",
    "ru": "Тестовый шлюз слушает порт 8443.",
    "ar": "تستمع بوابة الاختبار على المنفذ 8443.",
    "zh": "预发布网关监听 8443 端口。",
    "ja": "ステージングゲートウェイはポート8443で待ち受けています。",
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return real_embedder()


@pytest.fixture(scope="module")
def port_vectors(embedder: Embedder) -> np.ndarray:
    return embedder.embed_passages(list(PORT.values()))


def test_vectors_have_unit_length_and_the_dimension_they_claim(embedder: Embedder, port_vectors: np.ndarray) -> None:
    assert port_vectors.shape == (7, 384) == (7, embedder.dimension)
    assert port_vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(port_vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("port").shape == (384,)


def test_a_question_is_near_its_answer_in_every_language_and_far_from_others(
    embedder: Embedder, port_vectors: np.ndarray
) -> None:
    near = port_vectors @ embedder.embed_query("Which port does the staging gateway listen on?")
    far = port_vectors @ embedder.embed_query("How do I bake bread with sourdough?")
    assert near.min() > far.max() + 0.05
    assert near[0] > 0.4
    assert np.abs(far).mean() < 0.15, "unrelated texts are near 0 after calibration"


def test_the_same_question_in_two_languages_is_nearly_one(embedder: Embedder) -> None:
    english, japanese, other = embedder.embed_queries(
        ["Where are the nightly backups stored?", "夜間バックアップはどこに保存されますか？", "Who plays the piano on Saturdays?"]
    )
    assert english @ japanese > english @ other + 0.3


def test_a_batch_gives_what_single_texts_give_in_the_given_order(embedder: Embedder) -> None:
    texts = ["tea", PORT["en"] * 6, PORT["ja"], PORT["ru"] * 3]
    together = embedder.embed_passages(texts)
    single = np.vstack([embedder.embed_passages([text]) for text in texts])
    # 8-bit activations are scaled by the whole batch, so equal to some hundredths only.
    assert (together * single).sum(axis=1).min() > 0.95
    assert (together[:2] @ single[:2].T).argmax(axis=1).tolist() == [0, 1]


def test_no_texts_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)


@pytest.mark.parametrize("text", ["", " ", "\x00", "👍", "a" * 100_000, "语" * 20_000, "\n\t", "\u202eabc"])
def test_any_text_has_a_finite_vector(embedder: Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed_query(text)).all()


def test_threads_share_the_embedder(embedder: Embedder) -> None:
    texts = list(PORT.values()) * 2
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(embedder.embed_query, texts))
    for first, second in zip(vectors[:7], vectors[7:], strict=True):
        np.testing.assert_array_equal(first, second)


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Path]:
    """A copy of the model's files in a home of its own."""
    target = tmp_path / "memory-os" / "models"
    shutil.copytree(model_files(), target)
    yield target
    shutil.rmtree(target, ignore_errors=True)


def test_what_is_prepared_is_not_prepared_again(models: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    said: list[str] = []
    assert prepare_model(models, said.append) == models
    assert {path.name: path.stat().st_mtime_ns for path in models.iterdir()} == before
    assert said == []


@pytest.mark.parametrize("kind", [".onnx", ".trie", ".npz"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half of a file"])
def test_a_damaged_file_is_a_typed_error(models: Path, kind: str, content: bytes) -> None:
    next(models.glob(f"*{kind}")).write_bytes(content)
    with pytest.raises(EmbeddingError) as caught:
        embedding._prepared_embedder(models, threads=1)
    assert str(models) in caught.value.message
    assert "elete" in caught.value.cure


def test_a_file_a_power_cut_left_empty_is_made_again(models: Path, tmp_path: Path) -> None:
    next(models.glob("*.onnx")).write_bytes(b"")
    loaded = load_embedder(load_settings({}, hermes_home=tmp_path))
    question = "Which port does the gateway use?"
    assert float(loaded.embed_query(question) @ real_embedder().embed_query(question)) > 0.99


def test_a_folder_that_can_not_be_written_is_named_and_auto_takes_the_wheels_engine(tmp_path: Path) -> None:
    (tmp_path / "memory-os").mkdir()
    (tmp_path / "memory-os" / "models").write_text("in the way")
    config = tmp_path / "memory-os" / "config.yaml"
    config.write_text("embedding: {engine: onnx}")
    with pytest.raises(EmbeddingError, match="models"):
        load_embedder(load_settings({}, hermes_home=tmp_path))
