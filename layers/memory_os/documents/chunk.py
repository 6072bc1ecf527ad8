"""Chunks: pieces of a document small enough to embed, cut where the text itself is cut.

Sections stay together, lists, tables and code whole up to a limit; of a longer table each piece begins with its header,
longer code is cut at blank lines, long paragraphs between sentences. Pure and deterministic: the same text always gives the
same chunks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_os.documents.blocks import Block, Kind, Syntax, blocks_of, table_head

__all__ = ["CHUNKER", "Chunk", "chunk", "sentences", "size"]

# Part of the collection's stamp and of each document's row: documents cut by another version are cut again.
CHUNKER = "structure-2"

# About 250 tokens, of which the encoder reads 512 with title and headings. Sizes are in Latin characters; a character
# of a dense script (CJK) says as much as 2.25 of them, so 400 fill a chunk.
TARGET = 900
HARD_MAX = 2000
DENSE_SIZE = 2.25
# Sections shorter than this share a chunk with the next one: a heading with one line is no paragraph of its own.
SMALL = 200
# A cut inside a section repeats one sentence, if it is no longer than this.
OVERLAP_MAX = 200
# Of headings nested deeper than this (Org sets no limit) a chunk carries the outermost: the encoder reads no more of them.
PATH_MAX = 64
# A table's header is repeated above each of its pieces if it leaves them at least half of the room.
HEAD_MAX = TARGET // 2

_DENSE = re.compile(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
# A sentence ends at a full stop (or its kin) before white space, or at a full-width one anywhere.
_SENTENCE_END = re.compile(r"(?:(?<![.!?…؟۔।॥])[.!?…؟۔।॥]++[\"'”’»)\]]*+\s+|[。！？｡]++[\"'”’」』）]*+\s*|\n{2,})")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """`headings` is the path above it, outermost first, PATH_MAX at most. The first `overlap` characters repeat what stood before: the last
    sentence of the chunk before, or the header of the table that goes on here."""

    text: str
    headings: tuple[str, ...] = ()
    overlap: int = 0


def chunk(text: str, syntax: Syntax = Syntax.MARKDOWN) -> list[Chunk]:
    """All chunks of a text, in order. None is larger than HARD_MAX; no character but white space is lost."""
    packer = _Packer()
    rows = syntax is Syntax.ROWS
    for block in blocks_of(text, syntax):
        if block.kind is Kind.HEADING:
            packer.open_section(block)
        else:
            packer.add(block, joiner="\n" if rows else "\n\n")
    packer.close()
    return packer.chunks


def size(text: str) -> float:
    """Length in Latin characters' worth."""
    return len(text) + (DENSE_SIZE - 1) * sum(len(run) for run in _DENSE.findall(text))


def sentences(text: str) -> list[str]:
    """The sentences, each with the white space after it: joined they give `text` back."""
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        found.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        found.append(text[start:])
    return found


@dataclass(slots=True)
class _Open:
    """The chunk being filled: its text so far, the headings above it, and its last sentence if that may repeat."""

    text: str = ""
    size: float = 0.0
    headings: tuple[str, ...] | None = None
    overlap: int = 0
    last_sentence: str = ""


