"""A memory of two dozen notes in seven languages, embedded once for all tests that only ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.recall import Recalled
from support.library import Library

from recall.notes import NOTES

Notes = Callable[[Recalled], list[str]]


@pytest.fixture(scope="package")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    library = Library.open(tmp_path_factory.mktemp("notes"))
    for name, text in NOTES.items():
        library.remember(text, f"note:{name}")
    library.embed()
    yield library
    library.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Library]:
    """An empty memory with model and collection."""
    library = Library.open(tmp_path)
    yield library
    library.close()


@pytest.fixture
def words_only(tmp_path: Path) -> Iterator[Library]:
    """An empty memory whose model is not loaded."""
    library = Library.open(tmp_path, dense=False)
    yield library
    library.close()


def names(recalled: Recalled) -> list[str]:
    """Which notes were shown, best first."""
    return [line.scored.passage.source.removeprefix("note:") for line in recalled.lines]
