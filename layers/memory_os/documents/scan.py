"""What differs between the followed folders and memory, by size and time alone: a round over 10,000 files reads none.

The only files read are new ones that could be a deleted one under another name. Writes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory_os.documents.files import Found, find_files, is_gone, read_file, status_of
from memory_os.errors import DocumentError

__all__ = ["Changes", "Known", "Refused", "Renamed", "Root", "Scan", "Seen", "Stillness", "name_of", "stands_in"]

# File systems stamp times in steps: of up to 2 s (FAT, some shares) where a time is a whole second, else of 10 ms.
_COARSE_STEP_S = 3.0
_FINE_STEP_S = 0.1
# What could not be read (no permission, a share that hangs) is tried again after this long.
UNREADABLE_RETRY_S = 600.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as a scan saw it. `name`: relative to the vault if it lies there, else absolute."""

    name: str
    size: int
    mtime_ns: int

    @property
    def stamp(self) -> str:
        """Tells two states of one file apart; for a job's id."""
        return f"{self.size}-{self.mtime_ns}"


@dataclass(frozen=True, slots=True)
class Renamed:
    """The bytes of `old`, which is gone, under a new name."""

    old: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is never read: a link, a name that is not UTF-8, a folder that can't be listed."""

    name: str
    reason: str


@dataclass(slots=True)
class Changes:
    """What a scan found. `waiting`: still being written; look again after `look_again_s` seconds (0: no need to).

    `away`: followed folders that are not there, such as a drive that is not mounted; nothing of them is deleted.
    """

    new: list[Seen] = field(default_factory=list)
    changed: list[Seen] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    waiting: list[Seen] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    unchanged: int = 0
    excluded: int = 0
    look_again_s: float = 0.0

    @property
    def to_prepare(self) -> list[Seen]:
        """What must be read and cut: new and changed files, by name."""
        return sorted([*self.new, *self.changed], key=lambda seen: seen.name)


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that is followed, or one file. `path` is absolute; `device` as it was at the last look, 0 if unknown."""

    path: Path
    device: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """What memory has of a file. `whole`: all its passages are there, as this chunker cuts them."""

    size: int
    mtime_ns: int
    sha256: str
    status: str
    taken_at: float
    whole: bool

    def untouched(self, status: os.stat_result, now: float) -> bool:
        """Whether size and time are those of the last look. A file as young as a clock's step then may have changed since."""
        if not self.whole or (self.size, self.mtime_ns) != (status.st_size, status.st_mtime_ns):
            return False
        if self.status == "unreadable":
            return 0 <= now - self.taken_at < UNREADABLE_RETRY_S
        step = _FINE_STEP_S if self.mtime_ns % 1_000_000_000 else _COARSE_STEP_S
        return self.taken_at - self.mtime_ns / 1e9 > step


class Stillness:
    """Whether a file is at rest: neither written nor moved for `settle_s` seconds.

    By its own times where the clocks agree; a share's clock may run ahead, so what was seen unchanged for as long by
    ours is at rest too.
    """

    def __init__(self, settle_s: float) -> None:
        self.settle_s = settle_s
        self._watched: dict[Path, tuple[int, int, float]] = {}

    def wait(self, path: Path, status: os.stat_result, now: float) -> float:
        """Seconds still to wait; 0: it is at rest."""
        age = now - max(status.st_mtime, status.st_ctime)
        if age >= self.settle_s:
            self._watched.pop(path, None)
            return 0.0
        size, mtime_ns, since = self._watched.get(path, (-1, -1, now))
        if (size, mtime_ns) != (status.st_size, status.st_mtime_ns) or now < since:
            since = now
        elif now - since >= self.settle_s:
            del self._watched[path]
            return 0.0
        self._watched[path] = (status.st_size, status.st_mtime_ns, since)
        return min(self.settle_s - max(age, 0.0), self.settle_s - (now - since)) or 0.01

    def forget_gone(self) -> None:
        """Drop what was being written and is there no more."""
        self._watched = {path: seen for path, seen in self._watched.items() if not is_gone(path)}


