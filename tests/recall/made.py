"""Scored candidates made by hand, for the pure parts of recall."""

from __future__ import annotations

from memory_os.memory import Author, Layer, Passage, Scope
from memory_os.recall import Query, Visible
from memory_os.recall.arms import Candidate
from memory_os.recall.relevance import Scored
from memory_os.recall.rendering import render_line
from memory_os.recall.selection import Limits, Line, Selection, budget_of, select

NOW = 1_790_000_000.0


def passage(text: str, source: str = "", *, layer: Layer = Layer.SESSIONS, author: Author = Author.USER, **more: object) -> Passage:
    values: dict[str, object] = {"created_at": NOW - 1000, **more}
    return Passage(layer, source or f"x:{text}:{layer}", text, "default/local", author, **values)  # type: ignore[arg-type]


def scored(one: Passage, probability: float = 0.95, rank: float = 0.5) -> Scored:
    return Scored(Candidate(1, rank, 1.0, 0.5), one, probability, rank, 1.0)


def query(text: str = "Which port does the gateway use?", **visible: frozenset[str]) -> Query:
    return Query.of(text, Scope(), now=NOW, visible=Visible(**visible))  # type: ignore[arg-type]


def chosen(
    candidates: list[Scored], asked: Query | None = None, *, lines: int = 16, tokens: int = 1150, prompt: str = "", gate: float = 0.8,
    window: frozenset[str] = frozenset(),
) -> Selection:  # fmt: skip
    return select(
        candidates,
        asked or query(),
        Limits(gate, lines, tokens),
        in_window=window,
        in_prompt=lambda text: text == prompt,
        cost=lambda line: budget_of(render_line(line)),
    )


def texts(selection: Selection) -> list[str]:
    return [line.text for line in selection.lines]


def reasons(selection: Selection) -> dict[str, str]:
    return {one.scored.passage.text: one.reason for one in selection.decisions}


__all__ = ["NOW", "Line", "chosen", "passage", "query", "reasons", "scored", "texts"]
