"""An embedder that remembers what it encoded, by content, so that the same corpus is measured again in seconds."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from memory_os import constants
from memory_os.embedding import Embedder
from memory_os.embedding.calibration import Calibration
from numpy.typing import NDArray

F32 = NDArray[np.float32]


class KeptEncoder:
    """An encoder whose passages are looked up in a file first. Questions are always encoded: their time is measured."""

    def __init__(self, embedder: Embedder, path: Path, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._embedder = embedder
        self.dimension = embedder.dimension
        self.factor = embedder.factor
        self.encoded = 0
        path.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        path.chmod(constants.FILE_MODE)
        self._connection.execute("CREATE TABLE IF NOT EXISTS kept(key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def close(self) -> None:
        self._connection.close()

    def embed_query(self, text: str) -> F32:
        return self._embedder.embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._embedder.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        keys = [_key(self._fingerprint, text) for text in texts]
        vectors = [self._kept(key) for key in keys]
        missing = [i for i, vector in enumerate(vectors) if vector is None]
        if missing:
            fresh = self._embedder.embed_passages([texts[i] for i in missing])
            self.encoded += len(missing)
            for i, vector in zip(missing, fresh, strict=True):
                vectors[i] = vector
                self._connection.execute("INSERT OR REPLACE INTO kept VALUES(?, ?)", (keys[i], vector.tobytes()))
        return np.stack([vector for vector in vectors if vector is not None]) if vectors else np.empty((0, self.dimension), np.float32)

    def _kept(self, key: bytes) -> F32 | None:
        row = self._connection.execute("SELECT vector FROM kept WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)


class _AsItIs(Calibration):
    """The kept vectors went through the calibration already; their cosines did not."""

    def __init__(self, factor: float) -> None:
        empty = np.empty(0, np.float32)
        super().__init__(empty, empty, empty, factor)

    def _apply(self, vectors: F32, mean: F32) -> F32:
        return vectors


def kept_embedder(encoder: KeptEncoder) -> Embedder:
    """As what the product takes."""
    return Embedder(encoder, _AsItIs(encoder.factor))


def _key(fingerprint: str, text: str) -> bytes:
    return hashlib.sha256(f"{fingerprint}\n{text}".encode("utf-8", "surrogatepass")).digest()
