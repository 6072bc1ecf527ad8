"""A file's bytes as a parsed document: title, date, importance, and its chunks. Pure but for the bytes it is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

from memory_os.documents.blocks import Kind, Syntax, blocks_of
from memory_os.documents.chunk import Chunk, chunk
from memory_os.documents.decode import decode
from memory_os.documents.frontmatter import FrontMatter, read_front_matter
from memory_os.documents.markup import text_of_html
from memory_os.errors import DocumentError
from memory_os.redact import private_keys, redact

__all__ = ["Parsed", "parse"]

_MARKDOWN = {".md", ".markdown", ".mdown", ".mkd", ".mdx", ".txt", ".text", ""}
_ROWS = {".csv", ".tsv"}
_SYNTAX = {".rst": Syntax.RST, ".rest": Syntax.RST, ".org": Syntax.ORG}
_HTML = {".html", ".htm", ".xhtml"}
# Formats whose text we can't get at, named so that the reason is clear even when the bytes look like text.
_NOT_SUPPORTED = frozenset(
    {
        ".pdf", ".doc", ".docx", ".odt", ".rtf", ".ppt", ".pptx", ".odp", ".xls", ".xlsx", ".ods", ".epub", ".mobi",
        ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".heic", ".tif", ".tiff", ".bmp", ".ico", ".mp3", ".m4a",
        ".wav", ".ogg", ".flac", ".mp4", ".mov", ".mkv", ".webm", ".avi", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z",
        ".tar", ".rar", ".ps", ".eps",
    }
)  # fmt: skip
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_TITLE_MAX = 200


@dataclass(frozen=True, slots=True)
class Parsed:
    """`notes`: what was passed over in the file, for the report."""

    title: str
    chunks: list[Chunk]
    front: FrontMatter
    notes: tuple[str, ...] = ()
    secrets: int = 0  # how many were replaced


def parse(name: str, data: bytes, now: float) -> Parsed:
    """Parse one file's bytes by its name's ending, without its secrets: what is made of it is shared.

    Raises DocumentError with the reason it can't be ingested.
    """
    path = PurePath(name)
    ending = path.suffix.lower()
    if ending in _NOT_SUPPORTED:
        raise DocumentError(f"{ending[1:].upper()} is not supported")
    decoded = decode(data, declared=ending in _HTML)
    notes = [f"{decoded.replaced} characters could not be decoded"] if decoded.replaced else []
    # Before it is cut: a key's last lines would say nothing of what they are. The rest is found in any passage.
    text, secrets = private_keys(decoded.text)
    title, front = "", FrontMatter()
    syntax = _syntax(ending)
    if ending in _HTML:
        title, text = text_of_html(text)
    elif syntax is Syntax.MARKDOWN:
        front, text = read_front_matter(text, now)
        title = front.title
    if front.problem:
        notes.append(front.problem)
    chunks = [*chunk(front.text, Syntax.PLAIN), *_chunks(text, syntax)]
    if not chunks:
        raise DocumentError("empty")
    title = title or _first_heading(text, syntax) or path.stem
    return _redacted(Parsed(title[:_TITLE_MAX], chunks, front, tuple(notes), secrets))


def _redacted(parsed: Parsed) -> Parsed:
    """Passage by passage: a large file must not hold the interpreter for seconds. A heading counts in its own passage."""
    texts = [redact(one.text) for one in parsed.chunks]
    chunks = [
        replace(one, text=text, headings=tuple(redact(heading)[0] for heading in one.headings))
        for one, (text, _) in zip(parsed.chunks, texts, strict=True)
    ]
    front = replace(parsed.front, tags=tuple(redact(tag)[0] for tag in parsed.front.tags))
    secrets = parsed.secrets + sum(count for _, count in texts)
    return replace(parsed, title=redact(parsed.title)[0], chunks=chunks, front=front, secrets=secrets)


def _syntax(ending: str) -> Syntax:
    if ending in _MARKDOWN or ending in _HTML:
        return Syntax.MARKDOWN
    return Syntax.ROWS if ending in _ROWS else _SYNTAX.get(ending, Syntax.PLAIN)


def _chunks(text: str, syntax: Syntax) -> list[Chunk]:
    """The chunks; a table of rows names its columns above each."""
    chunks = chunk(text, syntax)
    if syntax is not Syntax.ROWS or len(chunks) < 2:
        return chunks
    columns = text.lstrip("\n").split("\n", 1)[0][:_TITLE_MAX]
    return [Chunk(one.text, (columns,), one.overlap) for one in chunks]


def _first_heading(text: str, syntax: Syntax) -> str:
    if syntax in (Syntax.PLAIN, Syntax.ROWS):
        return ""
    if syntax is Syntax.ORG and (match := _ORG_TITLE.search(text)):
        return match.group(1).strip()
    headings = (block.heading for block in blocks_of(text, syntax) if block.kind is Kind.HEADING)
    return next((" ".join(heading.split()) for heading in headings if heading.strip()), "")
