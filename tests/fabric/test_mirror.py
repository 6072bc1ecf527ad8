from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.errors import FabricError
from memory_os.fabric import Fabric
from memory_os.fabric.folder import Folder
from memory_os.memory import SHARED_SCOPE, Author, Layer

from fabric.conftest import Instance
from fabric.instances import ALMIGHTY, NOW, call, open_fabric, put, summaries, write

ENTRY = '---\nid: "{id}"\nagent: "scout"\ntype: "note"\ntimestamp: "2026-05-05T01:23:45Z"\nsummary: "{summary}"\n---\n{body}\n'


def foreign(folder: Path, entry_id: str, summary: str, body: str = "Text.", name: str = "") -> Path:
    return put(folder, name or f"scout-note-{entry_id}.md", ENTRY.format(id=entry_id, summary=summary, body=body))


def settle(*paths: Path) -> None:
    """As if the files had been written a minute ago."""
    for path in paths:
        old = time.time_ns() - 60 * 10**9
        os.utime(path, ns=(old, old))


def counter(fabric: Fabric, name: str) -> int:
    return int(fabric.store.value("SELECT coalesce(max(value), 0) FROM counters WHERE name = ?", (name,)))


def test_additions_edits_and_deletions_are_followed(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis moved", "Redis listens on 6380.")
    other = foreign(folder, "bb22", "Mail server")
    assert fabric.refresh().added == 2
    (passage,) = fabric.index.of_source("fabric:scout:aa11")
    assert (passage.layer, passage.scope, passage.author, passage.title, passage.kind) == (
        Layer.FABRIC, SHARED_SCOPE, Author.AGENT, "Redis moved", "note",
    )  # fmt: skip
    foreign(folder, "aa11", "Redis moved", "Redis listens on 6390.")
    other.unlink()
    done = fabric.refresh()
    assert (done.added, done.changed, done.removed) == (0, 1, 1)
    assert "6390" in fabric.index.of_source("fabric:scout:aa11")[0].text
    assert fabric.index.of_source("fabric:scout:bb22") == []
    path.unlink()
    fabric.refresh()
    assert fabric.index.count(Layer.FABRIC) == 0


def test_an_edit_of_the_same_length_within_the_clock_step_is_seen(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Port", "Port 6380.")
    stamp = path.stat().st_mtime_ns
    fabric.refresh()
    foreign(folder, "aa11", "Port", "Port 6390.")
    os.utime(path, ns=(stamp, stamp))
    fabric.refresh()
    assert "6390" in fabric.index.of_source("fabric:scout:aa11")[0].text


def test_a_renamed_file_keeps_its_passages(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis")
    fabric.refresh()
    before = fabric.index.of_source("fabric:scout:aa11")
    fabric.index.used([before[0].id])
    (folder / "archive").mkdir()
    path.rename(folder / "archive" / "数据库.md")
    done = fabric.refresh()
    assert (done.added, done.changed, done.removed) == (0, 1, 0)
    assert fabric.index.of_source("fabric:scout:aa11") == before
    assert fabric.store.value("SELECT uses FROM passages WHERE id = ?", (before[0].id,)) == 1


def test_nothing_changed_means_nothing_read(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis", "Old text.")
    settle(path)
    fabric.refresh()
    stamp = path.stat()
    path.write_text(path.read_text().replace("Old", "New"))
    os.utime(path, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
    assert fabric.refresh().unchanged == 1
    assert "Old" in fabric.index.of_source("fabric:scout:aa11")[0].text


class CountingFolder(Folder):
    """A folder that knows how often it was read from."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_only_what_differs_is_read(fabric: Fabric, folder: Path) -> None:
    counting = fabric.mirror.folder = CountingFolder(folder)
    paths = [foreign(folder, f"id{number:06d}", f"Entry {number}") for number in range(300)]
    settle(*paths)
    assert (fabric.refresh().added, counting.reads) == (300, 300)
    assert (fabric.refresh().unchanged, counting.reads) == (300, 300)
    paths[7].write_text(paths[7].read_text() + "More.")
    assert (fabric.refresh().changed, counting.reads) == (1, 301)


def test_a_conflict_copy_stands_beside_its_original(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Plan A")
    fabric.refresh()
    copy = foreign(folder, "aa11", "Plan B", name="scout-note-aa11.sync-conflict-1.md")
    fabric.refresh()
    assert sorted(card.summary for card in fabric.cards()) == ["Plan A", "Plan B"]
    assert counter(fabric, "fabric.duplicate") == 1
    path.unlink()
    fabric.refresh()
    assert [card.path for card in fabric.cards()] == [copy.name]


def test_an_id_changed_in_place_leaves_nothing_behind(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis")
    fabric.refresh()
    path.write_text(ENTRY.format(id="cc33", summary="Redis", body="x"))
    fabric.refresh()
    assert [card.ref for card in fabric.cards()] == ["scout:cc33"]
    assert fabric.index.of_source("fabric:scout:aa11") == []


def test_what_is_passed_over_is_counted_once(fabric: Fabric, folder: Path, tmp_path: Path) -> None:
    foreign(folder, "aa11", "Good")
    put(folder, "Home.md", "---\nfabric: false\n---\nx")
    (folder / "leak.md").symlink_to(put(tmp_path, "out.md", "x"))
    for _ in range(3):
        assert fabric.refresh().skipped == 2
    assert counter(fabric, "fabric.skipped") == 2
    (folder / "leak.md").unlink()
    assert fabric.refresh().skipped == 1
    put(folder, "Home.md", "---\nsummary: Now an entry\n---\nx")
    assert (fabric.refresh().added, fabric.health().figures["skipped"]) == (1, 0)


def test_an_entry_taken_out_by_its_author_leaves(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis")
    fabric.refresh()
    path.write_text("---\nfabric: false\n---\nx")
    assert fabric.refresh().removed == 1
    assert fabric.index.count(Layer.FABRIC) == 0


def test_broken_files_are_read_as_far_as_they_go(fabric: Fabric, folder: Path) -> None:
    put(folder, "broken.md", '---\nid: "aa11"\nagent: scout\nsummary: fix: the port: now\n---\nThe port is 6380.')
    put(folder, "latin.md", "---\nid: bb22\nagent: scout\nsummary: Größe\n---\nGröße".encode("latin-1"))
    put(folder, "empty.md", "")
    put(folder, "binary.md", bytes(range(256)) * 20)
    foreign(folder, "cc33", "Whole")
    assert fabric.refresh().added == 5
    assert (counter(fabric, "fabric.front_matter"), counter(fabric, "fabric.invalid_utf8")) == (1, 2)
    assert summaries(call(fabric, "fabric_recall", query="port 6380")) == ["fix: the port: now"]
    assert fabric.refresh().unchanged == 5


def test_a_missing_folder_keeps_the_index_and_says_so(fabric: Fabric, folder: Path) -> None:
    assert fabric.refresh().added == 0
    assert fabric.health().state == "empty"
    foreign(folder, "aa11", "Redis")
    fabric.refresh()
    away = folder.rename(folder.with_name("unmounted"))
    for _ in range(2):
        with pytest.raises(FabricError, match="not there"):
            fabric.refresh()
    assert counter(fabric, "fabric.unreachable") == 1
    assert fabric.health().state == "degraded" and fabric.health().cure
    answer = call(fabric, "fabric_recall", query="Redis")
    assert summaries(answer) == ["Redis"] and "not there" in answer["note"]
    away.rename(folder)
    assert fabric.refresh().unchanged == 1
    assert fabric.health().state == "ok"


def test_an_unmounted_share_is_no_deletion(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis")
    fabric.refresh()
    path.unlink()
    # The folder lay on a mount of its own when it was last read.
    fabric.store.set_meta("fabric.place", f"{folder}\n{folder}")
    with pytest.raises(FabricError, match="no longer on"):
        fabric.refresh()
    with pytest.raises(FabricError, match="no longer on"):
        write(fabric)
    assert [one.name for one in folder.iterdir()] == []
    assert [card.summary for card in fabric.cards()] == ["Redis"]


def test_another_folder_is_another_fabric(fabric: Fabric, folder: Path, tmp_path: Path) -> None:
    foreign(folder, "aa11", "Redis")
    fabric.refresh()
    fabric.folder.root = tmp_path / "elsewhere"
    fabric.folder.root.mkdir()
    assert fabric.refresh().removed == 1


@pytest.mark.skipif(ALMIGHTY, reason="this user may write and read everywhere")
def test_an_unreadable_folder_is_unknown_not_gone(fabric: Fabric, folder: Path) -> None:
    path = foreign(folder, "aa11", "Redis", name="cold/a.md")
    fabric.refresh()
    path.parent.chmod(0)
    assert fabric.refresh().removed == 0
    path.parent.chmod(0o700)


def test_a_revision_takes_the_place_of_what_it_revises(instance: Instance, folder: Path) -> None:
    builder, scout = instance("builder"), instance("scout")
    first = write(builder, type="decision", summary="Port", content="The relay port is 6380.")
    write(scout, type="decision", summary="Port", content="The relay port is 6390.", revises=first, now=NOW + 5)
    found = call(builder, "fabric_recall", query="relay port", now=NOW + 9)
    assert [item["text"] for item in found["results"]] == ["The relay port is 6390."]
    next(folder.glob("scout-*")).unlink()
    found = call(builder, "fabric_recall", query="relay port", now=NOW + 9)
    assert [item["text"] for item in found["results"]] == ["The relay port is 6380."]


def test_a_lost_database_is_derived_again(instance: Instance, folder: Path) -> None:
    builder = instance("builder")
    write(builder, type="task", summary="Move the relay")
    shutil.copy(next(folder.glob("*.md")), folder.parent / "kept.md")
    fresh = instance("builder 2")
    fresh.refresh()
    assert [card.summary for card in fresh.cards()] == ["Move the relay"]


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Mounts and unmounts a small file system of its own, where that is allowed."""
    point = tmp_path / "share"
    point.mkdir()

    def act(what: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", what, "none", str(point)] if what else ["umount", str(point)]
        subprocess.run(command, check=True, capture_output=True)

    try:
        act("size=64k")
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("this user may not mount")
    yield act
    if os.path.ismount(point):
        act("")


def test_a_real_share_fills_up_goes_away_and_comes_back(share: Callable[[str], None], tmp_path: Path) -> None:
    folder = tmp_path / "share" / "fabric"
    fabric = open_fabric(tmp_path / "home", folder, "builder")
    with pytest.raises(FabricError, match="is full"):
        for number in range(20):
            write(fabric, summary=f"Big {number}", content=f"{number} {'word ' * 2000}")
    held = len(fabric.cards())
    assert held == len(list(folder.iterdir())) > 1
    share("")
    for unmounted in (folder, None):
        for act in (fabric.refresh, lambda: write(fabric)):
            with pytest.raises(FabricError):
                act()
        if unmounted is not None:
            unmounted.mkdir()  # an empty folder where the share was
    assert len(fabric.cards()) == held and list(folder.iterdir()) == []
    share("size=64k,ro")
    with pytest.raises(FabricError) as refused:
        write(fabric)
    assert refused.value.cure
    fabric.store.close()
