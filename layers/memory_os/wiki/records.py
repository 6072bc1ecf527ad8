"""What curation has done, in `wiki/.memory-os/`: one small file a raw file and one a page, each whole or absent.

A page's record says what we wrote last, so that an edit by the user is noticed. What we are about to write is recorded
first: a process killed between the two leaves a page that is still known to be ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memory_os.errors import WikiError
from memory_os.wiki.page import hash_of
from memory_os.wiki.tree import STATE, Tree

__all__ = ["CurationRecords", "PageRecord", "RawRecord", "RawStatus"]

# partial: goes on at the next run. done. refused: it can't be read as text. failed: the model's answers were of no use.
# ceiling: it cost as much as it may; what was read until then is written.
RawStatus = Literal["partial", "done", "refused", "failed", "ceiling"]
# Inode, size, mtime in ns.
_FileState = tuple[int, int, int]


@dataclass(slots=True)
class RawRecord:
    """One raw file in one state (`sha`). `answers`: the model's, by the part of the file they are about, until it is done."""

    name: str
    sha: str
    size: int = 0
    mtime_ns: int = 0
    status: RawStatus = "partial"
    reason: str = ""
    at: float = 0.0
    units: float = 0.0
    calls: int = 0
    day: float | None = None  # the day its front matter gives
    pages: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    # An earlier state was read before: what pages have of it alone goes when this one is done.
    replaces: bool = False

    @property
    def found_nothing(self) -> bool:
        """Whether it was read to its end and gave no page."""
        return self.status == "done" and not self.pages


@dataclass(frozen=True, slots=True)
class PageRecord:
    """Hashes of our last write and of the one under way. `origin`, `last`: the raw states that made and last changed it."""

    path: str
    hash: str = ""
    next: str = ""
    origin: str = ""
    last: str = ""


class CurationRecords:
    """The records of one wiki. Thread-safe; other processes may write them too."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._lock = threading.Lock()
        # By file name: the file's state when it was read, and what it said.
        self._known: dict[str, tuple[_FileState, RawRecord | None]] = {}

    def raw(self, name: str) -> RawRecord | None:
        """What is known of a raw file; None too for a record that can't be read: the file is then curated again."""
        data = self._load(_raw_file(name))
        return _raw_record(data) if data is not None else None

    def keep(self, record: RawRecord) -> None:
        """Put a record in place of the one there was. It holds answers that were paid for."""
        self._store(_raw_file(record.name), asdict(record))

    def drop(self, name: str) -> None:
        """Forget a raw file that is gone."""
        self.tree.remove(_raw_file(name))

    def raws(self) -> list[RawRecord]:
        """Of all raw files, by name, without the answers. A record is read again only if its file is another one now:
        `status` and every look at the documents ask. Raises WikiError.
        """
        with self._lock:
            known = self._known
            self._known = {
                name: known[name] if name in known and known[name][0] == state else (state, self._without_answers(name))
                for name, state in self._files().items()
            }
            # Copies: what somebody changes in one is not known to be so until it is kept.
            raws = [replace(record) for _, record in self._known.values() if record is not None]
        return sorted(raws, key=lambda record: record.name)

    def _files(self) -> dict[str, _FileState]:
        """The records' files; `keep` makes a new one each time, so that no state comes twice."""
        folder = self.tree.root / STATE / "raw"
        states: dict[str, _FileState] = {}
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):  # dropped meanwhile: that one alone is gone
                        found = entry.stat(follow_symlinks=False)
                        if entry.name.endswith(".json"):
                            states[entry.name] = (found.st_ino, found.st_size, found.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise WikiError(f"{folder} can't be read: {error.strerror}.", cure="Check its owner and mode.") from error
        return states

    def _without_answers(self, name: str) -> RawRecord | None:
        data = self._load(f"{STATE}/raw/{name}")
        record = None if data is None else _raw_record(data)
        return None if record is None else replace(record, answers={})

    def page(self, path: str) -> PageRecord:
        """What is known of a page; an empty record for one we never wrote."""
        data = self._load(_page_file(path)) or {}
        texts = {name: str(data.get(name, "")) for name in ("hash", "next", "origin", "last")}
        return PageRecord(path, **texts)

    def is_ours(self, path: str, text: str) -> bool:
        """Whether the page says what we wrote last, or were about to write: nobody else has edited it."""
        record = self.page(path)
        return bool(record.hash or record.next) and hash_of(text) in (record.hash, record.next)

    def announce(self, path: str, before: str, text: str, cause: str) -> None:
        """Record what is about to be written over `before`, a page of ours or nothing, and for which raw state."""
        known = self.page(path)
        held = hash_of(before) if before else ""
        origin = known.origin if held else cause
        self._store(_page_file(path), asdict(PageRecord(path, held, hash_of(text), origin, cause)))

    def written(self, path: str) -> None:
        """Record that it was written."""
        known = self.page(path)
        self._store(_page_file(path), asdict(replace(known, hash=known.next, next="")), durable=False)

    def rename_origin(self, path: str, old: str, new: str) -> None:
        """A raw file (`raw/a.md`) that made the page has another name now."""
        known = self.page(path)
        source, _, sha = known.origin.rpartition("@")
        if source == old:
            self._store(_page_file(path), asdict(replace(known, origin=f"{new}@{sha}")))

    def _load(self, path: str) -> dict[str, Any] | None:
        try:
            data = json.loads(self.tree.read(path) or "null")
        except ValueError:
            return None
        return data if isinstance(data, dict) else None

    def _store(self, path: str, data: dict[str, Any], *, durable: bool = True) -> None:
        self.tree.write(path, json.dumps(data, ensure_ascii=False, indent=1), durable=durable)


def _raw_record(data: dict[str, Any]) -> RawRecord | None:
    try:
        record = RawRecord(**data)
        sound = (
            isinstance(record.answers, dict) and isinstance(record.name, str) and isinstance(record.units, (int, float))
        )
    except TypeError:
        return None
    return record if sound else None


def _raw_file(name: str) -> str:
    return f"{STATE}/raw/{_digest(name)}.json"


def _page_file(path: str) -> str:
    return f"{STATE}/pages/{_digest(path)}.json"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]
