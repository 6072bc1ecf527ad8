"""Bytes of a file as text, or why they are none."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from memory_os.errors import DocumentError

__all__ = ["Decoded", "decode"]

# UTF-32's mark begins with UTF-16's: longest first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"PK\x03\x04", "archives and office files are not supported; save it as PDF, HTML or text"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old office files are not supported; save it as PDF, HTML or text"),
    (b"{\\rtf", "RTF is not supported; save it as PDF, HTML or text"),
    (b"%!PS", "PostScript is not supported; make a PDF of it"),
    (b"\x89PNG\r\n\x1a\n", "pictures are not supported"),
    (b"\xff\xd8\xff", "pictures are not supported"),
    (b"GIF8", "pictures are not supported"),
    (b"\x1f\x8b", "archives are not supported; unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "archives are not supported; unpack it"),
    (b"Rar!\x1a\x07", "archives are not supported; unpack it"),
    (b"\x7fELF", "binary"),
    (b"SQLite format 3\x00", "databases are not supported"),
)
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"^-----BEGIN [A-Z ]*PRIVATE KEY-----", re.MULTILINE)
# A text with more undecodable characters than this is in another encoding, or no text.
MAX_BAD_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Decoded:
    """`replaced`: how many characters could not be decoded and stand as U+FFFD."""

    text: str
    replaced: int = 0


def decode(data: bytes, *, declared: bool = False) -> Decoded:
    """Text with \\n line ends and no NUL. `declared`: believe a <meta charset> where UTF-8 fails. Raises DocumentError."""
    for magic, reason in _MAGIC:
        if data.startswith(magic):
            raise DocumentError(reason)
    text = _decoded(data, declared)
    if "\x00" in text:
        raise DocumentError("binary")
    if _PRIVATE_KEY.search(text):
        raise DocumentError("holds a private key")
    replaced = text.count("\ufffd") - data.count("\ufffd".encode())
    if replaced > MAX_BAD_SHARE * len(text):
        raise DocumentError("not text in UTF-8; save it as UTF-8")
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    if not clean.strip():
        raise DocumentError("empty")
    return Decoded(clean, max(replaced, 0))


def _decoded(data: bytes, declared: bool) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\x00" in data:
        raise DocumentError("binary")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if declared and (match := _DECLARED.search(data[:4096])):
            try:
                return data.decode(match.group(1).decode("ascii"), "replace")
            except LookupError:  # not an encoding, or not one of text
                pass
        return data.decode("utf-8", "replace")
