"""A model that fails, hangs or lies in this process: one typed fault for all of it, told once, and seen in its health."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from memory_os.embedding.watched import BATCH_HANGS_S, F32, QUESTION_HANGS_S, WatchedEncoder
from memory_os.errors import EmbeddingError, EmbeddingInvalid, EmbeddingUnavailable


class Model:
    """Gives rows of its own unless `then` says what happens instead."""

    dimension = 4

    def __init__(self) -> None:
        self.then: Callable[[int], F32] | None = None

    def embed_query(self, text: str) -> F32:
        vector: F32 = self.embed_passages([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        if self.then is not None:
            return self.then(len(texts))
        return _rows(len(texts))


def _rows(count: int, dimension: int = 4, value: float = 0.5) -> F32:
    return np.full((count, dimension), value, np.float32)


def _raise(error: Exception) -> Callable[[int], F32]:
    def fail(count: int) -> F32:
        raise error

    return fail


FAULTS: dict[str, Callable[[int], F32]] = {
    "no memory": _raise(MemoryError()),
    "the engine fails": _raise(RuntimeError("onnxruntime: bad allocation")),
    "its file is gone": _raise(OSError(5, "Input/output error")),
    "too few": lambda count: _rows(count - 1),
    "another dimension": lambda count: _rows(count, 5),
    "no numbers": lambda count: _rows(count, value=float("nan")),
    "no direction": lambda count: _rows(count, value=0.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_model_does_is_one_typed_fault_and_passes_with_it(fault: str) -> None:
    model, told = Model(), list[str]()
    watched = WatchedEncoder(model)
    watched.told = told.append
    assert watched.embed_passages(["a", "b"]).shape == (2, 4) and watched.health().well
    model.then = FAULTS[fault]
    for call in (watched.embed_passages, watched.embed_queries):
        with pytest.raises(EmbeddingError):
            call(["a", "b"])
    health = watched.health()
    assert not health.well and health.faults == 2 and health.fault and health.failing_since
    assert told == [health.fault], "each fault once for as long as it lasts"
    model.then = None
    assert watched.embed_query("a").shape == (4,)
    assert not watched.health().well, "a question that is answered says nothing of a batch"
    watched.embed_passages(["a"])
    after = watched.health()
    assert after.well and (after.faults, after.last_fault) == (2, health.fault), "what was stays known"


def test_a_lie_is_told_from_a_fault() -> None:
    model = Model()
    model.then = FAULTS["no numbers"]
    with pytest.raises(EmbeddingInvalid):
        WatchedEncoder(model).embed_query("a")


def test_what_is_no_fault_of_a_model_is_not_hidden() -> None:
    model = Model()
    model.then = _raise(KeyError("a mistake of ours"))
    with pytest.raises(KeyError):
        WatchedEncoder(model).embed_query("a")


def test_a_counter_that_fails_hides_no_fault() -> None:
    model = Model()
    model.then = FAULTS["no memory"]
    watched = WatchedEncoder(model)
    watched.told = lambda fault: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    with pytest.raises(EmbeddingError, match="MemoryError"):
        watched.embed_query("a")


def test_questions_do_not_queue_behind_one_that_hangs_and_are_asked_again_when_it_came_back() -> None:
    model, inside, release, now = Model(), threading.Event(), threading.Event(), [100.0]

    def hang(count: int) -> F32:
        inside.set()
        assert release.wait(30)
        return _rows(count)

    watched = WatchedEncoder(model, clock=lambda: now[0])
    model.then = hang
    hanging = threading.Thread(target=watched.embed_query, args=("a",))
    hanging.start()
    assert inside.wait(30)
    model.then = None
    now[0] += QUESTION_HANGS_S
    assert watched.embed_query("b").shape == (4,), "late is not hanging"
    now[0] += 1
    with pytest.raises(EmbeddingUnavailable, match="hangs: a question has been out for 3 s"):
        watched.embed_query("c")
    assert watched.embed_passages(["d"]).shape == (1, 4), "what is written goes on"
    assert not watched.health().well and "hangs" in watched.health().told[0]
    release.set()
    hanging.join(30)
    assert watched.embed_query("e").shape == (4,) and watched.health().well


def test_a_batch_may_take_longer_than_a_question() -> None:
    model, inside, release, now = Model(), threading.Event(), threading.Event(), [0.0]

    def hang(count: int) -> F32:
        inside.set()
        assert release.wait(30)
        return _rows(count)

    watched = WatchedEncoder(model, clock=lambda: now[0])
    model.then = hang
    hanging = threading.Thread(target=watched.embed_passages, args=(["a"],))
    hanging.start()
    assert inside.wait(30)
    now[0] = 2 * QUESTION_HANGS_S
    assert watched.health().well
    now[0] = BATCH_HANGS_S + 1
    assert watched.health().hangs_s > BATCH_HANGS_S
    release.set()
    hanging.join(30)
    assert watched.health().well
