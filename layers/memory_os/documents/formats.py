"""A file's bytes as a parsed document: title, date, importance, and its chunks. Pure but for the bytes it is given."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import PurePath

from memory_os.documents.blocks import Kind, Syntax, blocks_of
from memory_os.documents.chunk import Chunk, chunk
from memory_os.documents.decode import Decoded, decode
from memory_os.documents.frontmatter import FrontMatter, read_front_matter
from memory_os.documents.markup import text_of_html
from memory_os.documents.pdf import text_of_pdf
from memory_os.errors import DocumentError
from memory_os.redact import private_keys, redact

__all__ = ["Parsed", "parse"]

_MARKDOWN = {".md", ".markdown", ".mdown", ".mkd", ".mdx", ".txt", ".text", ""}
_ROWS = {".csv", ".tsv"}
_SYNTAX = {".rst": Syntax.RST, ".rest": Syntax.RST, ".org": Syntax.ORG}
_HTML = {".html", ".htm", ".xhtml"}
# Binary formats whose text we can't get at, so that the reason is clear; such a name with text behind it is read as text.
_NOT_SUPPORTED = frozenset(
    {
        ".doc", ".docx", ".odt", ".ppt", ".pptx", ".odp", ".xls", ".xlsx", ".ods", ".epub", ".mobi", ".png", ".jpg", ".jpeg",
        ".gif", ".webp", ".heic", ".tif", ".tiff", ".bmp", ".ico", ".mp3", ".m4a", ".wav", ".ogg", ".flac", ".mp4", ".mov",
        ".mkv", ".webm", ".avi", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".tar", ".rar",
    }
)  # fmt: skip
# Names that promise no text; what is text behind one may be any.
_BELIED = _NOT_SUPPORTED | {".pdf"}
# Text to the machine, and none to a reader.
_NO_TEXT = frozenset({".svg", ".rtf", ".ps", ".eps"})
_PDF_MARK = b"%PDF-"
_HTML_MARK = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|<!--.{0,2000}?-->|<\?xml[^>]{0,200}\?>)*<(?:!doctype\s+html|html[\s>])",
                        re.IGNORECASE | re.DOTALL)  # fmt: skip
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
    """Parse one file's bytes, by what they are and by its name's ending, without its secrets: what is made of it is shared.

    Raises DocumentError with the reason it can't be ingested.
    """
    path = PurePath(name)
    ending = path.suffix.lower()
    if _PDF_MARK in data[:1024]:
        return _of_pdf(path, data, now)
    if ending in _NO_TEXT:
        raise DocumentError(f"{ending[1:].upper()} is not supported")
    html = ending in _HTML or bool(_HTML_MARK.match(data[:4096]) and _syntax(ending) is Syntax.MARKDOWN)
    decoded = _decoded(data, ending, html)
    notes = [f"{decoded.replaced} characters could not be decoded"] if decoded.replaced else []
    if ending in _BELIED:
        notes.append(f"is text, whatever its name says ({ending})")
    # Before it is cut: a key's last lines would say nothing of what they are. The rest is found in any passage.
    text, secrets = private_keys(decoded.text)
    title, front = "", FrontMatter()
    syntax = Syntax.MARKDOWN if html else _syntax(ending)
    if html:
        title, text = text_of_html(text)
    elif syntax is Syntax.MARKDOWN:
        front, text = read_front_matter(text, now)
        title = front.title
        if front.summary in " ".join(text.split()):  # our own pages open with theirs
            front = replace(front, summary="")
    if front.problem:
        notes.append(front.problem)
    chunks = [*chunk(front.text, Syntax.PLAIN), *_chunks(text, syntax)]
    title = title or _first_heading(text, syntax) or _stem(path)
    return _parsed(Parsed(title[:_TITLE_MAX], chunks, front, tuple(notes), secrets))


def _of_pdf(path: PurePath, data: bytes, now: float) -> Parsed:
    read = text_of_pdf(data, now)
    text, secrets = private_keys(read.text)
    front = FrontMatter(created_at=read.created_at)
    return _parsed(Parsed((read.title or _stem(path))[:_TITLE_MAX], chunk(text), front, read.notes, secrets))


def _decoded(data: bytes, ending: str, html: bool) -> Decoded:
    """The text. Of what is none, a name that promises none is the better reason."""
    try:
        return decode(data, declared=html)
    except DocumentError as error:
        if ending == ".pdf" and error.message != "empty":
            raise DocumentError("is no PDF, whatever its name says, nor text") from error
        if ending in _NOT_SUPPORTED and error.message != "empty":
            raise DocumentError(f"{ending[1:].upper()} is not supported; save it as PDF, HTML or text") from error
        raise


def _stem(path: PurePath) -> str:
    """The file's name for people: one form, however the file system writes its accents."""
    return unicodedata.normalize("NFC", path.stem)


def _parsed(parsed: Parsed) -> Parsed:
    if not parsed.chunks:
        raise DocumentError("empty")
    return _redacted(parsed)


def _redacted(parsed: Parsed) -> Parsed:
    """Passage by passage: a large file must not hold the interpreter for seconds. A heading counts in its own passage."""
    texts = [redact(one.text) for one in parsed.chunks]
    # Each heading once, however many passages stand below it.
    headings = {heading: redact(heading)[0] for heading in {name for one in parsed.chunks for name in one.headings}}
    chunks = [
        replace(one, text=text, headings=tuple(headings[heading] for heading in one.headings))
        for one, (text, _) in zip(parsed.chunks, texts, strict=True)
    ]
    front = replace(
        parsed.front,
        tags=tuple(redact(tag)[0] for tag in parsed.front.tags),
        aliases=tuple(redact(name)[0] for name in parsed.front.aliases),
        summary=redact(parsed.front.summary)[0],
    )
    secrets = parsed.secrets + sum(count for _, count in texts)
    return replace(parsed, title=redact(parsed.title)[0], chunks=chunks, front=front, secrets=secrets)


def _syntax(ending: str) -> Syntax:
    if ending in _MARKDOWN or ending in _HTML or ending in _BELIED:
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
