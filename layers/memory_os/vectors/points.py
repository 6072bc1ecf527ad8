"""What a point carries: its vectors, and a payload checked at write, so that filters always find their fields."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_os.errors import VectorsError
from memory_os.memory import Author, Layer, Passage

__all__ = ["Payload", "Point", "checked_vector"]

_Text = Annotated[str, Field(min_length=1)]


class Payload(BaseModel):
    """Fields every point has. The text itself stays in memory.db; what is forgotten there leaves no copy here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: _Text
    layer: Layer
    scope: _Text
    source: _Text
    ordinal: Annotated[int, Field(ge=0)]
    created_at: Annotated[float, Field(gt=0, allow_inf_nan=False, description="epoch seconds, UTC")]
    author: Author
    kind: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """One passage with its dense vector, shape (dimension,). `text` and `context` become the sparse vector."""

    id: str
    vector: NDArray[np.float32]
    text: str
    payload: Payload
    context: str = ""

    @classmethod
    def of(cls, passage: Passage, vector: NDArray[np.float32]) -> Point:
        """The point of a passage. Raises VectorsError naming the field that is missing or wrong."""
        try:
            payload = Payload(
                id=str(uuid.UUID(passage.id)), layer=passage.layer, scope=passage.scope, source=passage.source,
                ordinal=passage.ordinal, created_at=float(passage.created_at), author=passage.author,
                kind=passage.kind, session_id=passage.session_id,
            )  # fmt: skip
        except (ValidationError, ValueError, TypeError) as error:
            what = f"Passage {passage.id} of {passage.source} can't be a point"
            raise VectorsError(f"{what}: {_first(error)}.") from error
        text = f"{passage.title}\n{passage.text}" if passage.title else passage.text
        return cls(payload.id, vector, text, payload, passage.context)


def checked_vector(vector: NDArray[Any] | Sequence[float] | None, dimension: int) -> list[float]:
    """The vector as floats. Raises VectorsError if it is missing, of another dimension, not finite, or zero.

    The engine itself answers a zero vector with arbitrary points and a NaN with none.
    """
    if vector is None:
        raise VectorsError("No vector was given.")
    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimension,):
        raise VectorsError(f"A vector of shape {array.shape} was given; this collection holds ({dimension},).")
    if not np.isfinite(array).all():
        raise VectorsError("The vector holds values that are not finite.")
    if not array.any():
        raise VectorsError("The vector is zero; it has no direction to search in.")
    values: list[float] = array.tolist()
    return values


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        found = error.errors()[0]
        return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg'].lower()}"
    return str(error)
