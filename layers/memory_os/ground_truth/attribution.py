"""Which injected lines an answer used, ignored, or was shown to be wrong about. Pure policy over texts.

What counts is what a line *adds* to the question: its values (a port, a version, a path, a date) and its words that the
question did not have. An answer that has them used the line; a tool call that has them followed it; a tool result of the
turn that has the line's subject with another value of the same shape, or says the opposite in words, which the answer then
gives, contradicts it. Measured on tests/fixtures/attribution*.json (figures in docs/layers/7-ground-truth.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_os.ground_truth.detection import Given
from memory_os.ground_truth.opposites import opposed, says_otherwise
from memory_os.ground_truth.units import missing, share, units
from memory_os.ground_truth.values import alike, named, values

# Share of the words a line adds that an answer or a tool call must have.
_ADDED_SHARE = 0.5
_ADDED_LEAST = 2
# Of a sentence's likeness to the line, where words decide nothing.
_LIKE = 0.6
# Of the line's subject in the tool's output, for the two to speak of the same thing.
_SUBJECT_SHARE = 0.4
_SUBJECT_LEAST = 2
_SENTENCES_MAX = 40

_SENTENCE = re.compile(r"(?<=[.!?。！？؟])\s*|\n+")


class LineOutcome(StrEnum):
    """What became of an injected line."""

    USED = "used"
    IGNORED = "ignored"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call of the turn: what it was given, and what came back (empty where nobody looked)."""

    tool: str
    arguments: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """What became of a line. `method`: cited, quoted, paraphrased, meant (by embedding), followed, or the tool that spoke
    against it; `evidence` is the part of its output that did."""

    given: Given
    outcome: LineOutcome
    method: str = ""
    evidence: str = ""


# (line, sentences of the answer) -> the best cosine, or None without a model.
Likeness = Callable[[Given, Sequence[str]], float | None]


def attribute(
    question: str, answer: str, given: Sequence[Given], actions: Sequence[Action] = (), *, likeness: Likeness = lambda *_: None
) -> list[Use]:
    """What an answer did with each line, in the order of the lines."""
    return [_use(question, answer, line, actions, likeness) for line in given]


def _use(question: str, answer: str, line: Given, actions: Sequence[Action], likeness: Likeness) -> Use:
    against = contradiction(line.text, answer, actions)
    if against is not None:
        return Use(line, LineOutcome.CONTRADICTED, against[0], against[1])
    method, denied = _used(question, answer, line), opposed(line.text, answer)
    if method and not (method == "paraphrased" and denied):
        return Use(line, LineOutcome.USED, method)
    if any(_follows(question, action.arguments, line.text) for action in actions):
        return Use(line, LineOutcome.USED, "followed")
    cosine = likeness(line, sentences(answer)) if not denied and _may_mean(question, line.text, actions) else None
    if cosine is not None and cosine >= _LIKE:
        return Use(line, LineOutcome.USED, "meant")
    return Use(line, LineOutcome.IGNORED)


def _used(question: str, answer: str, line: Given) -> str:
    if line.handle and line.handle in answer:
        return "cited"
    said = set(values(answer))
    added = [value for value in values(line.text) if value not in set(values(question))]
    if added and any(named(value, said) for value in added):
        return "quoted"
    return "paraphrased" if _adds(question, answer, line.text) else ""


def _adds(question: str, text: str, line: str) -> bool:
    """Whether a text has most of the words that the line adds to the question."""
    added = missing(units(line), units(question))
    found = len(added) - len(missing(added, units(text)))
    return found >= min(_ADDED_LEAST, len(added)) and share(added, units(text)) >= _ADDED_SHARE if added else False


def _follows(question: str, arguments: str, line: str) -> bool:
    known = set(values(question))
    added = [value for value in values(line) if value not in known]
    given = set(values(arguments))
    return any(named(value, given) for value in added) or _adds(question, arguments, line)


def _may_mean(question: str, line: str, actions: Sequence[Action]) -> bool:
    """By meaning only where the line has no value that the answer would have had to give, and no tool spoke of the same."""
    known = set(values(question))
    spoken = any(_speaks_of(line, piece) for action in actions for piece in _pieces(action.result))
    return not spoken and not [value for value in values(line) if value not in known]


def contradiction(line: str, answer: str, actions: Sequence[Action]) -> tuple[str, str] | None:
    """(tool, piece of its output) that says otherwise than the line, and whose value the answer took over.

    Terminal output is the state of the system, so it holds. Values are compared with their like (a port with a port, a path
    with a path), and words with their opposites (`opposites`).
    """
    own, said = values(line), set(values(answer))
    for action in actions:
        pieces = _pieces(action.result)
        for piece in pieces if own and said else ():
            if _speaks_of(line, f"{piece} {action.arguments}") and _differs(own, values(piece), said):
                return action.tool, piece[:300]
        otherwise = says_otherwise(line, answer, action.arguments, pieces) if pieces else ""
        if otherwise:
            return action.tool, otherwise[:300]
    return None


def _differs(own: Sequence[str], found: Sequence[str], said: set[str]) -> bool:
    if any(named(value, set(found)) for value in own):
        return False
    others = [value for value in found if value not in own and named(value, said)]
    return any(alike(value, mine) for value in others for mine in own)


def _speaks_of(line: str, text: str) -> bool:
    subject = [unit for unit in units(line) if not any(char.isdigit() for char in unit)]
    found = len(subject) - len(missing(subject, units(text)))
    return found >= min(_SUBJECT_LEAST, len(subject)) and found >= _SUBJECT_SHARE * len(subject) if subject else False


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()][:_SENTENCES_MAX]


def _pieces(result: str) -> list[str]:
    return [line for line in result.splitlines() if line.strip()][:400]
