from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from memory_os.errors import FabricError
from memory_os.fabric import folder as folder_module
from memory_os.fabric.folder import ENTRY_MAX_BYTES, Folder

from fabric.instances import ALMIGHTY, put

LAYERS = str(Path(folder_module.__file__).parents[2])


def test_only_finished_visible_markdown_is_listed(folder: Path) -> None:
    for name in ("a.md", "cold/b.md", "2026/05/c.MD", "数据库.md", "ملاحظة.md", "Заметка.md", "メモ.md"):
        put(folder, name, "x")
    for name in (".a.md", "a.md.tmp", "~a.md", "#a.md#", ".obsidian/app.md", ".git/x.md", "a.txt", "a.md~", ".0ab.tmp"):
        put(folder, name, "x")
    listed = {unicodedata.normalize("NFC", path) for path in Folder(folder).scan().files}
    assert listed == {"a.md", "cold/b.md", "2026/05/c.MD", "数据库.md", "ملاحظة.md", "Заметка.md", "メモ.md"}


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = put(tmp_path, "secret/private.md", "not for the fabric")
    put(tmp_path, "shared folder-evil/x.md", "a neighbour with the same beginning")
    put(folder, "real.md", "x")
    (folder / "leak.md").symlink_to(outside)
    (folder / "leaks").symlink_to(outside.parent)
    (folder / "evil").symlink_to(tmp_path / "shared folder-evil")
    (folder / "alias.md").symlink_to(folder / "real.md")
    (folder / "loop").symlink_to(folder)
    listing = Folder(folder).scan()
    assert set(listing.files) == {"real.md"}
    assert set(listing.refused) == {"leak.md", "leaks", "evil"}
    with pytest.raises(FabricError):
        Folder(folder).read("leak.md")


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    put(folder, "a.md", "x")
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert set(Folder(link).scan().files) == {"a.md"}
    assert Folder(link).create("b.md", b"y") == "b.md"


def test_odd_files_are_refused_with_a_reason(folder: Path) -> None:
    put(folder, "big.md", b"x" * (ENTRY_MAX_BYTES + 1))
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"latin\xe9.md")).write_bytes(b"x")
    listing = Folder(folder).scan()
    assert listing.files == {}
    assert {reason.split(" ")[0] for reason in listing.refused.values()} == {"larger", "not", "its"}


@pytest.mark.parametrize("path", ["../out.md", "a/../../out.md", "/etc/out.md", "", ".", "..", "link/out.md"])
def test_no_path_leaves_the_folder(folder: Path, tmp_path: Path, path: str) -> None:
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(FabricError):
        Folder(folder).create(path, b"x")
    with pytest.raises(FabricError):
        Folder(folder).remove(path)
    assert not (tmp_path / "out.md").exists()


def test_a_new_folder_is_private_and_files_follow_their_folder(folder: Path) -> None:
    shared = Folder(folder)
    shared.create("a.md", b"x")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "a.md").stat().st_mode & 0o777 == 0o600
    folder.chmod(0o775)
    shared.create("b.md", b"x")
    assert (folder / "b.md").stat().st_mode & 0o777 == 0o664
    assert sorted(one.name for one in folder.iterdir()) == ["a.md", "b.md"]


def test_nothing_is_overwritten_by_a_new_entry(folder: Path) -> None:
    Folder(folder).create("a.md", b"first")
    with pytest.raises(FabricError, match="already exists"):
        Folder(folder).create("a.md", b"second")
    assert (folder / "a.md").read_bytes() == b"first"


def test_an_edit_in_between_is_kept(folder: Path) -> None:
    shared = Folder(folder)
    shared.create("a.md", b"one")
    put(folder, "a.md", "edited by a person")
    with pytest.raises(FabricError, match="edited meanwhile"):
        shared.replace("a.md", b"two", expected=b"one")
    assert (folder / "a.md").read_bytes() == b"edited by a person"


def test_a_folder_that_is_not_there_or_no_folder(folder: Path) -> None:
    with pytest.raises(FabricError, match="not there") as missing:
        Folder(folder).scan()
    assert missing.value.cure
    folder.write_text("a file")
    for act in (Folder(folder).scan, lambda: Folder(folder).create("a.md", b"x")):
        with pytest.raises(FabricError, match="not a folder"):
            act()


def test_a_folder_that_takes_no_files() -> None:
    with pytest.raises(FabricError) as refused:
        Folder(Path("/proc/self")).create("a.md", b"x")
    assert refused.value.cure


@pytest.mark.skipif(ALMIGHTY, reason="this user may write and read everywhere")
def test_a_read_only_folder(folder: Path) -> None:
    folder.mkdir(mode=0o500)
    with pytest.raises(FabricError, match="can't be written"):
        Folder(folder).create("a.md", b"x")


FULL = """
import resource, signal, sys
from pathlib import Path
from memory_os.errors import FabricError
from memory_os.fabric.folder import Folder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
folder = Folder(Path(sys.argv[1]))
folder.create("small.md", b"x")
try:
    folder.create("large.md", b"x" * 8192)
except FabricError as error:
    sys.exit(0 if "is full" in error.message and error.cure else 3)
sys.exit(4)
"""


def test_a_full_disk_leaves_no_half_file(folder: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None and signal.SIGXFSZ
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(folder)], env={**os.environ, "PYTHONPATH": LAYERS}, check=False
    )
    assert done.returncode == 0
    assert [one.name for one in folder.iterdir()] == ["small.md"]
