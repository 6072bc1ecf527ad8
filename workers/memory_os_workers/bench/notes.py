"""Notes made up for measuring ingest: Markdown files of one or two passages, no two alike."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from memory_os_workers.bench.memories import generate

# Sentences of a note, one note after the other: 40 to 400 tokens, as notes are.
_LENGTHS = (2, 5, 12, 8, 18, 3, 10, 6)
# Sentences that the memories of a benchmark may have.
_SAID_ELSEWHERE = 6000
_AGE_S = 3600.0


def write_notes(folder: Path, label: str, count: int) -> None:
    """`count` files below the folder. What another label writes differs in every passage."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(_notes(label, count)):
        (folder / f"{label}-{number:05}.md").write_text(text, "utf-8")


def write_small_notes(folder: Path, count: int) -> None:
    """`count` files of one line, a hundred to a folder, written an hour ago.

    What was written a moment before it was read may have changed in between, and is read again: not what is measured.
    """
    written = time.time() - _AGE_S
    for number in range(count):
        below = folder / f"{number // 100:03}"
        if number % 100 == 0:
            below.mkdir(parents=True)
        path = below / f"note-{number:05}.md"
        path.write_text(f"# Note {number}\n\nThe box {number} stands on the shelf.\n", "utf-8")
        os.utime(path, (written, written))


def _notes(label: str, count: int) -> Iterator[str]:
    lengths = list(itertools.islice(itertools.cycle(_LENGTHS), count))
    sentences = iter(generate(_SAID_ELSEWHERE + sum(lengths)).texts[_SAID_ELSEWHERE:])
    for number, length in enumerate(lengths):
        said = list(itertools.islice(sentences, length))
        half = (length + 1) // 2
        parts = [" ".join(said[:half]), " ".join(said[half:])]
        yield f"# {label.capitalize()} {number}\n\n{parts[0]}\n\n## Later\n\n{parts[1]}\n"
