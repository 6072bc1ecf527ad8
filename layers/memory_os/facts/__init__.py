"""Layer 3: facts. What is held true, on what, since when, on whose word, and how far to trust it."""

from memory_os.facts.fact import (
    CATEGORIES,
    TEXT_MAX_CHARS,
    Conflict,
    Fact,
    Imported,
    Linked,
    Remembered,
    Statement,
    Undone,
)
from memory_os.facts.verbs import Facts

__all__ = [
    "CATEGORIES", "TEXT_MAX_CHARS", "Conflict", "Fact", "Facts", "Imported", "Linked", "Remembered", "Statement",
    "Undone",
]  # fmt: skip
