"""The wiki as files: what stands where, and how a file is read and written. No path leaves the folder.

    wiki/raw/                     the user's files, never written
    wiki/concepts|entities|comparisons/   pages
    wiki/_maps/                   one page a type and a tag, made from the others
    wiki/SCHEMA.md index.md log.md _archive/
    wiki/.memory-os/              what curation has done and is doing

A file is complete or absent: it is written in `.memory-os/writing` and renamed. Its temporary name is that of its target,
so that a killed process leaves at most one file there, which the next write replaces.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from memory_os import constants
from memory_os.errors import WikiBusy, WikiError

FOLDERS = {"concept": "concepts", "entity": "entities", "comparison": "comparisons"}
PROPOSAL = ".proposal.md"
RAW, MAPS, ARCHIVE, STATE = "raw", "_maps", "_archive", ".memory-os"
SCHEMA, INDEX, LOG = "SCHEMA.md", "index.md", "log.md"
# A lock is held while one page is read and written, never while a model is asked.
_LOCK_WAIT_S = 30.0
# A page larger than this was not written by us, and is no page.
PAGE_MAX_BYTES = 2 * 1024 * 1024


class Tree:
    """The folder `wiki/` of a vault. Paths in and out are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def there(self) -> bool:
        """Whether `memory-os wiki init` was run here."""
        return (self.root / SCHEMA).is_file()

    def require(self) -> None:
        """Raises WikiError if there is no wiki."""
        if not self.there:
            raise WikiError(f"There is no wiki in {self.root}.", cure="Run `memory-os wiki init`.")

    def make(self) -> None:
        """The folders, where they are missing. Raises WikiError."""
        for name in (RAW, *FOLDERS.values(), MAPS, ARCHIVE, STATE):
            self.inside(name)
            with _typed(self.root / name):
                (self.root / name).mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)

    def inside(self, path: str) -> Path:
        """The absolute path, every link in it resolved. Raises WikiError if that is not inside the wiki."""
        pure = PurePosixPath(path)
        try:
            root = self.root.resolve()
            target = (root / pure).resolve()
            is_link = (root / pure).is_symlink()
        except (OSError, RuntimeError, ValueError) as error:
            raise WikiError(f"{path!r} is no path in the wiki.") from error
        leaves = pure.is_absolute() or ".." in pure.parts or target == root or not target.is_relative_to(root)
        if not path or is_link or leaves:
            raise WikiError(f"{path!r} is not inside {self.root}.", cure="Pages and raw files stay in the wiki.")
        return target

    def read(self, path: str) -> str | None:
        """A file's text with \\n line ends, or None if it isn't there. Raises WikiError if it can't be read."""
        text = self.read_exactly(path)
        if text is None:
            return None
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").removeprefix("\ufeff")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def read_exactly(self, path: str) -> str | None:
        """Every byte of a file: one that is no UTF-8 stands as a lone surrogate, and `write` writes it back."""
        target = self.inside(path)
        with _typed(target):
            try:
                if target.stat().st_size > PAGE_MAX_BYTES:
                    raise WikiError(f"{path} is larger than {PAGE_MAX_BYTES // 2**20} MB.", cure="Split it.")
                return target.read_bytes().decode("utf-8", "surrogateescape")
            except FileNotFoundError:
                return None

    def write(self, path: str, text: str, *, durable: bool = True) -> None:
        """The file with this text, whole and on disk, or as it was. Raises WikiError.

        `durable`: before this returns; not needed for what is derived, or what is only missed by a little more work.
        """
        target = self.inside(path)
        temporary = self.inside(f"{STATE}/writing/{_digest(path)}")
        with _typed(target):
            for folder in (target.parent, temporary.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            with temporary.open("wb") as stream:
                stream.write(text.encode("utf-8", "surrogateescape"))
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            # As readable as the folder it lies in: private in a private vault, the group's in a shared one.
            temporary.chmod(target.parent.stat().st_mode & 0o666 | constants.FILE_MODE)
            temporary.replace(target)
            if durable:
                _sync(target.parent)

    def move(self, path: str, to: str) -> None:
        """Rename a file to a name that is free. Raises WikiError."""
        source, target = self.inside(path), self.inside(to)
        with _typed(source):
            target.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            source.rename(target)

    def remove(self, path: str) -> None:
        """Delete a file of ours, if it is there. Raises WikiError."""
        target = self.inside(path)
        with _typed(target):
            target.unlink(missing_ok=True)

    def pages(self) -> list[str]:
        """Every page, sorted. Proposals, dot files and links are none."""
        return [path for folder in FOLDERS.values() for path in self._markdown(folder) if not path.endswith(PROPOSAL)]

    def proposals(self) -> list[str]:
        """Every side file with what curation would add to a page the user edited."""
        return [path for folder in FOLDERS.values() for path in self._markdown(folder) if path.endswith(PROPOSAL)]

    def maps(self) -> list[str]:
        return self._markdown(MAPS)

    def _markdown(self, folder: str) -> list[str]:
        if (self.root / folder).is_symlink():
            return []
        return sorted(
            path.relative_to(self.root).as_posix()
            for path in (self.root / folder).rglob("*.md")
            if path.is_file() and not path.is_symlink() and _plain(path.relative_to(self.root))
        )

    @contextmanager
    def lock(self, name: str, wait_s: float = _LOCK_WAIT_S) -> Iterator[None]:
        """One process at a time for whatever `name` means. Raises WikiBusy when it stays taken."""
        path = self.inside(f"{STATE}/locks/{_digest(name)}.lock")
        with _typed(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
        lock = FileLock(path, timeout=wait_s)
        try:
            lock.acquire()
        except Timeout as error:
            raise WikiBusy(f"{name} is being worked on by another process.", cure="Try again later.") from error
        try:
            yield
        finally:
            lock.release()


def stem(path: str) -> str:
    """`concepts/redis.md` -> `redis`: what a wikilink says."""
    return PurePosixPath(path).name.removesuffix(".md")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _plain(relative: Path) -> bool:
    named = all(not part.startswith((".", "_archive", "~")) for part in relative.parts)
    return named and not any("\ud800" <= char <= "\udfff" for char in relative.as_posix())


def _sync(folder: Path) -> None:
    """Make the rename durable where the file system can; some shares can't sync a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


@contextmanager
def _typed(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cure = "Check the disk, and the owner and mode of the vault."
        raise WikiError(f"{path} can't be used: {error.strerror}.", cure=cure) from error
