"""Makes cosines of e5 vectors comparable: subtracts what all texts share and what only their language shares.

e5 vectors lie in a narrow cone (unrelated texts have cosines near .75), and inside it texts of one language lie together.
From the cohort (`cohort.py`) come a mean for questions, a mean for statements, and the few directions in which the same
sentence differs from language to language (principal directions of the differences of language means, as in language
information removal, Yang et al. 2021). Both are taken out and the rest is scaled to unit length again, so that unrelated
pairs come near 0. Measured on dialogue turns: dense any@10 63.9 -> 66.4, and the area under the curve of "does anything
here answer this question" .946 -> .976; on Chinese questions of English paragraphs any@1 66.1 -> 68.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_os.embedding.cohort import PARALLEL, QUESTIONS, STATEMENTS

F32 = NDArray[np.float32]

# Language directions taken from each side. More of them remove meaning as well: any@10 falls beyond ten.
_DIRECTIONS = 6


class Encoder(Protocol):
    """A raw encoder: unit vectors, shape (n, dimension)."""

    dimension: int

    def embed_query(self, text: str) -> F32: ...

    def embed_queries(self, texts: Sequence[str]) -> F32: ...

    def embed_passages(self, texts: Sequence[str]) -> F32: ...


class Calibration:
    """Two means, shape (dimension,), and orthonormal directions, shape (n, dimension)."""

    def __init__(self, question_mean: F32, statement_mean: F32, directions: F32) -> None:
        self.question_mean = question_mean
        self.statement_mean = statement_mean
        self.directions = directions

    def questions(self, vectors: F32) -> F32:
        return self._apply(vectors, self.question_mean)

    def statements(self, vectors: F32) -> F32:
        return self._apply(vectors, self.statement_mean)

    def _apply(self, vectors: F32, mean: F32) -> F32:
        rest = vectors - mean
        rest = rest - rest @ self.directions.T @ self.directions
        unit: F32 = (rest / np.maximum(np.linalg.norm(rest, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
        return unit


class CalibratedEmbedder:
    """An encoder whose vectors went through a calibration. This is what the rest of the product sees."""

    def __init__(self, encoder: Encoder, calibration: Calibration) -> None:
        self._encoder = encoder
        self._calibration = calibration
        self.dimension = encoder.dimension

    def embed_query(self, text: str) -> F32:
        return self._calibration.questions(self._encoder.embed_query(text))

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._calibration.questions(self._encoder.embed_queries(texts))

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return self._calibration.statements(self._encoder.embed_passages(texts))


def calibrate(encoder: Encoder) -> Calibration:
    """Encode the cohort (about 300 short texts, once at set-up) and take means and directions from it."""
    statements = encoder.embed_passages(_as_passages(STATEMENTS))
    by_language = {
        language: (encoder.embed_passages(_as_passages(said)).mean(axis=0), encoder.embed_queries(asked).mean(axis=0))
        for language, (said, asked) in PARALLEL.items()
    }
    directions = np.vstack([_directions([pair[side] for pair in by_language.values()]) for side in (0, 1)])
    basis, _ = np.linalg.qr(directions.T)
    return Calibration(
        question_mean=encoder.embed_queries(QUESTIONS).mean(axis=0),
        statement_mean=statements.mean(axis=0),
        directions=np.ascontiguousarray(basis.T, np.float32),
    )


def _directions(means: list[F32]) -> F32:
    """The principal directions of the other languages' means as seen from the first (English)."""
    differences = np.array([mean - means[0] for mean in means[1:]])
    _, _, right = np.linalg.svd(differences, full_matrices=False)
    leading: F32 = right[:_DIRECTIONS]
    return leading


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip


def _as_passages(sentences: Sequence[str]) -> list[str]:
    """Sentences worded as `index.embed_text` words a turn: a date, what stood before, the text."""
    count = len(sentences)
    return [
        f"{1 + i * 7 % 28} {_MONTHS[i % 12]} {2022 + i % 5}\n{('user', 'assistant')[i % 2]}: {sentences[(i + 2) % count]}\n{text}"
        for i, text in enumerate(sentences)
    ]
