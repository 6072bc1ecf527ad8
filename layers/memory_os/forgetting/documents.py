"""Forgetting documents: single passages or a whole file, and what of the file stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memory_os.documents import Documents
from memory_os.documents.files import is_gone
from memory_os.documents.prepare import SOURCE_PREFIX, source_of
from memory_os.documents.scan import name_of
from memory_os.errors import BadRequest
from memory_os.index import Index
from memory_os.memory import Passage

__all__ = ["Cut", "document_passages", "forget_passages"]


@dataclass(frozen=True, slots=True)
class Cut:
    """How many passages of one file went, and how many are left. `path` as documents are stored."""

    path: str
    gone: int
    left: int
    on_disk: bool

    def notes(self) -> list[str]:
        """What the user must know of the rest: the file itself, and the passages that were not meant."""
        notes = []
        if self.on_disk:
            notes.append(
                f"{self.path} still holds it on disk. Ingesting skips it, but an edited file may bring it back; remove it"
                " from the file."
            )
        if self.left:
            rest = "1 passage" if self.left == 1 else f"{self.left} passages"
            notes.append(
                f"{rest} of {self.path} {'remains' if self.left == 1 else 'remain'}; the person at this machine forgets the"
                f' whole file with `memory-os forget --document "{self.path}"`.'
            )
        return notes


def document_passages(documents: Documents, index: Index, path: str) -> list[Passage]:
    """All passages of one document, by its absolute path or the name it is stored under. Raises BadRequest for none."""
    names = [path]
    if Path(path).is_absolute():
        names.append(name_of(Path(path).resolve(), documents.vault.resolve()))
    for name in names:
        passages = index.of_source(source_of(name))
        if passages:
            return passages
    raise BadRequest(
        f"Memory holds nothing of a document {path[:200]!r}.",
        cure="Give one file: its path, or its name as a recalled line or `forget --query WORDS` shows it.",
    )


def forget_passages(documents: Documents, passages: Iterable[Passage], now: float) -> list[Cut]:
    """Take passages out, and their repeats in the same file. One Cut a file, in the order given."""
    meant: dict[str, list[Passage]] = {}
    for passage in passages:
        meant.setdefault(passage.source, []).append(passage)
    cuts = []
    for source, chosen in meant.items():
        gone, left = documents.forget_passages(source, {one.text for one in chosen}, now)
        name = source.removeprefix(SOURCE_PREFIX)
        cuts.append(Cut(name, gone, left, not is_gone(documents.vault / name)))
    return cuts
