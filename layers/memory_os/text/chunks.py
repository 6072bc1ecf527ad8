"""A long message cut into passages: at paragraphs, then sentences, then words; code blocks stay whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

# One passage: enough to answer with, little enough for one embedding (512 tokens) to mean something.
CHUNK_CHARS = 1000
# A code block is worth more whole; past this it is cut at lines.
CODE_CHARS = 2000

_CODE_BLOCK = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
# Sentence ends of spaced scripts need a space after them; those of Chinese and Japanese don't.
_SENTENCE_END = re.compile(r"(?<=[.!?…؟۔।])\s+|(?<=[。！？；])|\n+")
_SPACE = re.compile(r"\s+")


def chunk_text(text: str, *, target: int = CHUNK_CHARS, code: int = CODE_CHARS) -> list[str]:
    """Chunks of about `target` characters, in order, none empty; nothing but white space is lost."""
    stripped = text.strip()
    if len(stripped) <= target * 1.2:
        return [stripped] if stripped else []
    chunks: list[str] = []
    current = ""
    for piece, joint in _pieces(stripped, target, code):
        if current and len(current) + len(joint) + len(piece) > target:
            chunks.append(current)
            current = ""
        current = f"{current}{joint}{piece}" if current else piece
    return [*chunks, current] if current else chunks


def _pieces(text: str, target: int, code: int) -> Iterator[tuple[str, str]]:
    """Units that may not be cut further, each with what joins it to the one before."""
    for block, is_code in _blocks(text):
        if is_code and len(block) <= code:
            yield block, "\n"
        elif is_code:
            yield from ((line, "\n") for line in _cut(block.split("\n"), target))
        else:
            yield from _prose(block, target)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Prose and fenced code, alternating. An unclosed fence runs to the end."""
    marks = [match.start() for match in _CODE_BLOCK.finditer(text)]
    position = 0
    for opening, closing in zip(marks[::2], [*marks[1::2], len(text)], strict=False):
        if text[position:opening].strip():
            yield text[position:opening].strip(), False
        end = text.find("\n", closing)
        position = len(text) if end < 0 else end
        if text[opening:position].strip():
            yield text[opening:position].strip(), True
    if text[position:].strip():
        yield text[position:].strip(), False


def _prose(text: str, target: int) -> Iterator[tuple[str, str]]:
    for paragraph in _PARAGRAPH_END.split(text):
        if len(paragraph) <= target:
            if paragraph.strip():
                yield paragraph.strip(), "\n\n"
            continue
        joint = "\n\n"
        for sentence in _cut(_SENTENCE_END.split(paragraph), target):
            yield sentence, joint
            joint = " " if sentence[0] < "\u2e80" else ""


def _cut(parts: list[str], target: int) -> Iterator[str]:
    """Parts no longer than `target`: at white space where there is some, else where it must be."""
    for part in parts:
        rest = part.strip()
        while len(rest) > target:
            spaces = [match.start() for match in _SPACE.finditer(rest, target // 2, target)]
            end = spaces[-1] if spaces else target
            yield rest[:end].strip()
            rest = rest[end:].lstrip()
        if rest:
            yield rest
