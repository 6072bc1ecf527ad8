"""Whether a look-up asks for what the turn was given. Pure policy; the watch brings the lines and, if there is time, the
likeness by embedding.

A line answers a look-up when it holds what the call asks for and leaves open nothing the user asked: what is missing
from the line in both is the very thing that is being looked for. Measured on tests/fixtures/tool_calls*.json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_os.ground_truth.calls import Call
from memory_os.ground_truth.units import missing, share, units
from memory_os.ground_truth.values import disagree
from memory_os.ground_truth.wording import asked_part, asks_for_now, asks_to_search
from memory_os.memory import Layer

# Share of the call's units that the line has. Below it the line is about something else, unless its meaning is as near.
_ASKED_SHARE = 0.5
_LIKE = 0.5
# Asked for by the user: enough of a likeness to say what was checked.
_CHECKED_SHARE = 0.5
# Of a result: the line's own words stand in it.
_RETURNED_SHARE = 0.8

# (line index) -> cosine of the call's question with that line, or None when there was no time for it.
Likeness = Callable[[int], float | None]


class Kind(StrEnum):
    NEW = "new"
    REDISCOVERY = "rediscovery"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Given:
    """A line that stands in the prompt. `at` is when it was said or its document was read (epoch seconds); `cosine` is
    the likeness of the user's message to it, as recall measured it."""

    handle: str
    text: str
    at: float = 0.0
    layer: str = ""
    passage_id: str = ""
    cosine: float = 0.0
    title: str = ""
    visible_only: bool = False  # from an earlier turn, still in the window


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    handle: str = ""
    reason: str = ""
    share: float = 0.0


def judge(
    call: Call, user_message: str, given: Sequence[Given], *, likeness: Likeness = lambda _: None, changed_at: float = 0.0
) -> Verdict:
    """The verdict before a call runs. `changed_at`: the newest change of the files it reads, 0 if it reads none."""
    if call.kind == "state":
        return Verdict(Kind.CHECK, reason="asks for the state of the system")
    asked = units(call.question)
    if not asked or not given:
        return Verdict(Kind.NEW)
    excuse = _excuse(call, user_message)
    answering = _answering(asked, units(asked_part(user_message)), given, likeness, excused=bool(excuse))
    if not answering:
        return Verdict(Kind.NEW)
    line, held = max(answering, key=lambda one: one[1])
    if excuse:
        return Verdict(Kind.CHECK, line.handle, excuse, held)
    if any(disagree(line.text, other.text) for other, _ in answering):
        return Verdict(Kind.CHECK, line.handle, "the lines disagree", held)
    if changed_at > line.at > 0 and call.paths:
        return Verdict(Kind.CHECK, line.handle, "the file is newer than the memory", held)
    return Verdict(Kind.REDISCOVERY, line.handle, "stands in the prompt", held)


def with_result(verdict: Verdict, result: str, given: Sequence[Given]) -> Verdict:
    """The verdict with the result known: what brought back a given line, and hardly anything else, was a rediscovery."""
    if verdict.kind is not Kind.NEW or not result.strip():
        return verdict
    found = units(result[:4000])
    for line in given:
        own = units(line.text)
        if len(own) >= 3 and share(own, found) >= _RETURNED_SHARE and len(found) <= 3 * len(own):
            return Verdict(Kind.REDISCOVERY, line.handle, "found what stands in the prompt", share(own, found))
    return verdict


def _excuse(call: Call, user_message: str) -> str:
    if asks_to_search(user_message):
        return "the user asked for it"
    newer = call.after or asks_for_now(asked_part(user_message)) or asks_for_now(call.question)
    return "asks for what is newer than the memory" if newer else ""


def _answering(
    asked: Sequence[str], wanted: Sequence[str], given: Sequence[Given], likeness: Likeness, *, excused: bool
) -> list[tuple[Given, float]]:
    """The lines that answer the call, each with the share of the call's units it has. An excused one need only be near."""
    found = []
    for at, line in enumerate(given):
        held = units(f"{line.title} {line.text}")
        lacking = missing(asked, held)
        part = 1 - len(lacking) / len(asked)
        near = _near(part, lacking, wanted, held, lambda at=at: likeness(at), excused=excused)  # type: ignore[misc]
        if near and _tells(line, held, asked, wanted):
            found.append((line, part))
    return found


def _near(
    part: float, lacking: Sequence[str], wanted: Sequence[str], held: Sequence[str], like: Callable[[], float | None], *,
    excused: bool,
) -> bool:  # fmt: skip
    """Whether a line is about the call at all: by its words, or by other words for the same (another language)."""
    if excused:
        return part >= _CHECKED_SHARE
    open_ = missing(wanted, held)
    if len(missing(lacking, open_)) < len(lacking):
        return False  # what both ask for is not in the line
    if part >= _ASKED_SHARE and not open_:
        return True
    cosine = like()
    return cosine is not None and cosine >= _LIKE


def _tells(line: Given, held: Sequence[str], asked: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a line has anything to tell: an earlier question, or a request to search, has not."""
    text = line.text.rstrip(' "')
    if line.layer == Layer.SESSIONS.value and (text.endswith(("?", "？", "؟")) or asks_to_search(text)):
        return False
    return bool(missing(held, (*asked, *wanted)))
