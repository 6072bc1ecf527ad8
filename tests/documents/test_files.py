from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from memory_os import constants
from memory_os.documents.files import find_files, read_file
from memory_os.errors import DocumentError


def names(root: Path) -> list[str]:
    return [str(one.path.relative_to(root)) for one in find_files(root) if not (one.excluded or one.refused)]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text")


def test_a_folder_is_walked_sorted_and_whole(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a/b/c.txt", "ä.md", "日本.md", "line\nbreak.md")
    assert names(tmp_path) == ["a/b/c.txt", "a/z.md", "b.md", "line\nbreak.md", "ä.md", "日本.md"]


def test_what_is_not_meant_is_excluded(tmp_path: Path) -> None:
    write(tmp_path, ".env", ".git/config", "_archive/old.md", "a/_archive/x.md", "node_modules/m/readme.md", "keep.md")
    assert names(tmp_path) == ["keep.md"]
    assert sum(one.excluded for one in find_files(tmp_path)) == 5


def test_a_folder_below_a_dotted_one_is_walked(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/vault/a.md")
    assert names(tmp_path / ".hidden" / "vault") == ["a.md"]


def test_a_wikis_bookkeeping_is_excluded_beside_its_schema_only(tmp_path: Path) -> None:
    write(tmp_path, "wiki/SCHEMA.md", "wiki/index.md", "wiki/log.md", "wiki/concepts/index.md", "notes/log.md")
    assert names(tmp_path) == ["notes/log.md", "wiki/concepts/index.md"]
    assert names(tmp_path / "wiki") == ["concepts/index.md"]
    (one,) = find_files(tmp_path / "wiki" / "index.md")
    assert one.excluded


def test_links_are_refused_with_their_reason(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside.md", "root-evil/x.md", "root/real.md", "root/sub/deep.md")
    for name, target in {
        "out": "../outside.md", "near": "../root-evil", "in": "real.md", "up": "..", "loop": "loop", "none": "gone",
        "sub/back": "../real.md",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    refused = {str(one.path.relative_to(root)): one.refused for one in find_files(root) if one.refused}
    assert names(root) == ["real.md", "sub/deep.md"]
    assert all("leaves the folder" in refused[name] for name in ("out", "near", "up"))
    assert all("something in this folder" in refused[name] for name in ("in", "sub/back"))
    assert all("link to nothing" in refused[name] for name in ("loop", "none"))


def test_what_is_no_regular_file_is_refused_unread(tmp_path: Path) -> None:
    write(tmp_path, "real.md")
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "sock.md"))
        refused = {one.path.name: one.refused for one in find_files(tmp_path) if one.refused}
    assert refused == {"pipe.md": "is no regular file", "sock.md": "is no regular file"}
    assert names(tmp_path) == ["real.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list anything")
def test_a_folder_that_can_not_be_listed_is_named(tmp_path: Path) -> None:
    write(tmp_path, "shut/a.md", "open.md")
    (tmp_path / "shut").chmod(0)
    try:
        refused = [one for one in find_files(tmp_path) if one.refused]
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert [one.path.name for one in refused] == ["shut"]
    assert names(tmp_path) == ["open.md", "shut/a.md"]


def test_only_regular_files_are_opened(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DocumentError, match="no regular file"):
        read_file(tmp_path / "pipe")
    with pytest.raises(DocumentError, match="no regular file"):
        read_file(Path("/dev/zero"))
    with pytest.raises(DocumentError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(DocumentError, match="is gone"):
        read_file(tmp_path / "nothing")
    server = socket.socket(socket.AF_UNIX)
    request.addfinalizer(server.close)
    here = Path.cwd()
    os.chdir(tmp_path)  # a socket's path is short
    try:
        server.bind("s")
    finally:
        os.chdir(here)
    with pytest.raises(DocumentError, match="can't be read"):
        read_file(tmp_path / "s")


def test_a_file_swapped_for_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "secret")
    (tmp_path / "a.md").symlink_to("secret")
    with pytest.raises(DocumentError, match="can't be read"):
        read_file(tmp_path / "a.md")


def test_a_large_file_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "big.log").open("wb") as stream:
        stream.truncate(50 * 2**20)
    with pytest.raises(DocumentError, match=r"has 50 MiB; at most 32"):
        read_file(tmp_path / "big.log")


def test_a_file_without_a_size_is_read_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"MemTotal" in read_file(Path("/proc/meminfo")).data
    monkeypatch.setattr(constants, "DOCUMENT_MAX_BYTES", 100)
    with pytest.raises(DocumentError, match="at most"):
        read_file(Path("/proc/meminfo"))
