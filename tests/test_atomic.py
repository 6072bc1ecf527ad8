"""A file is written whole or not at all, and never more readable than it should be."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from memory_os.atomic import write_whole


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_its_owners_alone_and_an_old_ones_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    write_whole(path, b"one")
    assert (path.read_bytes(), mode_of(path)) == (b"one", 0o600)
    path.chmod(0o640)
    write_whole(path, b"two")
    assert (path.read_bytes(), mode_of(path)) == (b"two", 0o640)
    write_whole(path, b"three", mode=0o600)
    assert mode_of(path) == 0o600


def test_at_no_moment_may_others_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"old")
    path.chmod(0o644)
    met: list[int] = []
    sync = os.fsync

    def looked_at(handle: int) -> None:
        met.append(stat.S_IMODE(os.fstat(handle).st_mode))
        sync(handle)

    monkeypatch.setattr(os, "fsync", looked_at)
    write_whole(path, b"key", mode=0o600)
    assert met[0] == mode_of(path) == 0o600


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError):
        write_whole(tmp_path / "taken", b"one")
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no folder" / "file", b"one")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_reader_never_meets_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    sizes = [1_000_000, 10, 2_000_000, 0]
    write_whole(path, b"x" * sizes[0], durable=False)
    met: set[int] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            met.add(len(path.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        write_whole(path, b"x" * sizes[number % 4], durable=False)
    over.set()
    reader.join()
    assert met <= set(sizes)
