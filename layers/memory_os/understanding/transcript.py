"""Turns as a model reads them: whole, labelled, within a token budget. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memory_os.text import token_estimate

# Where turns don't fit, the longest are shortened in their middle to these lengths (tokens), one after the other.
_CAPS = (8000, 4000, 2500, 1600, 1000, 700, 500, 350, 250, 180, 130)
# Label, day, names of the speakers.
_TURN_OVERHEAD = 24
_LABEL = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said, cleaned and without secrets. `at` in epoch seconds."""

    id: str
    at: float
    question: str
    answer: str

    @property
    def tokens(self) -> int:
        return token_estimate(self.question) + token_estimate(self.answer) + _TURN_OVERHEAD

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Turn:
        return cls(str(given["id"]), float(given["at"]), str(given["question"]), str(given["answer"]))


def batches(turns: Sequence[Turn], budget: int, most: int = 2) -> list[list[Turn]]:
    """At most `most` lists of consecutive whole turns, each within `budget` tokens, the oldest first.

    Turns are shortened, the longest first, until all fit; where even that is not enough the newest stay for another time.
    """
    fitted = list(turns)
    for cap in (0, *_CAPS):
        if cap:
            fitted = [shortened(one, min(cap, budget)) for one in turns]
        packed = _packed(fitted, budget)
        if len(packed) <= most and all(one.tokens <= budget for one in fitted):
            return packed
    return _packed(fitted, budget)[:most]


def shortened(turn: Turn, tokens: int) -> Turn:
    """The turn within so many tokens: the agent's words give way first, the person's only when they alone are too long."""
    if turn.tokens <= tokens:
        return turn
    room = max(tokens - _TURN_OVERHEAD, 16)
    question = _middle_out(turn.question, max(room // 2, room - token_estimate(turn.answer)))
    answer = _middle_out(turn.answer, max(room - token_estimate(question), 8))
    return replace(turn, question=question, answer=answer)


def labelled(turns: Sequence[Turn]) -> dict[str, Turn]:
    """`{"T1": …}` in their order."""
    return {f"T{number}": one for number, one in enumerate(turns, 1)}


def turn_of(label: str, turns: Mapping[str, Turn]) -> Turn | None:
    """The turn a model means by `T3`, `3` or `turn 3`; None for one that was not in its input."""
    number = _LABEL.search(label)
    return None if number is None else turns.get(f"T{int(number.group())}")


def rendered(turns: Mapping[str, Turn]) -> str:
    """Labels stand at the margin and what was said is indented: no text can pass for a turn of its own."""
    return "\n".join(
        f"{label} ({time.strftime('%Y-%m-%d %H:%M', time.gmtime(one.at))} UTC)\n"
        f"  person: {_indented(one.question)}\n  agent: {_indented(one.answer)}"
        for label, one in turns.items()
    )


def _packed(turns: Sequence[Turn], budget: int) -> list[list[Turn]]:
    packed: list[list[Turn]] = []
    room = 0
    for one in turns:
        if not packed or one.tokens > room:
            packed.append([])
            room = budget
        packed[-1].append(one)
        room -= one.tokens
    return packed


def _middle_out(text: str, tokens: int) -> str:
    """Beginning and end: an answer's point stands in one of them."""
    estimate = token_estimate(text)
    if estimate <= tokens:
        return text
    keep = max(int(len(text) * tokens / estimate) - 12, 8)
    while True:
        head, tail = text[: keep * 2 // 3], text[len(text) - keep // 3 :]
        short = f"{head.rstrip()} […] {tail.lstrip()}"
        if keep <= 8 or token_estimate(short) <= tokens:
            return short
        keep = keep * 9 // 10


def _indented(text: str) -> str:
    return "\n    ".join(text.splitlines()) if text else "(nothing)"
