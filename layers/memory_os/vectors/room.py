"""Room on the disk for the vector engine, which can't be asked to write where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from memory_os.errors import VectorsError

# The engine writes into mapped, sparse files: where the device has no block left for a page, the kernel ends the process
# with SIGBUS, and no error can be caught. A new shard takes 0.3 MB, a batch of 128 points 0.9 MB, and each of the two
# files of its log may fill up to 32 MB: with this much free, nothing the engine does until the next look runs out.
FREE_MIN_BYTES = 64 * 1024 * 1024


def need_room(folder: Path, free_bytes: Callable[[Path], int]) -> None:
    """Raises VectorsError where the engine must not write."""
    free = free_bytes(folder)
    if free < FREE_MIN_BYTES:
        raise VectorsError(
            f"The disk of {folder} has {free / 1e6:.0f} MB free; the vector engine needs {FREE_MIN_BYTES / 1e6:.0f} MB.",
            cure="Free some disk space: embedding then goes on by itself; until then new memories are found by words.",
        )


def free_bytes(folder: Path) -> int:
    """What this user may still write on the device of a folder that need not exist yet. Raises VectorsError."""
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    try:
        return shutil.disk_usage(there).free
    except OSError as error:
        raise VectorsError(f"{there} can't be used: {error.strerror}.", cure="Check the path.") from error
