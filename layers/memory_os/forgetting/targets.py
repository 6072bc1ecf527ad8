"""What is to go, and what went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from memory_os.forgetting.documents import Cut
from memory_os.memory import Passage
from memory_os.sessions.quotes import Quotes

__all__ = ["Gone", "Targets"]


@dataclass(slots=True)
class Targets:
    """What is to go, by where it lives."""

    messages: list[int] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)  # of workspace, fabric and documents
    session_id: str = ""
    everything: bool = False
    alone: set[int] = field(default_factory=set)  # messages whose repeats in other turns stay

    def __bool__(self) -> bool:
        return bool(self.messages or self.facts or self.passages)


@dataclass(slots=True)
class Gone:
    """What went, and the words and ids by which its traces are found."""

    quotes: Quotes
    counts: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    passage_ids: list[str] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)  # where it still stands in files of ours