@dataclass(slots=True)
class _Packer:
    """Fills chunks greedily up to TARGET."""

    chunks: list[Chunk] = field(default_factory=list)
    path: list[tuple[int, str]] = field(default_factory=list)  # (level, heading) above what comes, levels rising
    current: _Open = field(default_factory=_Open)
    pending: str = ""  # headings that wait for the text below them

    def open_section(self, heading: Block) -> None:
        if self.current.size >= SMALL:
            self._end()
        self.current.last_sentence = ""
        if size(self.pending) + size(heading.text) > TARGET:
            self._append_headings()
        while self.path and self.path[-1][0] >= heading.level:
            self.path.pop()
        self.path.append((heading.level, " ".join(heading.heading.split())[:200]))
        self.pending += ("\n\n" if self.pending else "") + heading.text

    def add(self, block: Block, joiner: str) -> None:
        limit = TARGET if block.kind is Kind.PARAGRAPH else HARD_MAX
        whole = size(block.text)
        if whole <= limit:
            self._append(block.text, joiner, _last_sentence(block))
            return
        if block.kind is Kind.PARAGRAPH:
            for piece in _sentence_pieces(block.text):
                self._append(piece, joiner, piece.strip())
                joiner = ""
            return
        head = _repeatable_head(block)
        for piece in _line_pieces(block.text, head):
            self._append(piece, joiner, lead="" if joiner else head)
            joiner = ""

    def close(self) -> None:
        """End the chunk, and the text: headings with nothing below them are text too."""
        self._append_headings()
        self._end()

    def _end(self) -> None:
        stripped = self.current.text.rstrip()
        if stripped[self.current.overlap :].strip():
            self.chunks.append(Chunk(stripped, self.current.headings or (), self.current.overlap))
        self.current = _Open()

    def _append_headings(self) -> None:
        heading, self.pending = self.pending, ""
        for piece in _pieces(heading, TARGET) if heading else ():
            self._append(piece, "\n\n")

    def _append(self, text: str, joiner: str, last_sentence: str = "", lead: str = "") -> None:
        """Add text to the chunk, with the headings that wait for it; start another chunk if it doesn't fit. `lead`: what
        such a chunk begins with."""
        if self.pending and size(self.pending) + size(text) + 2 > HARD_MAX:
            self._append_headings()
        elif self.pending:
            text, joiner, self.pending = f"{self.pending}\n\n{text}", "\n\n", ""
        added = size(text)
        if self.current.text and self.current.size + len(joiner) + added > TARGET:
            repeated = self.current.last_sentence
            self._end()
            if repeated and last_sentence and size(repeated) <= OVERLAP_MAX and added + size(repeated) < TARGET:
                lead = repeated + (joiner or " ")
            if lead:
                self.current = _Open(lead, size(lead), overlap=len(lead))
                joiner = ""
        if self.current.text:
            text = joiner + text
            added += len(joiner)
        self.current.text += text
        self.current.size += added
        self.current.last_sentence = last_sentence
        names = tuple(name for _, name in self.path[:PATH_MAX] if name)
        self.current.headings = names if self.current.headings is None else _shared(self.current.headings, names)


def _last_sentence(block: Block) -> str:
    if block.kind is not Kind.PARAGRAPH:
        return ""
    found = sentences(block.text)
    return found[-1].strip() if found else ""


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What two heading paths have in common: a chunk of two small sections stands below what they share."""
    common: list[str] = []
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common.append(left)
    return tuple(common)


def _sentence_pieces(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        yield from _pieces(sentence, TARGET)


def _repeatable_head(block: Block) -> str:
    """The header of a table as its later pieces begin with it, without the padding of its columns; "" if it has none."""
    head = table_head(block.text) if block.kind is Kind.TABLE else ""
    short = re.sub(r"([-=])\1{3,}", r"\1\1\1", re.sub(r"[ \t]+", " ", head))
    return short if size(short) <= HEAD_MAX else ""


def _line_pieces(text: str, head: str = "") -> Iterator[str]:
    """Runs of whole lines, as many as fit TARGET beside `head`; a longer line is cut. A run ends where a blank line is, if
    there is one in its second half."""
    limit, longest = TARGET - int(size(head)), HARD_MAX - int(size(head))
    run: list[str] = []
    filled = 0.0
    for line in _whole_rows(text, head):
        length = size(line)
        while run and filled + length > limit:
            end = _last_blank(run)
            yield "".join(run[:end])
            run = run[end:]
            filled = sum(map(size, run))
        if length > longest:
            yield from _pieces(line, limit)
        else:
            run.append(line)
            filled += length
    if run:
        yield "".join(run)


def _whole_rows(text: str, head: str) -> list[str]:
    """The lines, each with its end; the first row of a table is not parted from the header above it."""
    lines = text.splitlines(keepends=True)
    count = head.count("\n") + 1
    first = "".join(lines[:count])
    return [first, *lines[count:]] if head and size(first) <= HARD_MAX - size(head) else lines


def _last_blank(run: Sequence[str]) -> int:
    """After which line to cut: the last blank one in the second half, else the last one."""
    return next((end for end in range(len(run), len(run) // 2, -1) if not run[end - 1].strip()), len(run))


def _pieces(text: str, limit: int) -> Sequence[str]:
    """The text cut into pieces of at most `limit`: after white space where there is some, never before a mark."""
    if size(text) <= limit:
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + _fitting(text, start, limit)
        if end < len(text):
            end = _cut(text, start, end)
        pieces.append(text[start:end])
        start = end
    return pieces


def _fitting(text: str, start: int, limit: int) -> int:
    """How many characters from `start` on fit."""
    window = text[start : start + limit]
    while len(window) > 1 and size(window) > limit:
        window = window[: max(1, min(len(window) - 1, int(len(window) * limit / size(window))))]
    return len(window)


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut in the second half of text[start:end]."""
    half = start + (end - start) // 2
    for at in range(end, half, -1):
        if _SPACE.match(text[at - 1]):
            return at
    at = end
    while at > half and unicodedata.category(text[at])[0] == "M":
        at -= 1
    return at if at > half else end
