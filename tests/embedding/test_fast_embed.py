"""Models by fastembed. Its interface without it; and, where it is installed (`pip install 'memory-os[fastembed]'`), the real
package with a small model from a folder, in a memory that changes to it and back."""

from __future__ import annotations

import json
import re
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from memory_os.config import Settings, load_settings
from memory_os.embedding import FINGERPRINT, _wheel_weights, fingerprint_of, load_embedder
from memory_os.embedding.cohort import PARALLEL, QUESTIONS, STATEMENTS
from memory_os.embedding.tokenizer import Tokenizer
from memory_os.embedding.weights import Weights
from memory_os.engine import Engine
from memory_os.errors import EmbeddingError, FingerprintMismatch
from memory_os.recall import Query
from onnx import TensorProto, helper, numpy_helper
from support.embedding_server import encoded
from support.library import LOCAL, model_files, real_embedder

TEXTS = ("The ferry leaves at six.", "Ines likes red tiles.", "The staging gateway listens on port 8443.")
FILES = ("tokenizer.json", "tokenizer_config.json", "model.onnx")


def settings(home: Path, embedding: str = "") -> Settings:
    folder = home / "memory-os"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"embedding: {{{embedding}}}\n" if embedding else "", "utf-8")
    return load_settings({}, hermes_home=home)


# -- without the package ---------------------------------------------------------------------------------------------


def test_fastembed_that_is_not_installed_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(EmbeddingError) as told:
        load_embedder(settings(tmp_path, "engine: fastembed, model: BAAI/bge-small-en-v1.5"))
    assert "memory-os[fastembed]" in told.value.cure


class _TextEmbedding:
    """fastembed's interface as of 0.9, over our own model's vectors: generators of arrays that are no units."""

    batches: list[list[str]]

    def __init__(self, name: str, *, cache_dir: str, threads: int, specific_model_path: str | None, local_files_only: bool) -> None:
        if name == "acme/away":
            raise ValueError(f"Could not load model {name} from any source.")
        assert Path(cache_dir).name == "fastembed" and threads == 2 and local_files_only == (specific_model_path is not None)
        type(self).batches = []

    @staticmethod
    def list_supported_models() -> list[dict[str, Any]]:
        return [{"model": name, "model_file": "model.onnx"} for name in ("acme/small", "acme/away", "acme/e5-small")]

    def query_embed(self, texts: list[str], batch_size: int) -> Iterator[Any]:
        self.batches.append(texts)
        return (2 * row[:128] for row in encoded(texts))

    def passage_embed(self, texts: list[str], batch_size: int) -> Iterator[Any]:
        if "breaks" in texts:
            raise RuntimeError("onnxruntime\nsays no")
        return self.query_embed(texts, batch_size)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> type[_TextEmbedding]:
    module = types.ModuleType("fastembed")
    module.TextEmbedding = _TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)
    return _TextEmbedding


def test_a_fastembed_model_embeds(tmp_path: Path, package: type[_TextEmbedding]) -> None:
    embedder = load_embedder(settings(tmp_path, "engine: fastembed, model: acme/small"))
    assert embedder.dimension == 128
    ferry, tiles = embedder.embed_passages(TEXTS[:2])
    asked = embedder.embed_query("When does the ferry leave?")
    assert asked @ ferry > asked @ tiles + 0.1 and abs(float(np.linalg.norm(asked)) - 1) < 1e-5
    with pytest.raises(EmbeddingError, match="onnxruntime says no"):
        embedder.embed_passages(["breaks"])


def test_texts_of_like_length_are_embedded_together_and_come_back_in_their_order(
    tmp_path: Path, package: type[_TextEmbedding]
) -> None:
    embedder = load_embedder(settings(tmp_path, "engine: fastembed, model: acme/small"))
    texts = [TEXTS[2], "", TEXTS[1], "Short."]
    vectors = embedder.embed_passages(texts)
    assert package.batches[-1] == ["-", "Short.", TEXTS[1], TEXTS[2]]
    assert all(embedder.embed_passages([text])[0] @ vector > 0.999 for text, vector in zip(texts, vectors, strict=True))


def test_the_prefixes_of_a_family_go_before_its_texts(tmp_path: Path, package: type[_TextEmbedding]) -> None:
    load_embedder(settings(tmp_path, "engine: fastembed, model: acme/e5-small")).embed_query("When?")
    assert package.batches[-1] == ["query: When?"]


@pytest.mark.parametrize(
    ("model", "message", "cure"),
    [("acme/smal", "knows no model acme/smal", "acme/small"), ("nobody/nothing", "knows no model", "embedding.folder"),
     ("acme/away", "can't load acme/away from the hub", "embedding.folder")],
)  # fmt: skip
def test_a_model_that_is_not_there_is_named_with_a_cure(
    tmp_path: Path, package: type[_TextEmbedding], model: str, message: str, cure: str
) -> None:
    with pytest.raises(EmbeddingError) as told:
        load_embedder(settings(tmp_path, f"engine: fastembed, model: {model}"))
    assert message in told.value.message and cure in told.value.cure


@pytest.mark.parametrize(("files", "missing"), [((), "tokenizer.json"), (FILES[:2], "no ONNX model"), (FILES[1:], "tokenizer.json")])
def test_a_folder_that_lacks_a_file_says_which(
    tmp_path: Path, package: type[_TextEmbedding], files: tuple[str, ...], missing: str
) -> None:
    folder = tmp_path / "memory-os" / "models" / "mine"  # relative to memory-os's own folder
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).write_text("{}")
    with pytest.raises(EmbeddingError, match=missing) as told:
        load_embedder(settings(tmp_path, "engine: fastembed, model: mine, folder: models/mine"))
    assert str(folder) in told.value.message


