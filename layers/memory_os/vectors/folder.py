"""The folder of a collection: who may open it, which numbered shard is current, and with what it was built."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from memory_os import constants
from memory_os.atomic import write_whole
from memory_os.documents.chunk import CHUNKER
from memory_os.errors import FingerprintMismatch, VectorsError, VectorsUnavailable
from memory_os.vectors.shard import CHECK, CURE
from memory_os.vectors.sparse import SPARSE

__all__ = [
    "Current",
    "Stamp",
    "lock_folder",
    "next_shard",
    "read_current",
    "remove_others",
    "remove_shard",
    "write_current",
]

CURRENT_FILE = "current.json"
LOCK_FILE = "lock"
_NUMBERED = re.compile(rf"{re.escape(constants.COLLECTION)}-(\d+)")


@dataclass(frozen=True, slots=True)
class Stamp:
    """The pipeline that filled a collection; vectors of two pipelines can't be compared."""

    model: str
    dimension: int
    chunker: str = CHUNKER
    sparse: str = SPARSE

    def check(self, stored: Stamp) -> None:
        """Raise FingerprintMismatch naming what differs."""
        wanted, found = asdict(self), asdict(stored)
        differing = [f"{key} {found[key]!r}, now {wanted[key]!r}" for key in wanted if wanted[key] != found[key]]
        if differing:
            raise FingerprintMismatch(
                f"The collection was built with {'; '.join(differing)}.", cure="Run `memory-os reindex`."
            )


@dataclass(frozen=True, slots=True)
class Current:
    """What `current.json` says: the shard in use and its stamp."""

    shard: str
    stamp: Stamp


def lock_folder(folder: Path) -> FileLock:
    """The exclusive lock, held until released. Taken before anything touches a shard.

    The engine has a lock of its own, but a second opener damages the first one's journal before it is refused there.
    Raises VectorsUnavailable while another holder is alive, VectorsError if the folder can't be used.
    """
    try:
        folder.mkdir(mode=constants.DIRECTORY_MODE, parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK_FILE, timeout=0, mode=constants.FILE_MODE, thread_local=False)
        lock.acquire()
    except Timeout as error:
        raise VectorsUnavailable(
            f"{folder} is in use by another process.", cure="Stop the other one (`memory-os stop`), or ask it."
        ) from error
    except OSError as error:
        raise VectorsError(f"{folder} can't be used: {error.strerror}.", cure=CHECK) from error
    return lock


def read_current(folder: Path) -> Current | None:
    """The current shard, or None for a folder that has none yet. Raises VectorsError if the file is not ours."""
    path = folder / CURRENT_FILE
    try:
        data = json.loads(path.read_text("utf-8"))
        stored = data["stamp"]
        stamp = Stamp(str(stored["model"]), int(stored["dimension"]), str(stored["chunker"]), str(stored["sparse"]))
        shard = data["shard"]
        if not (isinstance(shard, str) and _NUMBERED.fullmatch(shard)):
            raise ValueError(f"shard is {shard!r}")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise VectorsError(f"{path} is damaged: {error}.", cure=CURE) from error
    except OSError as error:
        raise VectorsError(f"{path} can't be read: {error.strerror}.", cure=CHECK) from error
    return Current(shard, stamp)


def write_current(folder: Path, current: Current) -> None:
    """Point the alias, complete or not at all."""
    path = folder / CURRENT_FILE
    told = {"collection": constants.COLLECTION, **asdict(current)}
    try:
        write_whole(path, json.dumps(told).encode(), mode=constants.FILE_MODE)
    except OSError as error:
        raise VectorsError(f"{path} can't be written: {error.strerror}.", cure=CHECK) from error


def next_shard(folder: Path) -> str:
    """A name no shard has yet."""
    taken = [int(match.group(1)) for path in folder.iterdir() if (match := _NUMBERED.fullmatch(path.name))]
    return f"{constants.COLLECTION}-{max(taken, default=0) + 1}"


def remove_others(folder: Path, keep: str) -> None:
    """Delete shards the alias doesn't name: what a finished or interrupted rebuild left."""
    for path in folder.iterdir():
        if _NUMBERED.fullmatch(path.name) and path.name != keep:
            remove_shard(path)


def remove_shard(path: Path) -> None:
    """Delete one shard; what can't be deleted now is tried again at the next open."""
    shutil.rmtree(path, ignore_errors=True)
