"""Texts that a model fails on, told apart from the others: none takes another down with it, none is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import EmbeddingError, EmbeddingUnavailable

F32 = NDArray[np.float32]
Embed = Callable[[Sequence[str]], F32]

# So many are remembered: a model that fails on more fails on everything.
FAILED_MAX = 256


def embedded_apart(texts: Mapping[str, str], embed: Embed) -> tuple[dict[str, F32], dict[str, EmbeddingError]]:
    """Vectors by key, shape (dimension,), and the fault of each text that fails: by halves, then halves of these.

    Of 32 texts with one that fails that takes 11 calls, not 32. Raises EmbeddingUnavailable, which is no text's fault.
    """
    if not texts:
        return {}, {}
    try:
        return dict(zip(texts, embed(list(texts.values())), strict=True)), {}
    except EmbeddingUnavailable:
        raise
    except EmbeddingError as error:
        if len(texts) == 1:
            return {}, dict.fromkeys(texts, error)
    keys = list(texts)
    vectors: dict[str, F32] = {}
    faults: dict[str, EmbeddingError] = {}
    for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
        some, failed = embedded_apart({key: texts[key] for key in half}, embed)
        vectors |= some
        faults |= failed
    return vectors, faults


class FailedTexts:
    """Hashes of texts that the model failed on, and why; the one to be tried next first.

    One that failed goes behind all others, and comes when nothing else waits. One thread writes, any may read.
    """

    def __init__(self) -> None:
        self._why: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._why)

    def __contains__(self, text_hash: object) -> bool:
        return text_hash in self._why

    def reasons(self) -> dict[str, str]:
        """Why, by hash."""
        return dict(self._why)

    def next_of(self, there: Iterable[str]) -> str:
        """The one to be tried next; "" if there is none. Those that no longer wait (`there`: who does) are forgotten."""
        waiting = set(there)
        self._why = {one: why for one, why in self._why.items() if one in waiting}
        return next(iter(self._why), "")

    def embed(self, texts: Mapping[str, str], embed: Embed) -> dict[str, F32]:
        """All of them in one call. Raises EmbeddingError; they are then behind all others, unless no text is at fault."""
        try:
            vectors = embed(list(texts.values()))
        except EmbeddingUnavailable:
            raise
        except EmbeddingError as error:
            self._put_behind(dict.fromkeys(texts, error))
            raise
        return self._embedded(dict(zip(texts, vectors, strict=True)))

    def embed_apart(self, texts: Mapping[str, str], embed: Embed) -> dict[str, F32]:
        """Those that can be embedded; the others are then behind all others. Raises EmbeddingUnavailable."""
        vectors, faults = embedded_apart(texts, embed)
        self._put_behind(faults)
        return self._embedded(vectors)

    def _embedded(self, vectors: dict[str, F32]) -> dict[str, F32]:
        for one in vectors:
            self._why.pop(one, None)
        return vectors

    def _put_behind(self, faults: Mapping[str, EmbeddingError]) -> None:
        kept = {one: why for one, why in self._why.items() if one not in faults}
        both = {**kept, **{one: fault.message for one, fault in faults.items()}}
        self._why = dict(list(both.items())[-FAILED_MAX:])
