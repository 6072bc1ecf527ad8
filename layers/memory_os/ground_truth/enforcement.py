"""What is done about a look-up for what stands in the prompt. Pure policy and the words the model reads.

`observe` counts. `point` lets the call run and puts one line before its result. `hold` answers a clear rediscovery from
the lines, once: the same call made again, or another for the same line, runs. Nothing that acts and nothing the user
asked for is ever held (such calls carry another verdict, or none).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Literal

from memory_os.ground_truth.detection import Given, Kind, Verdict

Mode = Literal["observe", "point", "hold"]

# A week of use, and this many turns with memory, before the next mode is proposed.
TRIAL_S = 7 * 86_400.0
TRIAL_TURNS = 20
# Rediscoveries per 100 turns with memory below which there is nothing to enforce.
WORTHWHILE = 1.0

_NEXT: dict[str, Mode] = {"observe": "point", "point": "hold"}
_LINE_CHARS = 300


class Action(StrEnum):
    RUN = "run"
    POINT = "point"
    HOLD = "hold"


def action_for(mode: str, verdict: Verdict, *, held: Collection[str], call_key: str) -> Action:
    """What to do. `held` are keys and handles of what was held in this turn already."""
    if verdict.kind is not Kind.REDISCOVERY or mode == "observe":
        return Action.RUN
    if mode == "point":
        return Action.POINT
    return Action.RUN if call_key in held or verdict.handle in held else Action.HOLD


def pointer(handle: str, given: Sequence[Given]) -> str:
    """One line before a result."""
    return f"[memory-os: answered by a line recalled with this conversation, {_quoted(handle, given)}]"


def held_answer(handle: str, given: Sequence[Given]) -> str:
    """What the model gets in the place of a result."""
    return (
        "memory-os did not run this search: a line recalled with this conversation answers it.\n"
        f"- {_quoted(handle, given)}\n"
        "Use it, or make the same call again: it will run."
    )


def next_mode(mode: str, since: float, now: float, turns: int, rediscoveries_per_100: float) -> str:
    """The mode to propose, or "": after a week and enough turns, where there is something to gain."""
    tried = now - since >= TRIAL_S and turns >= TRIAL_TURNS
    return _NEXT.get(mode, "") if tried and rediscoveries_per_100 >= WORTHWHILE else ""


def proposal(mode: str, since: float, now: float, turns: int, rediscoveries_per_100: float) -> str:
    """The proposal in words, or ""."""
    wanted = next_mode(mode, since, now, turns, rediscoveries_per_100)
    if not wanted:
        return ""
    days = int((now - since) // 86_400)
    does = {"point": "such a result then says where the answer already stands", "hold": "such a search is then answered at once"}
    return (
        f"{days} days in mode {mode}, {rediscoveries_per_100:.1f} rediscoveries per 100 turns: "
        f"`memory-os config set ground_truth.mode {wanted}` ({does[wanted]})"
    )


def _quoted(handle: str, given: Sequence[Given]) -> str:
    line = next((one for one in given if one.handle == handle), None)
    if line is None:
        return f"({handle})"
    text = " ".join(line.text.split())
    return f'({handle}): "{text if len(text) <= _LINE_CHARS else text[:_LINE_CHARS] + "…"}"'
