"""A text that a model fails on takes no other down with it, and goes behind all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.embedding.apart import F32, FAILED_MAX, FailedTexts, embedded_apart
from memory_os.errors import EmbeddingError, EmbeddingUnavailable


class Model:
    """Gives each text its length; fails on a batch in which one begins with "!", and can be away."""

    def __init__(self) -> None:
        self.calls = 0
        self.away = False

    def embed(self, texts: Sequence[str]) -> F32:
        self.calls += 1
        if self.away:
            raise EmbeddingUnavailable("away")
        for text in texts:
            if text.startswith("!"):
                raise EmbeddingError(f"fails on {text}")
        return np.array([[len(text)] for text in texts], np.float32)


@given(st.dictionaries(st.text("ab", min_size=1, max_size=4), st.sampled_from(["!", "x", "yy", "!zzz"]), max_size=40))
def test_what_can_be_embedded_is_and_each_other_has_its_own_fault(texts: dict[str, str]) -> None:
    vectors, faults = embedded_apart(texts, Model().embed)
    assert {key: int(vector[0]) for key, vector in vectors.items()} == {
        key: len(text) for key, text in texts.items() if not text.startswith("!")
    }
    assert {key: error.message for key, error in faults.items()} == {
        key: f"fails on {text}" for key, text in texts.items() if text.startswith("!")
    }


def test_one_of_32_is_found_in_eleven_calls() -> None:
    model = Model()
    embedded_apart({str(number): "!" if number == 21 else "x" for number in range(32)}, model.embed)
    assert model.calls == 11


def test_a_model_that_is_away_is_no_fault_of_a_text() -> None:
    model, failed = Model(), FailedTexts()
    model.away = True
    with pytest.raises(EmbeddingUnavailable):
        failed.embed_apart({"a": "!", "b": "x"}, model.embed)
    with pytest.raises(EmbeddingUnavailable):
        failed.embed({"a": "!"}, model.embed)
    assert model.calls == 2 and not failed


def test_what_failed_again_comes_last_and_what_worked_or_went_is_forgotten() -> None:
    model, failed = Model(), FailedTexts()
    assert set(failed.embed_apart({"a": "!1", "b": "!2", "c": "x", "d": "!3"}, model.embed)) == {"c"}
    assert failed.next_of("abd") == "a"
    with pytest.raises(EmbeddingError):
        failed.embed({"a": "!1"}, model.embed)
    assert failed.next_of("abd") == "b"
    assert "b" in failed and failed.embed({"b": "x"}, model.embed)
    assert "b" not in failed
    assert failed.next_of("a") == "a", "d went"
    assert failed.reasons() == {"a": "fails on !1"} and failed.next_of("") == "" and not failed


def test_a_model_that_fails_on_everything_fills_no_memory() -> None:
    failed = FailedTexts()
    failed.embed_apart({str(number): "!" for number in range(2 * FAILED_MAX)}, Model().embed)
    assert len(failed) == FAILED_MAX and str(2 * FAILED_MAX - 1) in failed
