"""PDF files as text with a heading per page: reflowed lines, ends of words joined, damage and passwords told apart."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.errors import DocumentError

__all__ = ["PdfText", "reflowed", "text_of_pdf"]

_READER = Path(__file__).with_name("pdf_reader.py")
# As long as the largest text file that is taken.
_MAX_CHARS = 32 * 1024 * 1024
_TIMEOUT_S = 180.0
# A page with fewer characters than this has a number on it and a picture.
_MIN_CHARS = 8
# What programs write as a title when nobody gave one.
_NO_TITLE = re.compile(
    r"^(?:untitled|microsoft word\b.*|.*\.(?:docx?|odt|indd|tex|dvi|pdf|rtf|pptx?|xlsx?))$", re.IGNORECASE
)
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪●◦–—]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_BULLET = re.compile(r"\A[•‣▪●◦–—*]\s+")
_SENTENCE_END = re.compile(r"[.!?…:;؟۔。！？：；][\"'”’»)\]」』）]*$")
# Dots that lead the eye to a page's number.
_LED = re.compile(r" … \S{1,8}$")
_LEADERS = re.compile(r"(?:[ \t]*+\.){4,}+[ \t]*+")
_DENSE = re.compile(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
# A line that ends so much earlier than a full one ends its paragraph; after a full stop it need not be so short.
_SHORT_LINE = 0.7
_FULL_LINE = 0.9
_FULL_SHARE = 0.8
# pdfium marks a hyphen that only breaks a line so; a soft hyphen is one by itself.
_HYPHENS = ("\ufffe", "\x02", "\u00ad")


@dataclass(frozen=True, slots=True)
class PdfText:
    """`text` is Markdown: `## Page n`, then its paragraphs. `created_at`: epoch seconds, None if the file doesn't say."""

    title: str
    text: str
    created_at: float | None
    notes: tuple[str, ...] = ()


def text_of_pdf(data: bytes, now: float) -> PdfText:
    """Raises DocumentError: protected, damaged, only pictures, or more than the reader can bear."""
    header, *pages = _read(data)
    if header.get("error") == "password":
        raise DocumentError("PDF is protected by a password; save a copy without one")
    if header.get("error"):
        raise DocumentError("PDF is damaged; open it in a viewer and save it again")
    written = [(page["page"], reflowed(page["text"])) for page in pages if page["text"]]
    written = [(number, text) for number, text in written if len(text) >= _MIN_CHARS]
    if not written:
        raise DocumentError(
            f"PDF has {header['pages']} pages of pictures and no text; have its text recognised first, for example by ocrmypdf"
        )
    title = " ".join(str(header["title"]).split())
    return PdfText(
        "" if _NO_TITLE.match(title) or not any(map(str.isalpha, title)) else title,
        "\n\n".join(f"## Page {number}\n\n{_escaped(text)}" for number, text in written),
        _created_at(str(header["created"]), now),
        _notes(header["pages"], pages, len(written)),
    )


def reflowed(text: str) -> str:
    """A page's visual lines as paragraphs and lists: words cut at a line's end joined, lines of one paragraph made one."""
    lines = [_LEADERS.sub(" … ", line).strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").split("\n")]
    width = _usual_width(lines)
    blocks: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on and line and not _ITEM.match(line):
            blocks[-1] = _joined(blocks[-1], line)
        elif line:
            blocks.append(_BULLET.sub("- ", line))
        goes_on = bool(line) and _goes_on(line, width)
    whole = ""
    for before, block in zip(("", *blocks), blocks, strict=False):
        both_items = before.startswith("- ") and block.startswith("- ")
        whole += ("\n" if both_items else "\n\n" if whole else "") + block
    for mark in _HYPHENS:
        whole = whole.replace(mark, "")
    return whole.strip()


def _read(data: bytes) -> list[dict[str, Any]]:
    """The reader's lines; at least a header."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(_READER), str(_MAX_CHARS)], input=data, capture_output=True, timeout=_TIMEOUT_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise DocumentError(f"PDF takes more than {_TIMEOUT_S:.0f} s to read; split it") from error
    except OSError as error:
        raise DocumentError(f"PDF can't be read: {error.strerror}") from error
    if done.returncode:
        raise DocumentError("PDF brings its reader down; open it in a viewer and save it again")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _notes(count: int, pages: list[dict[str, Any]], written: int) -> tuple[str, ...]:
    damaged = sum(page["text"] is None for page in pages)
    left = count - len(pages)
    empty = len(pages) - damaged - written
    told = ((empty, "pages without text"), (damaged, "pages damaged"), (left, "pages beyond what is taken of one file"))
    return tuple(f"{number} {what}" for number, what in told if number)


def _width(line: str) -> int:
    return len(line) + len(_DENSE.findall(line))


def _usual_width(lines: list[str]) -> int:
    """How wide a full line is: wider than most, but a single long one (a table's, a drawing's) says nothing."""
    widths = sorted(_width(line) for line in lines if line)
    return widths[int(len(widths) * _FULL_SHARE)] if widths else 0


def _goes_on(line: str, width: int) -> bool:
    """Whether the next line belongs to the same paragraph."""
    if _LED.search(line):
        return False
    if line.endswith((*_HYPHENS, "-", ",")):
        return True
    if _SENTENCE_END.search(line):
        return _width(line) >= _FULL_LINE * width
    return _width(line) >= _SHORT_LINE * width


def _joined(before: str, line: str) -> str:
    if before.endswith(_HYPHENS):
        return before[:-1] + line
    if before.endswith("-") and len(before) > 1 and before[-2].isalpha() and line[0].islower():
        return before[:-1] + line
    return before + line if _DENSE.match(before[-1]) and _DENSE.match(line[0]) else f"{before} {line}"


def _escaped(text: str) -> str:
    """A line that Markdown would take for a heading or a fence is text here."""
    return re.sub(r"(?m)^(?=#{1,6}\s|```|~~~)", "\\\\", text)


def _created_at(value: str, now: float) -> float | None:
    match = _DATE.match(value)
    if match is None:
        return None
    year, *rest = (int(part) if part else None for part in match.groups())
    month, day, hour, minute, second = rest
    try:
        moment = datetime.datetime(
            year or 0, month or 1, day or 1, hour or 0, minute or 0, min(second or 0, 59), tzinfo=datetime.UTC
        ).timestamp()
    except (ValueError, OverflowError):
        return None
    return moment if 0 < moment <= now + 86_400 else None
