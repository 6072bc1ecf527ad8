"""What the tests of the collection share: points from plain words."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from memory_os.memory import Author, Layer, Passage
from memory_os.vectors import Collection, Point
from numpy.typing import NDArray

DIMENSION = 16
FINGERPRINT = "test-model/1"
# One home among those that share a server.
HOME = "11111111-1111-4111-8111-111111111111"


def direction(name: str) -> NDArray[np.float32]:
    """A unit vector that belongs to `name`."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def passage(
    text: str, *, source: str = "", scope: str = "default/local", layer: Layer = Layer.SESSIONS, context: str = ""
) -> Passage:
    return Passage(
        layer=layer,
        source=source or f"message:{hashlib.sha256(text.encode()).hexdigest()[:12]}",
        text=text,
        scope=scope,
        author=Author.USER,
        created_at=1_790_000_000.0,
        context=context,
    )


def point(text: str, *, near: str = "", **fields: object) -> Point:
    """A point of `text` whose dense vector points where `near` does (default: its own text)."""
    return Point.of(passage(text, **fields), direction(near or text))  # type: ignore[arg-type]


def opened(folder: Path, fingerprint: str = FINGERPRINT, dimension: int = DIMENSION) -> Collection:
    return Collection.open(folder, fingerprint, dimension)
