"""Makes cosines of e5 vectors comparable: subtracts what all texts share and what only their language shares.

e5 vectors lie in a narrow cone (unrelated texts have cosines near .75), and inside it texts of one language lie together.
From the cohort (`cohort.py`) come a mean for questions, a mean for statements, and the few directions in which the same
sentence differs from language to language (principal directions of the differences of language means, as in language
information removal, Yang et al. 2021). Both are taken out and the rest is scaled to unit length again, so that unrelated
pairs come near 0. Measured on dialogue turns: dense any@10 63.9 -> 66.4, and the area under the curve of "does anything
here answer this question" .946 -> .976; on Chinese questions of English paragraphs any@1 66.1 -> 68.5.

How far unrelated pairs scatter about 0 differs from model to model, and every threshold of the product was set on the
bundled one's cosines. So a third thing is taken from the cohort: the scatter of its questions with its statements, of which
next to none answers another. `comparable` puts a model's cosines on the bundled model's scale: the odds of each are
multiplied by one factor, which leaves 0 and 1 where they are and gives the cohort the bundled model's scatter. docs/embedding-models.md
has what that does to the gate, as measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_os.embedding.cohort import PARALLEL, QUESTIONS, STATEMENTS
from memory_os.embedding.watched import WatchedEncoder

F32 = NDArray[np.float32]

# Language directions taken from each side. More of them remove meaning as well: any@10 falls beyond ten.
_DIRECTIONS = 6
# Scatter of unrelated pairs: half of what lies between the deciles. The tails hold the pairs that are related after all.
_DECILES = (10, 90)
# Of the bundled model. It is what thresholds were set on, and changes with the cohort.
BUNDLED_SPREAD = 0.0971
# No model that works was seen beyond 0.6 to 1.5; a factor further out would be an artefact.
_FACTOR_MOST = 3.0


class Encoder(Protocol):
    """A raw encoder: unit vectors, shape (n, dimension)."""

    dimension: int

    def embed_query(self, text: str) -> F32: ...

    def embed_queries(self, texts: Sequence[str]) -> F32: ...

    def embed_passages(self, texts: Sequence[str]) -> F32: ...


class Calibration:
    """Two means, shape (dimension,), orthonormal directions, shape (n, dimension), and the factor of `comparable`."""

    def __init__(self, question_mean: F32, statement_mean: F32, directions: F32, factor: float = 1.0) -> None:
        self.question_mean = question_mean
        self.statement_mean = statement_mean
        self.directions = directions
        self.factor = factor

    def questions(self, vectors: F32) -> F32:
        return self._apply(vectors, self.question_mean)

    def statements(self, vectors: F32) -> F32:
        return self._apply(vectors, self.statement_mean)

    def comparable(self, cosine: float) -> float:
        """A cosine of two calibrated vectors as the bundled model would have it; below 0 in proportion."""
        if cosine <= 0:
            return self.factor * cosine
        return self.factor * cosine / (1 + (self.factor - 1) * min(cosine, 1.0))

    def _apply(self, vectors: F32, mean: F32) -> F32:
        rest = vectors - mean
        rest = rest - rest @ self.directions.T @ self.directions
        unit: F32 = (rest / np.maximum(np.linalg.norm(rest, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
        return unit


class CalibratedEmbedder:
    """An encoder whose vectors went through a calibration. This is what the rest of the product sees."""

    def __init__(self, encoder: Encoder, calibration: Calibration) -> None:
        # Whatever is behind it: what comes out is looked at, and how it fares is known.
        self.watch = self._encoder = encoder if isinstance(encoder, WatchedEncoder) else WatchedEncoder(encoder)
        self._calibration = calibration
        self.dimension = encoder.dimension
        self.factor, self.comparable = calibration.factor, calibration.comparable

    def embed_query(self, text: str) -> F32:
        return self._calibration.questions(self._encoder.embed_query(text))

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._calibration.questions(self._encoder.embed_queries(texts))

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return self._calibration.statements(self._encoder.embed_passages(texts))


def calibrate(encoder: Encoder, *, bundled: bool = True) -> Calibration:
    """Encode the cohort (about 300 short texts, once at set-up) and take means and directions from it, of another model than
    the bundled one also the factor."""
    statements, questions = encoder.embed_passages(_as_passages(STATEMENTS)), encoder.embed_queries(QUESTIONS)
    by_language = {
        language: (encoder.embed_passages(_as_passages(said)).mean(axis=0), encoder.embed_queries(asked).mean(axis=0))
        for language, (said, asked) in PARALLEL.items()
    }
    directions = np.vstack([_directions([pair[side] for pair in by_language.values()]) for side in (0, 1)])
    basis, _ = np.linalg.qr(directions.T)
    found = Calibration(
        question_mean=questions.mean(axis=0),
        statement_mean=statements.mean(axis=0),
        directions=np.ascontiguousarray(basis.T, np.float32),
    )
    if not bundled:
        found.factor = factor_of(spread(found.questions(questions) @ found.statements(statements).T))
    return found


def spread(cosines: F32) -> float:
    """How far the cosines of unrelated pairs scatter."""
    low, high = np.percentile(cosines, _DECILES)
    return float(high - low) / 2


def factor_of(found: float) -> float:
    """What the odds of a model's cosines are multiplied by, for this spread to become the bundled model's."""
    found = max(found, 1e-3)
    factor = BUNDLED_SPREAD * (1 - found) / (found * (1 - BUNDLED_SPREAD)) if found < 1 else 0.0
    return min(max(factor, 1 / _FACTOR_MOST), _FACTOR_MOST)


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
