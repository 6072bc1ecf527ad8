"""Models by their fastembed names, from a hub or from a folder. Only with the extra `fastembed`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_os.config import EmbeddingSettings
from memory_os.embedding.endpoint import unit_vectors
from memory_os.errors import EmbeddingError

F32 = NDArray[np.float32]


class FastEmbedEncoder:
    """Thread-safe: one call at a time. Unit vectors, shape (n, dimension). Raises EmbeddingError.

    The prefixes of the settings are put before the texts; what a model of fastembed's own does for queries comes on top.
    """

    def __init__(self, embedding: EmbeddingSettings, models_dir: Path) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise EmbeddingError(
                "`embedding.engine` is fastembed, which is not installed.",
                cure="Install it into memory-os's own environment: pip install 'memory-os[fastembed]'.",
            ) from error
        folder = embedding.folder
        try:
            self._model: Any = TextEmbedding(
                embedding.model,
                cache_dir=str(models_dir / "fastembed"),
                threads=embedding.threads,
                specific_model_path=None if folder is None else str(folder),
                local_files_only=folder is not None,
            )
        except Exception as error:  # a hub's, onnxruntime's and the file system's faults have no common base
            raise EmbeddingError(
                f"fastembed can't load {embedding.model}: {error}",
                cure="Check its name (fastembed's list of models) and the network, or name its folder in `embedding.folder`.",
            ) from error
        self._embedding = embedding
        self._one = threading.Lock()
        self.dimension = self.embed_queries(["dimension"]).shape[1]

    def embed_query(self, text: str) -> F32:
        vector: F32 = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._encoded(self._model.query_embed, self._embedding.query_prefix, texts)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return self._encoded(self._model.passage_embed, self._embedding.passage_prefix, texts)

    def _encoded(self, encode: Callable[[list[str]], Iterable[Any]], prefix: str, texts: Sequence[str]) -> F32:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        try:
            with self._one:
                vectors = [np.asarray(vector, np.float32) for vector in encode([prefix + text for text in texts])]
        except Exception as error:  # as above
            raise EmbeddingError(f"{self._embedding.model} fails on a text: {error}") from error
        return unit_vectors(np.stack(vectors), self._embedding.model)
