from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import VectorsError
from memory_os.vectors import Payload, Point
from memory_os.vectors.points import checked_vector
from pydantic import ValidationError

from vectors.building import DIMENSION, direction, passage, point


def test_a_point_carries_every_field_filters_need() -> None:
    payload = point("the gateway listens on 7333").payload.model_dump(mode="json")
    assert {"id", "layer", "scope", "source", "ordinal", "created_at"} <= payload.keys()
    assert payload["layer"] == "sessions"
    assert "text" not in payload


@pytest.mark.parametrize("field", ["scope", "source", "created_at"])
def test_a_passage_without_a_field_is_refused_by_name(field: str) -> None:
    empty = {"scope": "", "source": "", "created_at": 0.0}[field]
    broken = dataclasses.replace(passage("text"), **{field: empty})
    with pytest.raises(VectorsError, match=field):
        Point.of(broken, direction("x"))


def test_an_id_that_is_no_uuid_is_refused() -> None:
    with pytest.raises(VectorsError, match="UUID"):
        Point.of(dataclasses.replace(passage("text"), id="12"), direction("x"))


def test_the_payload_takes_no_unknown_field() -> None:
    with pytest.raises(ValidationError, match="extra"):
        Payload.model_validate({**point("x").payload.model_dump(), "colour": "red"})


@pytest.mark.parametrize(
    ("vector", "says"),
    [
        (None, "No vector"),
        (np.zeros(DIMENSION, np.float32), "zero"),
        (np.full(DIMENSION, np.nan, np.float32), "not finite"),
        (np.full(DIMENSION, np.inf, np.float32), "not finite"),
        (np.ones(DIMENSION + 1, np.float32), "shape"),
        (np.ones((1, DIMENSION), np.float32), "shape"),
        ([], "shape"),
    ],
)
def test_a_vector_that_can_not_be_searched_with_is_refused(vector: object, says: str) -> None:
    with pytest.raises(VectorsError, match=says):
        checked_vector(vector, DIMENSION)  # type: ignore[arg-type]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=4))
def test_whatever_passes_is_finite_and_has_a_direction(values: list[float]) -> None:
    try:
        checked = checked_vector(values, 4)
    except VectorsError:
        assert not any(values)
        return
    assert np.isfinite(checked).all()
    assert np.linalg.norm(checked) > 0
