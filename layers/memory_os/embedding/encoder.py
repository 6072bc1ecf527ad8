"""multilingual-e5-small on onnxruntime: token ids to unit vectors of 384 dimensions."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as _states

from memory_os.embedding.tokenizer import Tokenizer
from memory_os.embedding.weights import Weights
from memory_os.errors import EmbeddingError, said_by

# The positions table has two reserved rows, and each text gets a begin and an end token.
_RESERVED_POSITIONS = 4
# Texts are encoded in batches of like length (padding is computed and thrown away), small ones: a batch of 1,000 tokens
# is as fast as a larger one on two cores, takes a tenth of the memory, and a waiting question waits less.
_BATCH_TOKENS = 1000
# A few turns' texts are not worth the other session's 50 MB.
_WIDE_TOKENS = 4000
# onnxruntime's errors have no base of their own.
_FAULTS: tuple[type[Exception], ...] = (
    RuntimeError,
    OSError,
    *(kind for kind in vars(_states).values() if isinstance(kind, type) and issubclass(kind, Exception)),
)
_MASKED = np.float32(-1e9)

F32 = NDArray[np.float32]


class OnnxEncoder:
    """Thread-safe: calls run side by side. Raises EmbeddingError.

    A question has some 15 tokens: a second thread makes it a tenth faster and half as dear again, and full text, which runs
    at the same time, wants that core. Only a long batch of passages is worth more threads; their session is made when
    the first one comes.
    """

    dimension = 384

    def __init__(self, weights: Weights, tokenizer: Path, graph: Path, threads: int) -> None:
        self._weights = weights
        self._tokenizer = Tokenizer(tokenizer)
        self._graph, self._threads = graph, threads
        self._queries = self._batches = _open(graph, 1)
        self._widening = threading.Lock()
        self._wide = threads == 1
        self._positions = weights.f32("emb.pos").reshape(-1, weights.hidden)
        self._kind = weights.f32("emb.type")[: weights.hidden]

    def embed_query(self, text: str) -> F32:
        """The vector a question is searched with, shape (384,)."""
        vector: F32 = self._run(self._queries, self._tokens([f"query: {text}"]))[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._batched([f"query: {text}" for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> F32:
        """Vectors of texts to be found, shape (len(texts), 384)."""
        return self._batched([f"passage: {text}" for text in texts])

    def _batched(self, texts: list[str]) -> F32:
        ids = self._tokens(texts)
        session = self._batch_session() if sum(map(len, ids)) > _WIDE_TOKENS else self._queries
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.empty((len(ids), self.dimension), np.float32)
        for chosen in _batches([len(ids[i]) for i in order]):
            rows = [order[i] for i in chosen]
            vectors[rows] = self._run(session, [ids[i] for i in rows])
        return vectors

    def _batch_session(self) -> onnxruntime.InferenceSession:
        with self._widening:
            if not self._wide:
                self._batches, self._wide = _open(self._graph, self._threads), True
        return self._batches

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        longest = self._weights.positions - _RESERVED_POSITIONS
        # A token costs at most some 30 characters; a megabyte is not tokenised to keep its first 508 tokens.
        normalised = [unicodedata.normalize("NFKC", text[: longest * 30]) for text in texts]
        encoded = map(self._tokenizer.encode, normalised)
        return [[self._weights.bos, *ids[:longest], self._weights.eos] for ids in encoded]

    def _run(self, session: onnxruntime.InferenceSession, ids: list[list[int]]) -> F32:
        longest = max(map(len, ids))
        hidden = self._weights.hidden
        embeddings = np.zeros((len(ids), longest, hidden), np.float32)
        mask = np.full((len(ids), 1, 1, longest), _MASKED, np.float32)
        for row, tokens in enumerate(ids):
            words = self._weights.word_rows(np.asarray(tokens, np.int64))
            embeddings[row, : len(tokens)] = words + self._positions[: len(tokens)] + self._kind
            mask[row, ..., : len(tokens)] = 0
        try:
            (states,) = session.run(None, {"embeddings": embeddings, "mask": mask})
        except _FAULTS as error:
            raise EmbeddingError(f"The embedding model failed: {said_by(error)}.") from error
        means = np.stack([states[row, : len(tokens)].mean(axis=0) for row, tokens in enumerate(ids)])
        unit: F32 = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit


def _batches(lengths: Sequence[int]) -> Iterator[range]:
    """Consecutive ranges of an ascending list of lengths, each of at most `_BATCH_TOKENS` padded tokens."""
    start = 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or lengths[end] * (end + 1 - start) > _BATCH_TOKENS:
            yield range(start, end)
            start = end


def _open(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    try:
        return _session(graph, threads)
    except _FAULTS as error:
        raise EmbeddingError(
            f"The model's files in {graph.parent} can't be used: {said_by(error)}.",
            cure=f"Delete {graph.parent}; it is made again.",
        ) from error


def _session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take a core from Hermes between two turns.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