# -- the package itself ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows some 700 words: a text's vector is the mean of its words' in the bundled model's table."""
    pytest.importorskip("fastembed", reason="only where the extra fastembed is installed")
    path = tmp_path_factory.mktemp("words")
    said = " ".join([*TEXTS, *STATEMENTS, *QUESTIONS, *(text for pair in PARALLEL.values() for side in pair for text in side)])
    words = ["[PAD]", "[UNK]", *sorted(set(re.findall(r"\w+|[^\w\s]+", said.lower())))]
    weights = Weights(_wheel_weights())
    tokenizer = Tokenizer(model_files() / "e5-small-1.trie")
    rows = np.stack([weights.word_rows(np.asarray(tokenizer.encode(word) or [3], np.int64)).mean(axis=0) for word in words])
    rows -= rows.mean(axis=0)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["states"])], "words",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "T"]) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["B", "T", rows.shape[1]])],
        [numpy_helper.from_array(rows.astype(np.float32), "table")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    onnx.save(model, path / "model.onnx")
    added = [{"id": i, "content": words[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False} for i in (0, 1)]  # fmt: skip
    told = {"version": "1.0", "added_tokens": added, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": "[UNK]"}}  # fmt: skip
    (path / "tokenizer.json").write_text(json.dumps(told), "utf-8")
    (path / "tokenizer_config.json").write_text('{"model_max_length": 256, "pad_token": "[PAD]"}')
    (path / "config.json").write_text('{"pad_token_id": 0}')
    return path


def test_a_model_from_a_folder_embeds_with_the_real_package(folder: Path, tmp_path: Path) -> None:
    chosen = settings(tmp_path, f"engine: fastembed, model: acme/words, folder: {folder}")
    embedder = load_embedder(chosen)
    assert embedder.dimension == 384 and 1 / 3 <= embedder.factor <= 3
    vectors = embedder.embed_passages([*TEXTS, ""])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (embedder.embed_query("When does the ferry leave?") @ vectors.T).argmax() == 0
    assert np.allclose(load_embedder(chosen).embed_passages(TEXTS), vectors[:3], atol=1e-5), "registered once, read twice"


@pytest.mark.parametrize("told", ["setting", "folder"])
def test_the_pooling_is_the_settings_or_the_folders(folder: Path, tmp_path: Path, told: str) -> None:
    """Of this model the first token's state is the first word's vector, whatever follows."""
    own = tmp_path / "own"
    own.mkdir()
    for file in folder.iterdir():
        (own / file.name).symlink_to(file)
    if told == "folder":
        (own / "1_Pooling").mkdir()
        (own / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    pooling = ", pooling: cls" if told == "setting" else ""
    chosen = settings(tmp_path, f"engine: fastembed, model: acme/words, folder: {own}{pooling}")
    first, other = load_embedder(chosen).embed_passages(["ferry leaves at six", "ferry red tiles"])
    assert first @ other > 0.999
    mean = fingerprint_of(settings(tmp_path, f"engine: fastembed, model: acme/words, folder: {own}").values.embedding)
    assert (fingerprint_of(chosen.values.embedding) != mean) == (told == "setting")


def test_a_file_that_is_no_model_is_one_typed_error(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in FILES[:2]:
        (own / name).symlink_to(folder / name)
    (own / "model.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(EmbeddingError, match="can't load acme/words from"):
        load_embedder(settings(tmp_path, f"engine: fastembed, model: acme/words, folder: {own}"))


def test_a_memory_changes_to_a_folders_model_and_back(folder: Path, tmp_path: Path) -> None:
    def opened(embedding: str = "") -> Engine:
        engine = Engine.open(settings(tmp_path, embedding))
        engine.load_models(None if embedding else real_embedder())
        return engine

    def asked(engine: Engine, text: str) -> tuple[str, str]:
        ranked, found = engine.recaller.ranked(Query.of(text, LOCAL, now=time.time()), 30.0)
        return (ranked[0].passage.text if ranked else ""), found.outcomes["dense"].state.value

    caller = {"user": "local", "platform": "cli", "profile": "default", "session_id": "s"}
    engine = opened()
    for text in TEXTS:
        engine.call_tool("fact_store", {"action": "add", "content": text}, caller)
    while engine.index_pending(64):
        pass
    engine.close()

    engine = opened(f"engine: fastembed, model: acme/words, folder: {folder}")
    assert isinstance(engine.indexing.fault, FingerprintMismatch)
    assert asked(engine, "staging gateway") == (TEXTS[2], "degraded")
    assert engine.reindex()["points"] == 3
    assert asked(engine, "staging gateway") == (TEXTS[2], "ok")
    assert engine.index.fingerprint.startswith("acme/words/fastembed/")
    engine.close()

    engine = opened()
    kept = engine.store.rows("SELECT fingerprint, count(*) AS n FROM embeddings GROUP BY fingerprint ORDER BY fingerprint")
    assert engine.reindex()["points"] == 3 and asked(engine, "staging gateway") == (TEXTS[2], "ok")
    assert kept == engine.store.rows("SELECT fingerprint, count(*) AS n FROM embeddings GROUP BY fingerprint ORDER BY fingerprint")
    assert FINGERPRINT in {row["fingerprint"] for row in kept}
    engine.close()