class Scan:
    """One pass over some roots. `known`: what memory has below them, by name; `own`: folders that are passed over.

    All paths are resolved.
    """

    def __init__(
        self, vault: Path, known: Mapping[str, Known], stillness: Stillness, *, thorough: bool = False, own: Collection[Path] = ()
    ) -> None:  # fmt: skip
        self.vault = vault
        self.own = own
        self.known = known
        self.thorough = thorough
        self.changes = Changes()
        self._stillness = stillness
        self._met: set[str] = set()
        self._excluded: set[str] = set()

    def run(self, roots: Sequence[Root], now: float, *, loose: bool = False) -> Changes:
        """Everything that differs. `loose`: what is known and in no root is looked at too, and leaves only by command.

        `thorough` (above): nothing waits, and what looks untouched is to be read as well.
        """
        away: set[str] = set()
        present: set[str] = set()
        for root in outermost(roots):
            if self._is_away(root):
                away.add(str(root.path))
                if root.device:
                    self.changes.away.append(shown(root.path))
            else:
                present.add(str(root.path))
                self._look(find_files(root.path, self.vault / "wiki", self.own), now)
        unmet = [name for name in self.known if name not in self._met]
        if loose:
            for name in unmet:
                path = self.vault / name
                if not stands_in(path, present) and not stands_in(path, away) and (status := status_of(path)):
                    self._compare(name, path, status, now)
        gone = [name for name in unmet if stands_in(self.vault / name, present) and self._is_deleted(name)]
        self.changes.deleted = self._without_renamed(gone) if gone else []
        return self.changes

    def _look(self, found: Iterable[Found], now: float) -> None:
        for one in found:
            try:
                name = name_of(one.path, self.vault)
            except DocumentError as error:
                self.changes.refused.append(Refused(shown(one.path), error.message))
                continue
            if one.excluded:
                self.changes.excluded += 1
                self._excluded.add(name)
            elif one.refused:
                self._met.add(name)
                self.changes.refused.append(Refused(name, one.refused))
            elif one.status is not None:
                self._met.add(name)
                self._compare(name, one.path, one.status, now)

    def _compare(self, name: str, path: Path, status: os.stat_result, now: float) -> None:
        seen = Seen(name, status.st_size, status.st_mtime_ns)
        known = self.known.get(name)
        if known is not None and not self.thorough and known.untouched(status, now):
            self.changes.unchanged += 1
            return
        wait = 0.0 if self.thorough else self._stillness.wait(path, status, now)
        if wait > 0:
            self.changes.waiting.append(seen)
            self.changes.look_again_s = max(self.changes.look_again_s, wait)
        elif known is None:
            self.changes.new.append(seen)
        else:
            self.changes.changed.append(seen)

    def _is_away(self, root: Root) -> bool:
        """Whether a root only seems gone: it is missing or empty, and not on the file system it stood on.

        Of a vault that is not there nothing was deleted either: whoever wants to forget all of it says `forget`.
        """
        if root.path.is_relative_to(self.vault) and is_gone(self.vault):
            return True
        try:
            if not root.path.is_dir():
                return is_gone(root.path) and _device(root.path) != root.device
            with os.scandir(root.path) as entries:
                if next(entries, None) is not None:
                    return False
        except OSError:
            return True
        moved = root.device not in (0, _device(root.path))
        return moved and any(root.path in (self.vault / name).parents for name in self.known)

    def _is_deleted(self, name: str) -> bool:
        path = self.vault / name
        return name in self._excluded or is_gone(path) or path.is_dir()

    def _without_renamed(self, gone: list[str]) -> list[str]:
        """Pair deleted files with new ones of the same bytes; a deletion waits while its new name may still be written."""
        movable: dict[int, dict[tuple[str, str], list[str]]] = {}
        for name in filter(self._can_move, gone):
            known = self.known[name]
            movable.setdefault(known.size, {}).setdefault((known.sha256, _ending(name)), []).append(name)
        moved: set[str] = set()
        for pending in (self.changes.new, self.changes.waiting):
            for seen in [one for one in pending if one.size in movable and one.name not in self.known]:
                same = movable[seen.size].get((self._digest(seen), _ending(seen.name)))
                if same:
                    old = min(same, key=lambda name: (Path(name).name != Path(seen.name).name, name))
                    same.remove(old)
                    moved.add(old)
                    pending.remove(seen)
                    self.changes.renamed.append(Renamed(old, seen))
        unfinished = {seen.size for seen in self.changes.waiting if seen.name not in self.known}
        return [
            name for name in gone
            if name not in moved and not (self._can_move(name) and self.known[name].size in unfinished)
        ]  # fmt: skip

    def _can_move(self, name: str) -> bool:
        known = self.known[name]
        return known.whole and known.status == "ok"

    def _digest(self, seen: Seen) -> str:
        try:
            return hashlib.sha256(read_file(self.vault / seen.name).data).hexdigest()
        except DocumentError:
            return ""


def name_of(path: Path, vault: Path) -> str:
    """A resolved path as stored: relative to the resolved vault if it lies there, so that host and container agree.

    Raises DocumentError for a name that is not UTF-8.
    """
    text, base = str(path), f"{vault}{os.sep}"
    name = text[len(base) :] if text.startswith(base) else text
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DocumentError("has a name that is not UTF-8") from error
    return name


def shown(path: Path) -> str:
    """A path for people, whatever bytes are in it."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def outermost(roots: Iterable[Root]) -> list[Root]:
    """Without those that lie in another one."""
    found: dict[Path, Root] = {}
    for root in sorted(roots, key=lambda one: (len(one.path.parts), one.path)):
        if root.path not in found and found.keys().isdisjoint(root.path.parents):
            found[root.path] = root
    return list(found.values())


def _ending(name: str) -> str:
    return Path(name).suffix.lower()


def stands_in(path: Path, folders: set[str]) -> bool:
    """Whether a path is one of the folders or lies in one."""
    text = str(path)
    while text not in folders:
        above = os.path.dirname(text)  # noqa: PTH120 - ten thousand of them in a round
        if above == text:
            return False
        text = above
    return True


def _device(path: Path) -> int:
    """The file system of a path, or of the nearest folder above it that is there."""
    return next(there.stat().st_dev for there in (path, *path.parents) if there.exists())
