"""An encoder that is looked at: what it gives is vectors or a typed fault, and how it fares is told.

A model may be refused, be slow, hang or lie (docs/endurance.md). Whoever embeds gets one kind of error for all of that, a
vector that is none never reaches memory.db, and a question does not queue behind one that hangs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import EmbeddingError, EmbeddingInvalid, EmbeddingUnavailable, MemoryOSError, said_by

if TYPE_CHECKING:
    from memory_os.embedding.calibration import Encoder

_log = logging.getLogger(__name__)
F32 = NDArray[np.float32]

# A question takes 10 ms, on a machine that is very busy half a second; a batch of passages a second or two, on such a
# machine a minute.
QUESTION_HANGS_S = 2.0
BATCH_HANGS_S = 180.0
# What a unit vector's length may differ by: half precision on the way costs less.
_UNIT = 0.02
# Foreign code runs out of memory and fails with what it likes; these are no faults of ours.
_FAULTS = (MemoryError, RuntimeError, OSError, ValueError, ArithmeticError)
_CURE = "Questions and new memories go by words until it works; what waits is embedded then. See logs/service.log."
_HANGS_CURE = "Until it comes back, questions go by words; if it never does, `memory-os stop`: the next turn starts it anew."


@dataclass(frozen=True, slots=True)
class EncoderHealth:
    """How an encoder fares. `fault`: why the last batch, or the last question, failed; "" when neither did. Times in epoch
    seconds, 0 for never; `faults`: calls that failed since the start; `hangs_s`: how long a call has been out that should
    have come back."""

    fault: str = ""
    cure: str = ""
    failing_since: float = 0.0
    faults: int = 0
    last_fault: str = ""
    last_fault_at: float = 0.0
    hangs_s: float = 0.0

    @property
    def well(self) -> bool:
        return not self.fault and not self.hangs_s

    @property
    def told(self) -> tuple[str, str]:
        """What is wrong and what to do about it, as a layer's health says it."""
        if self.hangs_s:
            return f"the embedding model hangs: a call has been out for {self.hangs_s:.0f} s", _HANGS_CURE
        return self.fault, self.cure or _CURE


class WatchedEncoder:
    """Thread-safe as the encoder is. Raises EmbeddingError and its leaves, and nothing else of the encoder's."""

    def __init__(self, encoder: Encoder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.dimension = encoder.dimension
        # Told of each fault that is another than the one before: a counter, on whichever thread met it.
        self.told: Callable[[str], None] = lambda fault: None
        self._encoder = encoder
        self._clock = clock
        self._lock = threading.Lock()
        self._out: dict[object, tuple[float, float]] = {}
        # By the time a call may take: a model may fail on batches while it answers questions.
        self._failing: dict[float, tuple[EmbeddingError, float]] = {}
        self._faults, self._last, self._last_at = 0, "", 0.0

    def embed_query(self, text: str) -> F32:
        """Raises EmbeddingUnavailable at once while an earlier question hangs."""
        if seconds := self._hangs(QUESTION_HANGS_S):
            raise EmbeddingUnavailable(f"The embedding model hangs: a question has been out for {seconds:.0f} s.", cure=_CURE)
        with self._call(QUESTION_HANGS_S):
            vector: F32 = self._checked(self._encoder.embed_query(text)[np.newaxis], 1)[0]
            return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        with self._call(BATCH_HANGS_S):
            return self._checked(self._encoder.embed_queries(texts), len(texts))

    def embed_passages(self, texts: Sequence[str]) -> F32:
        with self._call(BATCH_HANGS_S):
            return self._checked(self._encoder.embed_passages(texts), len(texts))

    def health(self) -> EncoderHealth:
        hangs_s = max(self._hangs(QUESTION_HANGS_S), self._hangs(BATCH_HANGS_S))
        with self._lock:
            fault, since = self._failing.get(BATCH_HANGS_S) or self._failing.get(QUESTION_HANGS_S) or (EmbeddingError(""), 0.0)
            return EncoderHealth(fault.message, fault.cure, since, self._faults, self._last, self._last_at, hangs_s)

    def _hangs(self, limit: float) -> float:
        """Seconds that the longest call of this limit has been out, if that is beyond it; else 0."""
        now = self._clock()
        with self._lock:
            longest = max((now - began for began, its in self._out.values() if its == limit), default=0.0)
        return longest if longest > limit else 0.0

    @contextmanager
    def _call(self, limit: float) -> Iterator[None]:
        mark = object()
        with self._lock:
            self._out[mark] = (self._clock(), limit)
        try:
            yield
        except EmbeddingError as error:
            self._failed(error, limit)
            raise
        except _FAULTS as error:
            fault = EmbeddingError(f"The embedding model failed: {type(error).__name__}: {said_by(error)}.", cure=_CURE)
            self._failed(fault, limit)
            raise fault from error
        else:
            with self._lock:
                passed = self._failing.pop(limit, None)
            if passed is not None:
                _log.info("embedding works again: %s", passed[0].message)
        finally:
            with self._lock:
                del self._out[mark]

    def _checked(self, vectors: F32, count: int) -> F32:
        if vectors.shape != (count, self.dimension):
            raise EmbeddingInvalid(f"The embedding model gives {vectors.shape} for {count} texts of {self.dimension} dimensions.")
        lengths = np.linalg.norm(vectors, axis=1)
        # Also of what is no number: no comparison with one holds.
        if not (np.abs(lengths - 1) < _UNIT).all():
            raise EmbeddingInvalid("The embedding model gives vectors that are none.")
        return vectors

    def _failed(self, error: EmbeddingError, limit: float) -> None:
        now = time.time()
        with self._lock:
            before, since = self._failing.get(limit, (None, now))
            # Without its frames, which hold the texts.
            self._failing[limit] = (type(error)(error.message, cure=error.cure), since)
            self._faults, self._last, self._last_at = self._faults + 1, error.message, now
        if before is None or error.message != before.message:
            _log.warning("embedding fails: %s", error)
            # memory.db may be what is in trouble too; the fault itself is raised.
            with suppress(MemoryOSError, *_FAULTS):
                self.told(error.message)
