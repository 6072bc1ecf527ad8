"""An entry as passages: its body cut where its author paused, each piece with its place in the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_os.documents.instruction import FLAG, instruction_like
from memory_os.fabric.entry import Entry
from memory_os.memory import SHARED_SCOPE, Author, Layer, Passage
from memory_os.redact import redact

# About 300 tokens of Latin prose: a paragraph or two, which a line of the block can quote whole.
PIECE_CHARS = 1200
# A heading ends a piece only when that has some length already: a list of short sections stays together.
_HEADING_MIN = PIECE_CHARS // 3

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
# Where a long paragraph may be cut: after a sentence in any script, else at white space.
_SENTENCE_END = re.compile(r"[.!?…。！？؟।]+[\"'»”」』)]*\s*|\n")

_IMPORTANCE = {"high": 0.8, "normal": 0.5, "": 0.5, "low": 0.25}
_TIER_WEIGHT = {"hot": 0.1, "warm": 0.0, "": 0.0, "cold": -0.15}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a body, and the headings it stands under."""

    text: str
    headings: str


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    level: int  # of a heading; 0: text


def importance(training_value: str, tier: str) -> float:
    """Between 0 and 1, from the value somebody gave the entry and the tier it lies in."""
    return round(min(1.0, max(0.0, _IMPORTANCE.get(training_value, 0.5) + _TIER_WEIGHT.get(tier, 0.0))), 3)


def source_of(key: str) -> str:
    return f"fabric:{key}"


def passages(
    entry: Entry, key: str, *, tier: str, training_value: str, retired_at: float | None, own: bool
) -> list[Passage]:
    """What the index holds of an entry; every word of it is in some passage. Secrets are left out."""
    found = pieces(entry.body) or [Piece(entry.summary, "")]
    title = redact(entry.summary)[0]
    labels = " ".join(filter(None, (entry.project, *entry.tags)))
    result = []
    for ordinal, piece in enumerate(found):
        text = piece.text
        if ordinal == 0 and entry.outcome and entry.outcome not in entry.body:
            text = f"{text}\nOutcome: {entry.outcome}"
        result.append(
            Passage(
                layer=Layer.FABRIC,
                source=source_of(key),
                text=redact(text)[0],
                scope=SHARED_SCOPE,
                author=Author.AGENT if entry.agent else Author.DOCUMENT,
                kind=entry.type,
                ordinal=ordinal,
                context="\n".join(filter(None, (piece.headings, labels))),
                title=title,
                session_id=entry.session if own else "",
                created_at=entry.created_at,
                valid_to=retired_at,
                importance=importance(training_value, tier),
                flagged=FLAG if instruction_like(f"{title}\n{text}") else "",
            )
        )
    return result


def pieces(body: str, size: int = PIECE_CHARS) -> list[Piece]:
    """The body in order, in pieces of at most `size` characters (a code block without a line end may be cut inside)."""
    result: list[Piece] = []
    path: list[tuple[int, str]] = []
    held: list[str] = []
    above = ""

    def close() -> None:
        text = "\n\n".join(held).strip()
        if text:
            result.append(Piece(text, above))
        held.clear()

    for block in _blocks(body):
        length = sum(map(len, held)) + 2 * len(held)
        if block.level and length >= _HEADING_MIN:
            close()
        if block.level:
            path = [one for one in path if one[0] < block.level] + [(block.level, block.text.lstrip("# \t"))]
        for part in _cut(block.text, size):
            length = sum(map(len, held)) + 2 * len(held)
            if held and length + len(part) > size:
                close()
            if not held:
                above = " > ".join(title for _, title in path)
            held.append(part)
    close()
    return result


def _blocks(body: str) -> Iterator[_Block]:
    """Paragraphs, headings and whole code blocks."""
    lines: list[str] = []
    fence = ""
    for one in body.split("\n"):
        mark = _FENCE.match(one)
        if fence:
            lines.append(one)
            if mark and mark[1].startswith(fence):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            lines.append(one)
            continue
        heading = _HEADING.fullmatch(one)
        if heading or not one.strip():
            if lines:
                yield _Block("\n".join(lines), 0)
                lines = []
            if heading:
                yield _Block(one, len(heading[1]))
            continue
        lines.append(one)
    if lines:
        yield _Block("\n".join(lines), 0)


def _cut(text: str, size: int) -> Iterator[str]:
    """A long block in parts of at most `size`: at a sentence's end in the second half of a part, at a space, or there."""
    while len(text) > size:
        ends = [end.end() for end in _SENTENCE_END.finditer(text, size // 2, size)]
        space = max(text.rfind(" ", size // 2, size), text.rfind("\t", size // 2, size))
        at = ends[-1] if ends else space + 1 if space > 0 else size
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    if text.strip():
        yield text
