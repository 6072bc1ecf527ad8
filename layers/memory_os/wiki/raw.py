"""Raw files: which there are, what they say, and in which parts a model reads them. Never written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from memory_os.documents.chunk import Chunk
from memory_os.documents.files import find_files, read_file
from memory_os.documents.formats import parse
from memory_os.documents.instruction import instruction_like
from memory_os.errors import WikiError
from memory_os.text.content import token_estimate
from memory_os.wiki.tree import RAW, Tree

__all__ = ["Part", "RawFile", "RawText", "halves", "list_raw", "parts_of", "read_raw"]


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file in `raw/`. `name` is relative to it; `refused` says why it is never read."""

    name: str
    size: int = 0
    mtime_ns: int = 0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RawText:
    """What a raw file says. `sha`: SHA-256 of its bytes. `secrets`: how many were taken out. `flagged`: something in it
    reads like orders to a model."""

    sha: str
    size: int
    mtime_ns: int
    title: str
    chunks: tuple[Chunk, ...]
    day: float | None
    notes: tuple[str, ...] = ()
    secrets: int = 0
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """As much of a raw file as a model reads at once."""

    chunks: tuple[Chunk, ...]

    @property
    def text(self) -> str:
        """The words, each heading above what stands below it; repeated sentences left out."""
        lines: list[str] = []
        above: tuple[str, ...] = ()
        for one in self.chunks:
            if one.headings != above:
                lines += [f"[{' › '.join(one.headings)}]"] if one.headings else []
                above = one.headings
            lines.append(one.text[one.overlap :].strip() if lines else one.text.strip())
        return "\n".join(line for line in lines if line)

    @property
    def key(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def list_raw(tree: Tree) -> list[RawFile]:
    """Every raw file, by name. Dot files and archives are none; links and names that are not UTF-8 are refused."""
    root = tree.inside(RAW)
    if not root.is_dir():
        return []
    return [
        _listed(one.path.relative_to(root).as_posix(), one.refused, tree)
        for one in find_files(root)
        if not one.excluded
    ]


def _listed(name: str, refused: str, tree: Tree) -> RawFile:
    if any("\ud800" <= char <= "\udfff" for char in name):
        shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return RawFile(shown, refused="has a name that is not UTF-8")
    try:
        status = (tree.root / RAW / name).lstat()
    except OSError as error:
        return RawFile(name, refused=refused or f"can't be read: {error.strerror}")
    return RawFile(name, status.st_size, status.st_mtime_ns, refused)


def read_raw(tree: Tree, name: str, now: float) -> RawText:
    """Read and parse, without its secrets. Raises WikiError for a name that leaves `raw/`, DocumentError for a file that
    can't be read as text."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or any(part.startswith(".") for part in pure.parts) or not name:
        raise WikiError(f"{name!r} is not inside raw/.", cure="Name the file as it stands below wiki/raw.")
    content = read_file(tree.inside(f"{RAW}/{name}"))
    parsed = parse(name, content.data, now)
    return RawText(
        sha=hashlib.sha256(content.data).hexdigest(),
        size=len(content.data),
        mtime_ns=content.mtime_ns,
        title=parsed.title,
        chunks=tuple(parsed.chunks),
        day=parsed.front.created_at,
        notes=parsed.notes,
        secrets=parsed.secrets,
        flagged=any(instruction_like(one.text) for one in parsed.chunks) or instruction_like(parsed.title),
    )


def parts_of(chunks: tuple[Chunk, ...], tokens: int) -> list[Part]:
    """Parts of at most so many tokens, cut between chunks; a chunk alone may be larger."""
    parts: list[Part] = []
    current: list[Chunk] = []
    size = 0
    for one in chunks:
        cost = token_estimate(one.text) + 8
        if current and size + cost > tokens:
            parts.append(Part(tuple(current)))
            current, size = [], 0
        current.append(one)
        size += cost
    return [*parts, Part(tuple(current))] if current else parts


def halves(part: Part) -> list[Part]:
    """A part that is too long for the model as two; empty if it can't be cut any more."""
    if len(part.chunks) > 1:
        middle = len(part.chunks) // 2
        return [Part(part.chunks[:middle]), Part(part.chunks[middle:])]
    [only] = part.chunks
    middle = len(only.text) // 2
    if middle < 200:
        return []
    at = only.text.rfind(" ", 0, middle) if " " in only.text[middle // 2 : middle] else middle
    return [
        Part((replace(only, text=only.text[:at]),)),
        Part((replace(only, text=only.text[at:], overlap=0),)),
    ]
