"""The model's Unigram tokenizer: text to token ids, the same ids as SentencePiece gives.

SentencePiece itself parses 250,002 pieces and builds its trie again at every start: a second of processor time, and 55 MB.
Here the trie is made once, at set-up, as a few flat arrays (7 MB) that are read in milliseconds. The search is SentencePiece's
own (`unigram::Model::EncodeOptimized`): one pass from left to right that keeps the best path ending at each byte, its sums
rounded to single precision where SentencePiece rounds them, as near ties would else go the other way in a long text.
"""

from __future__ import annotations

import zipfile
from array import array
from collections.abc import Iterable
from itertools import starmap
from pathlib import Path
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from memory_os.embedding.weights import Weights
from memory_os.errors import EmbeddingError

# How SentencePiece writes a space.
_SPACE = "\u2581"
# Below the rarest piece by this much: what an unknown character costs.
_UNKNOWN_PENALTY = 10.0
_NO_PIECE = -1
_SPACE_BYTES = _SPACE.encode()
# Words are mostly those of a moment ago. A long one is a sentence of a script without spaces, and comes once.
_KNOWN_BYTES_MAX = 24
_KNOWN_MAX = 20_000

# From, to (bytes within the word), token id, log probability.
_Edge = tuple[int, int, int, float]
# As it is kept of a word: a fifth of a kB, and as objects two to three. The scores are of single precision already.
_PACKED = Struct("=BBif")


class Tokenizer:
    """Reads what `write_tokenizer` wrote. Thread-safe. Raises EmbeddingError."""

    def __init__(self, path: Path) -> None:
        try:
            # A stream of our own: numpy leaves its one open when the file is no archive.
            with path.open("rb") as stream, np.load(stream) as arrays:
                self._labels = arrays["labels"].tobytes()
                # Indexing a memoryview gives Python's own numbers, in a third of the time an array takes.
                self._children = memoryview(arrays["children"])
                self._pieces = memoryview(arrays["pieces"])
                self._scores = memoryview(arrays["scores"])
                self._unknown, self._unknown_score = int(arrays["unknown"]), float(arrays["unknown_score"])
            self._known: dict[bytes, bytes] = {}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise EmbeddingError(f"{path} can't be read: {error}.", cure="Delete it; it is made again.") from error

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, which is NFKC-normalised already; no begin and end tokens."""
        words = " ".join(filter(None, text.split(" "))).rstrip(f" {_SPACE}").replace(_SPACE, " ").encode("utf-8", "replace")
        return self._best_path(words.split(b" ")) if words else []

    def _best_path(self, words: list[bytes]) -> list[int]:
        """Viterbi over the pieces that are found at each character. No piece spans two words."""
        size = sum(map(len, words)) + len(_SPACE_BYTES) * len(words)
        sums = array("f", bytes(4 * (size + 1)))
        # What is stored is rounded: a sum is compared as it would be stored, so that the first of two equal ones stays.
        rounded = array("f", [0.0])
        starts, ids = [-1] * (size + 1), [0] * (size + 1)
        offset = 0
        for word in words:
            edges = self._edges_of(word)
            for start, end, piece, score in edges:
                total = sums[offset + start] + score
                target = offset + end
                if starts[target] >= 0:
                    best = sums[target]
                    if total <= best:
                        continue
                    rounded[0] = total
                    if rounded[0] <= best:
                        continue
                sums[target], starts[target], ids[target] = total, offset + start, piece
            offset += len(_SPACE_BYTES) + len(word)
        return self._backwards(starts, ids)

    def _edges_of(self, word: bytes) -> Iterable[_Edge]:
        known = self._known.get(word)
        if known is not None:
            return _PACKED.iter_unpack(known)
        edges = self._edges(_SPACE_BYTES + word)
        if len(word) <= _KNOWN_BYTES_MAX:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[word] = b"".join(starmap(_PACKED.pack, edges))
        return edges

    def _edges(self, text: bytes) -> list[_Edge]:
        """All pieces in a word as (start, end, id, score); where no piece is one character long, an unknown one is."""
        children, pieces, scores = self._children, self._pieces, self._scores
        size, find = len(text), self._labels.find
        edges: list[_Edge] = []
        start = 0
        while start < size:
            following = min(start + _character_length(text[start]), size)
            single = False
            node, at = 0, start
            while at < size:
                node = find(text[at], children[node], children[node + 1]) + 1
                if not node:
                    break
                at += 1
                piece = pieces[node]
                if piece >= 0:
                    edges.append((start, at, piece, scores[piece]))
                    single = single or at == following
            if not single:
                edges.append((start, following, self._unknown, self._unknown_score))
            start = following
        return edges

    def _backwards(self, starts: list[int], ids: list[int]) -> list[int]:
        """The pieces of the best path in their order; unknown ones that follow one another are one."""
        path: list[int] = []
        end = len(starts) - 1
        while end > 0:
            piece = ids[end]
            if piece != self._unknown or not path or path[-1] != piece:
                path.append(piece)
            end = starts[end]
        path.reverse()
        return path


def write_tokenizer(weights: Weights, path: Path) -> None:
    """Write the trie of the model's pieces to `path`.

    Nodes are numbered level by level, the root is 0: the node an edge leads to has the edge's number plus 1, and the edges of
    one node stand together, in `labels[children[node]:children[node + 1]]`.
    """
    pieces = weights.pieces()
    control = {weights.bos, weights.eos, weights.pad, weights.unknown}
    scores = np.array([score for _, score in pieces], np.float32)
    keyed = sorted((text.encode(), number) for number, (text, _) in enumerate(pieces) if number not in control and text)
    labels, children, found = _trie([key for key, _ in keyed], np.array([number for _, number in keyed], np.int32))
    # The rarest piece's score less the penalty, as single precision has it.
    worst = scores[[number for _, number in keyed]].min() - np.float32(_UNKNOWN_PENALTY)
    with path.open("wb") as stream:
        np.savez(
            stream, labels=labels, children=children, pieces=found, scores=scores,
            unknown=np.int32(weights.unknown), unknown_score=worst,
        )  # fmt: skip


def _trie(keys: list[bytes], numbers: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.int32]]:
    """Labels of the edges, first edge of each node (and one past the last), piece that ends at each node or -1.

    `keys` ascend and are all different. A key makes the nodes that the key before it doesn't share.
    """
    lengths = np.array([len(key) for key in keys])
    letters = np.zeros((len(keys), lengths.max()), np.uint8)
    for row, key in enumerate(keys):
        letters[row, : len(key)] = np.frombuffer(key, np.uint8)
    # Padding is 0, which no key has: two different keys differ at the shorter one's end at the latest.
    shared = np.concatenate([[0], (letters[1:] != letters[:-1]).argmax(axis=1)])
    labels, counts, found = [], [], [np.array([_NO_PIECE], np.int32)]
    above = np.array([0])
    for depth in range(1, letters.shape[1] + 1):
        makers = np.flatnonzero((shared < depth) & (lengths >= depth))
        labels.append(letters[makers, depth - 1])
        counts.append(np.bincount(np.searchsorted(above, makers, "right") - 1, minlength=len(above)))
        found.append(np.where(lengths[makers] == depth, numbers[makers], _NO_PIECE).astype(np.int32))
        above = makers
    counts.append(np.zeros(len(above), np.int64))
    children = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.uint32)
    return np.concatenate(labels), children, np.concatenate(found)


def _character_length(first: int) -> int:
    """Bytes of the UTF-8 character that begins with this one."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
