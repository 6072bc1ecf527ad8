"""Models by their fastembed names, from a hub, or any ONNX model from a folder. Only with the extra `fastembed`."""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_os.config import EmbeddingSettings
from memory_os.embedding.endpoint import unit_vectors
from memory_os.embedding.prefixes import Prefixes, prefixes_of
from memory_os.errors import EmbeddingError, said_by

F32 = NDArray[np.float32]

# fastembed pads a batch to its longest text; its own 256 computes mostly padding, and takes a gigabyte.
_BATCH = 16
_MODEL_FILES = ("model.onnx", "model_optimized.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# How sentence-transformers writes down what becomes of the tokens' states.
_POOLING_FILE = "1_Pooling/config.json"
_POOLING_FLAGS = {"pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last_token", "pooling_mode_mean_tokens": "mean"}
_NAMES_TOLD = 3


class FastEmbedEncoder:
    """Thread-safe: one call at a time. Unit vectors, shape (n, dimension). Raises EmbeddingError.

    `folder`: absolute, with the model's files; without one they are loaded from a hub once, into `models_dir`.
    """

    def __init__(self, embedding: EmbeddingSettings, folder: Path | None, models_dir: Path) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise EmbeddingError(
                "`embedding.engine` is fastembed, which is not installed.",
                cure="Install it into memory-os's own environment: pip install 'memory-os[fastembed]'.",
            ) from error
        name = embedding.model if folder is None else _in_folder(TextEmbedding, embedding, folder)
        _check_known(TextEmbedding, name)
        try:
            self._model: Any = TextEmbedding(
                name,
                cache_dir=str(models_dir / "fastembed"),
                threads=embedding.threads,
                specific_model_path=None if folder is None else str(folder),
                local_files_only=folder is not None,
            )
        except Exception as error:  # a hub's, onnxruntime's and the file system's faults have no common base
            raise _not_loaded(embedding.model, folder, error) from error
        self._name = embedding.model
        self._prefixes: Prefixes = prefixes_of(embedding)
        self._one = threading.Lock()
        self.dimension = self.embed_queries(["dimension"]).shape[1]

    def embed_query(self, text: str) -> F32:
        vector: F32 = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._encoded(self._model.query_embed, self._prefixes.query, texts)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return self._encoded(self._model.passage_embed, self._prefixes.passage, texts)

    def _encoded(self, encode: Callable[..., Iterable[Any]], prefix: str, texts: Sequence[str]) -> F32:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        # Texts of like length side by side: what is padded is computed and thrown away.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        # An empty text has no token to take a mean of, in a model whose tokenizer adds none.
        wanted = [prefix + (texts[i] if texts[i].strip() else "-") for i in order]
        try:
            with self._one:
                rows = [np.asarray(vector, np.float32) for vector in encode(wanted, batch_size=_BATCH)]
        except Exception as error:  # as above
            raise EmbeddingError(f"{self._name} fails on a text: {said_by(error)}") from error
        found = unit_vectors(np.stack(rows), self._name)
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors


def _in_folder(registry: Any, embedding: EmbeddingSettings, folder: Path) -> str:
    """The name under which fastembed loads this folder: its own where it lists the model and the files lie as it wants them,
    else one made here, for a model that it does not know."""
    if missing := [name for name in _TOKENIZER_FILES if not (folder / name).is_file()]:
        raise EmbeddingError(
            f"`embedding.folder` is {folder}, where {' and '.join(missing)} can't be found.",
            cure="It must hold tokenizer.json, tokenizer_config.json and model.onnx (or onnx/model.onnx) of the model.",
        )
    for known in registry.list_supported_models():
        if known["model"].lower() == embedding.model.lower() and (folder / known["model_file"]).is_file():
            return embedding.model
    file = _model_file(folder)
    pooling = _pooling(embedding, folder, file)
    name = f"folder/{embedding.model}@{hashlib.sha256(f'{folder}|{file}|{pooling}'.encode()).hexdigest()[:12]}"
    if all(known["model"] != name for known in registry.list_supported_models()):
        _register(registry, name, file, pooling)
    return name


def _register(registry: Any, name: str, file: str, pooling: str) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    registry.add_custom_model(
        model=name,
        pooling=PoolingType(pooling.upper()),
        normalization=True,
        sources=ModelSource(url="file:///unused"),  # one is mandatory; the folder is what is read
        dim=1,  # asked for, and not used: the model says what it gives
        model_file=file,
    )


def _model_file(folder: Path) -> str:
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            return name
    graphs = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.onnx"))
    if len(graphs) == 1:
        return graphs[0]
    raise EmbeddingError(
        f"`embedding.folder` is {folder}, which holds {'several models' if graphs else 'no ONNX model'}.",
        cure="Name the one to use model.onnx.",
    )


def _pooling(embedding: EmbeddingSettings, folder: Path, file: str) -> str:
    """How the states of a text's tokens become its vector; `disabled` for a model that gives the vector itself."""
    import onnx

    try:
        output = onnx.load(folder / file, load_external_data=False).graph.output[0]
    except Exception as error:  # protobuf's fault for what is no model, the file system's for what can't be read
        raise _not_loaded(embedding.model, folder, error) from error
    if len(output.type.tensor_type.shape.dim) == 2:
        return "disabled"
    if embedding.pooling != "auto":
        return embedding.pooling
    try:
        told = json.loads((folder / _POOLING_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return "mean"
    return next((pooling for flag, pooling in _POOLING_FLAGS.items() if told.get(flag)), "mean")


def _check_known(registry: Any, name: str) -> None:
    names = [str(known["model"]) for known in registry.list_supported_models()]
    if name.lower() in (known.lower() for known in names):
        return
    near = difflib.get_close_matches(name, names, _NAMES_TOLD, cutoff=0.5)
    raise EmbeddingError(
        f"fastembed knows no model {name}.",
        cure=(f"Did you mean {' or '.join(near)}? " if near else "")
        + "Any other ONNX model can be used from a folder: set `embedding.folder`.",
    )


def _not_loaded(model: str, folder: Path | None, error: Exception) -> EmbeddingError:
    where = "from the hub" if folder is None else f"from {folder}"
    cure = (
        "Where no hub can be reached, copy the model's files here and name their folder in `embedding.folder`."
        if folder is None
        else "Check the folder's files: model.onnx, tokenizer.json, tokenizer_config.json."
    )
    return EmbeddingError(f"fastembed can't load {model} {where}: {said_by(error)}", cure=cure)
