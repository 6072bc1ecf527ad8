"""Cosines of any model on the scale that the thresholds were set on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.embedding.calibration import BUNDLED_SPREAD, Calibration, _as_passages, calibrate, factor_of, spread
from memory_os.embedding.cohort import QUESTIONS, STATEMENTS
from memory_os.embedding.endpoint import unit_vectors
from numpy.typing import NDArray
from support.embedding_server import encoded
from support.library import real_embedder

_NONE = np.empty(0, np.float32)
FACTORS = st.floats(1 / 3, 3)


@given(FACTORS, st.floats(-1, 1), st.floats(-1, 1))
def test_the_order_of_cosines_stays_and_so_do_nothing_and_the_same(factor: float, one: float, other: float) -> None:
    comparable = Calibration(_NONE, _NONE, _NONE, factor).comparable
    assert comparable(0.0) == 0.0 and comparable(1.0) == pytest.approx(1.0)
    low, high = sorted((one, other))
    assert comparable(low) <= comparable(high) + 1e-12
    assert comparable(one) <= 1 + 1e-12


@given(st.floats(0.04, 0.24))
def test_the_scatter_becomes_the_bundled_models(found: float) -> None:
    assert Calibration(_NONE, _NONE, _NONE, factor_of(found)).comparable(found) == pytest.approx(BUNDLED_SPREAD, rel=1e-3)


def test_no_scatter_at_all_and_one_without_end_stay_within_bounds() -> None:
    assert factor_of(0.0) == 3.0 and factor_of(0.99) == factor_of(5.0) == pytest.approx(1 / 3)


def test_the_bundled_models_cosines_are_taken_as_they_are() -> None:
    embedder = real_embedder()
    assert embedder.factor == 1.0 and embedder.comparable(0.31) == 0.31
    cosines = embedder.embed_queries(QUESTIONS) @ embedder.embed_passages(_as_passages(STATEMENTS)).T
    assert spread(cosines) == pytest.approx(BUNDLED_SPREAD, abs=0.003), "the cohort changed: measure the constant again"


class _Narrow:
    """The bundled model's vectors cut to a few dimensions, where unrelated texts lie further apart and closer together."""

    dimension = 48

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit_vectors(np.stack(encoded(texts))[:, : self.dimension], "cut")

    embed_passages = embed_queries


def test_a_model_of_another_scatter_gets_its_factor_and_the_bundled_one_none() -> None:
    other = _Narrow()
    found = calibrate(other, bundled=False)
    asked, told = found.questions(other.embed_queries(QUESTIONS)), found.statements(other.embed_passages(_as_passages(STATEMENTS)))
    wide = spread(asked @ told.T)
    assert wide > BUNDLED_SPREAD + 0.01 and found.factor < 1
    assert found.comparable(wide) == pytest.approx(BUNDLED_SPREAD, rel=1e-3)
    assert calibrate(other).factor == 1.0
