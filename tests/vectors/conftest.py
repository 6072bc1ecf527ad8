from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.vectors import Collection

from vectors.building import opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "qdrant"


@pytest.fixture
def collection(folder: Path) -> Iterator[Collection]:
    made = opened(folder)
    yield made
    made.close()
