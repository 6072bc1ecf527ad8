"""A file's bytes as what memory will hold of it. Pure: no store and no disk, so that it runs in a worker process.

What depends on memory (which passages stay forgotten, which keep their day) is settled when it is committed.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from types import NoneType
from typing import Any

from memory_os import constants
from memory_os.documents.chunk import CHUNKER, HARD_MAX, Chunk
from memory_os.documents.files import read_file
from memory_os.documents.formats import Parsed, parse
from memory_os.documents.instruction import FLAG, instruction_like
from memory_os.errors import BadRequest, DocumentError, DocumentUnreadable
from memory_os.memory import SHARED_SCOPE, Author, Layer, Passage, content_hash

__all__ = ["SOURCE_PREFIX", "Piece", "Prepared", "layer_of", "prepare", "prepare_file", "source_of"]

SOURCE_PREFIX = "document:"
# File name, headings and front matter that stand before a passage's words: the encoder reads less than that.
CONTEXT_MAX = 2 * HARD_MAX
# What comes over a wire may have twice what the chunker cuts at most.
PIECE_MAX = 2 * HARD_MAX
# The largest document, cut into the smallest chunks on average (a section of 200 letters), and room.
PIECES_MAX = constants.DOCUMENT_MAX_BYTES // 128
_TEXTS_MAX = {"name": 4096, "sha256": 64, "title": 2000, "reason": 10_000, "chunker": 100}
_NOTES_MAX = 1000
_INTEGER_MAX = 2**63 - 1
# The last moment that a calendar has: 9999-12-31.
_MOMENT_MAX = 253_402_300_799.0
_KINDS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (str, tuple(_TEXTS_MAX)),
    (int, ("size", "mtime_ns", "secrets")),
    ((float, int), ("importance",)),
    ((float, int, NoneType), ("day",)),
    (bool, ("unreadable",)),
)
# What the wiki's curation writes; the files it was written from stand in `wiki/raw`.
_PAGES = frozenset({"concepts", "entities", "comparisons"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage to be. `context`: file name, headings and tags; `flagged`: as in Passage."""

    text: str
    context: str
    flagged: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One file, read and cut. `size` in bytes and `mtime_ns` are those of the read.

    `reason`: why nothing of it can be taken; it then has no pieces. `unreadable`: it could not even be read, so that what
    memory has of it stays. `day`: epoch seconds its front matter gives, or None for the file's own time.
    """

    name: str
    sha256: str
    size: int
    mtime_ns: int
    title: str = ""
    day: float | None = None
    importance: float = 0.5
    pieces: tuple[Piece, ...] = ()
    reason: str = ""
    unreadable: bool = False
    notes: tuple[str, ...] = ()
    secrets: int = 0
    chunker: str = CHUNKER

    @classmethod
    def unread(cls, name: str, error: DocumentUnreadable) -> Prepared:
        """Of a file that can't be read."""
        return cls(name, "", error.size, error.mtime_ns, reason=error.message, unreadable=True)

    @property
    def source(self) -> str:
        return source_of(self.name)

    @property
    def layer(self) -> Layer:
        return layer_of(self.name)

    def passages(self, days: Mapping[str, float], now: float) -> list[Passage]:
        """The passages, in order. `days`: the day a text already has in memory, by content hash; it keeps it."""
        modified = self.mtime_ns / 1e9
        own = modified if 0 < modified <= now else now
        return [
            Passage(
                layer=self.layer,
                source=self.source,
                text=piece.text,
                scope=SHARED_SCOPE,
                author=Author.DOCUMENT,
                kind="document",
                ordinal=ordinal,
                context=piece.context,
                title=self.title,
                created_at=self.day or days.get(content_hash(piece.text), own),
                importance=self.importance,
                flagged=piece.flagged,
            )
            for ordinal, piece in enumerate(self.pieces)
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` gives an equal one back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prepared:
        """Raises BadRequest if this is none."""
        try:
            pieces = tuple(Piece(**piece) for piece in data["pieces"])
            found = cls(**{**data, "pieces": pieces, "notes": tuple(data["notes"])})
        except (TypeError, KeyError, ValueError) as error:
            raise BadRequest(f"This is no prepared document: {error}.") from error
        wrong = next(found._of_another_kind(), None) or next(found._out_of_bounds(), None)
        if wrong is not None:
            raise BadRequest(f"This is no prepared document: {wrong}.")
        return found

    def _of_another_kind(self) -> Iterator[str]:
        """Fields whose value is not of their type; what comes over a wire may be anything."""
        for kind, names in _KINDS:
            yield from (f"its {name} is of another kind" for name in names if not _is_of(getattr(self, name), kind))
        yield from ("its notes are of another kind" for note in self.notes if not isinstance(note, str))
        texts = (text for one in self.pieces for text in (one.text, one.context, one.flagged))
        yield from ("its pieces are of another kind" for text in texts if not isinstance(text, str))

    def _out_of_bounds(self) -> Iterator[str]:
        """What is larger than any file gives."""
        for name, most in _TEXTS_MAX.items():
            if len(getattr(self, name)) > most:
                yield f"its {name} has more than {most} characters"
        for name in ("size", "mtime_ns", "secrets"):
            if abs(getattr(self, name)) > _INTEGER_MAX:
                yield f"its {name} is no number of a file"
        if not 0.0 <= self.importance <= 1.0:
            yield "its importance is not between 0 and 1"
        if self.day is not None and not abs(self.day) <= _MOMENT_MAX:
            yield "its day is none"
        if len(self.notes) > _NOTES_MAX or any(len(note) > _TEXTS_MAX["reason"] for note in self.notes):
            yield "its notes are too many or too long"
        if len(self.pieces) > PIECES_MAX:
            yield f"it has {len(self.pieces)} pieces, and at most {PIECES_MAX} are taken"
        for ordinal, one in enumerate(self.pieces):
            if len(one.text) > PIECE_MAX or len(one.context) > CONTEXT_MAX or len(one.flagged) > PIECE_MAX:
                yield f"its piece {ordinal} has more than {PIECE_MAX} characters"


def _is_of(value: Any, kind: Any) -> bool:
    # In Python a bool is an int; in JSON it isn't.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def source_of(name: str) -> str:
    """The source its passages carry."""
    return SOURCE_PREFIX + name


def layer_of(name: str) -> Layer:
    """Pages of the wiki are layer 6; everything else that was handed over is layer 5."""
    parts = PurePath(name).parts
    return Layer.WIKI if len(parts) > 2 and parts[0] == "wiki" and parts[1] in _PAGES else Layer.VECTORS


def prepare(name: str, data: bytes, mtime_ns: int, now: float) -> Prepared:
    """Parse, take secrets out, cut. A file of which nothing can be taken comes back with its `reason`; never raises."""
    digest = hashlib.sha256(data).hexdigest()
    try:
        parsed = parse(name, data, now)
    except DocumentError as error:
        return Prepared(name, digest, len(data), mtime_ns, reason=error.message)
    return Prepared(
        name,
        digest,
        len(data),
        mtime_ns,
        title=parsed.title,
        day=parsed.front.created_at,
        importance=parsed.front.importance,
        pieces=_pieces(name, parsed),
        notes=parsed.notes,
        secrets=parsed.secrets,
    )


def prepare_file(vault: Path, name: str, now: float) -> Prepared:
    """Read a file by its name (relative to the vault, or absolute) and prepare it.

    What can't be read comes back `unreadable`, with the reason. Raises DocumentUnreadable if it is gone.
    """
    try:
        content = read_file(vault / name)
    except DocumentUnreadable as error:
        if error.gone:
            raise
        return Prepared.unread(name, error)
    return prepare(name, content.data, content.mtime_ns, now)


def _pieces(name: str, parsed: Parsed) -> tuple[Piece, ...]:
    suspect = instruction_like(parsed.title)
    return tuple(
        Piece(one.text, _context(name, parsed, one), FLAG if suspect or instruction_like(one.text) else "")
        for one in parsed.chunks
    )


def _context(name: str, parsed: Parsed, one: Chunk) -> str:
    """File name and heading path; the title has a field of its own. Tags, other names and a summary that the text doesn't
    repeat help to find what never names them."""
    headings = one.headings[1:] if one.headings[:1] == (parsed.title,) else one.headings
    path = " › ".join((unicodedata.normalize("NFC", PurePath(name).name), *headings))
    names = ", ".join((*parsed.front.tags, *parsed.front.aliases))
    return "\n".join(filter(None, (path, names, parsed.front.summary)))[:CONTEXT_MAX]
