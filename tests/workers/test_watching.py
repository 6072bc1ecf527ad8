from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from memory_os_workers import watching
from memory_os_workers.watching import Mode, Plan, Watcher, mounts_in, plan_of, silence_of

# Long enough for any machine; nothing waits so long unless it fails.
DEADLINE_S = 30.0


class Nudged:
    """The roots that were nudged, and a way to wait for the next one."""

    def __init__(self) -> None:
        self.roots: asyncio.Queue[Path] = asyncio.Queue()

    async def next(self) -> Path:
        return await asyncio.wait_for(self.roots.get(), DEADLINE_S)

    def drain(self) -> None:
        while not self.roots.empty():
            self.roots.get_nowait()


@asynccontextmanager
async def watched(*roots: Path, mode: Mode = "auto") -> AsyncIterator[tuple[Watcher, Nudged]]:
    nudged = Nudged()
    watcher = Watcher(lambda: roots, nudged.roots.put_nowait, mode=mode)
    task = asyncio.create_task(watcher.run())
    try:
        yield watcher, nudged
    finally:
        watcher.stop()
        await asyncio.wait_for(task, DEADLINE_S)


async def until(nudged: Nudged, act: Callable[[], object]) -> Path:
    """What is nudged because of `act`; the watch itself may need a moment to begin, so it is done again until it tells."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            nudged.drain()
            act()
            try:
                return await asyncio.wait_for(nudged.roots.get(), 2)
            except TimeoutError:
                continue


def test_each_root_is_nudged_when_watching_begins(tmp_path: Path) -> None:
    async def run() -> None:
        async with watched(tmp_path) as (_, nudged):
            assert await nudged.next() == tmp_path

    asyncio.run(run())


@pytest.mark.parametrize("name", ["a.md", "übersicht.md", "обзор.md", "نظرة.md", "概览.md", "概要.md", "visão.md"])
def test_a_new_an_edited_and_a_deleted_file_nudge(tmp_path: Path, name: str) -> None:
    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            await nudged.next()
            assert await until(nudged, lambda: (tmp_path / name).write_text("new")) == tmp_path
            assert await until(nudged, lambda: (tmp_path / name).write_text("edited")) == tmp_path
            nudged.drain()
            (tmp_path / name).unlink()
            assert await nudged.next() == tmp_path
            assert watcher.figures()["changes"] >= 3

    asyncio.run(run())


def test_a_folder_that_comes_later_is_watched_too(tmp_path: Path) -> None:
    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            await until(nudged, lambda: (tmp_path / "deep" / "er").mkdir(parents=True, exist_ok=True))
            await until(nudged, lambda: (tmp_path / "deep" / "er" / "a.md").write_text("text"))
            assert watcher.figures()["folders"] == 3

    asyncio.run(run())


def test_a_root_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    root = tmp_path / "vault" / "wiki"

    def make() -> None:
        shutil.rmtree(tmp_path / "vault", ignore_errors=True)
        root.mkdir(parents=True)

    async def run() -> None:
        async with watched(root) as (_, nudged):
            assert await until(nudged, make) == root
            assert await until(nudged, lambda: (root / "a.md").write_text("text")) == root

    asyncio.run(run())


def test_a_followed_file_nudges_and_its_neighbours_do_not(tmp_path: Path) -> None:
    one = tmp_path / "one.md"
    one.write_text("text")

    async def run() -> None:
        async with watched(one) as (watcher, nudged):
            assert await until(nudged, lambda: one.write_text("edited")) == one
            before = watcher.figures()["changes"]
            nudged.drain()
            (tmp_path / "other.md").write_text("text")
            (tmp_path / "one.md").write_text("edited again")
            assert await nudged.next() == one
            assert watcher.figures()["changes"] == before + 1

    asyncio.run(run())


def test_polling_looks_without_any_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_S", 0.05)

    async def run() -> None:
        async with watched(tmp_path, mode="poll") as (watcher, nudged):
            assert [await nudged.next() for _ in range(3)] == [tmp_path] * 3
            assert watcher.figures()["polled"] == {str(tmp_path): "as configured"}

    asyncio.run(run())


def test_off_ends_at_once() -> None:
    asyncio.run(Watcher(lambda: (), lambda _: None, mode="off").run())


def test_a_fault_of_the_event_system_turns_to_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_S", 0.05)
    real = plan_of

    def impossible(roots: Sequence[Path], events: Callable[[Path], str] | None = None) -> Plan:
        """No watch can be had on such a name, and the event system says so by itself."""
        return real(roots, events) if events else Plan(folders={f"{tmp_path}/{'n' * 300}": tmp_path})

    monkeypatch.setattr(watching, "plan_of", impossible)

    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            for _ in range(3):
                assert await nudged.next() == tmp_path
            assert watcher.figures()["fault"]
            assert str(tmp_path) in watcher.figures()["polled"]

    asyncio.run(run())


def test_a_folder_that_goes_while_it_is_to_be_watched_is_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, plans = plan_of, [Plan(folders={str(tmp_path / "gone"): tmp_path})]

    def stale(roots: Sequence[Path], events: Callable[[Path], str] | None = None) -> Plan:
        return plans.pop() if plans else real(roots, events)

    monkeypatch.setattr(watching, "plan_of", stale)

    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            assert await until(nudged, lambda: (tmp_path / "a.md").write_text("text")) == tmp_path
            assert not watcher.figures()["fault"]
            assert watcher.figures()["folders"] == 1

    asyncio.run(run())


# -- the plan ------------------------------------------------------------------------------------------------------------


def test_links_dotted_and_archived_folders_are_not_watched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    for folder in (outside / "deep", root / "in", root / ".git", root / "_archive", root / "node_modules"):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(outside)
    plan = plan_of([root], lambda _: "")
    assert plan == Plan(folders={str(root): root, str(root / "in"): root})


def test_too_many_folders_are_looked_at_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FOLDERS_MAX", 3)
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    plan = plan_of([tmp_path], lambda _: "")
    assert plan == Plan(polled={tmp_path: "more than 3 folders"})


def test_a_missing_root_is_awaited_in_the_nearest_folder_above(tmp_path: Path) -> None:
    plan = plan_of([tmp_path / "vault" / "wiki"], lambda _: "")
    assert plan == Plan(anchors={str(tmp_path): {"vault"}})


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", ""),
        ("/home/me/vault", ""),
        ("/mnt/nas/vault", "nfs4 sends no file events"),
        ("/mnt/nas-local/vault", ""),
        ("/mnt/nas/local/x", ""),
        ("/mnt/team", "cifs sends no file events"),
        ("/mnt/ssh/a", "fuse.sshfs sends no file events"),
    ],
)
def test_shares_are_known_by_their_file_system(path: str, told: str) -> None:
    mounts = [
        ("/", "ext4"),
        ("/mnt/nas", "nfs4"),
        ("/mnt/nas/local", "xfs"),
        ("/mnt/team", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
    ]
    assert silence_of(mounts)(Path(path)) == told


@pytest.mark.parametrize("name", ["Büro", "关系", "заметки", "with\\040space", "tab\\011 \\134"])
def test_a_share_below_a_path_in_any_script_is_known(name: str) -> None:
    name = name.replace(" ", "")
    point = name.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
    table = f"/dev/sda1 / ext4 rw 0 0\nnas:/x /mnt/{name} nfs4 rw 0 0\n"
    assert silence_of(mounts_in(table.encode()))(Path(f"/mnt/{point}/vault")) == "nfs4 sends no file events"


def test_a_mount_that_is_not_utf8_is_one_too() -> None:
    [(point, kind)] = mounts_in(b"nas:/x /mnt/B\xfcro cifs rw 0 0\n")
    assert os.fsencode(point) == b"/mnt/B\xfcro" and kind == "cifs"


def test_a_folder_whose_name_is_not_utf8_does_not_end_the_watching(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/B\xfcro")
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/B\xfcro"))
    assert plan_of([tmp_path, strange], lambda _: "") == Plan(
        folders={str(tmp_path): tmp_path}, polled={strange: "its name is not UTF-8"}
    )

    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            assert await until(nudged, lambda: (tmp_path / "a.md").write_text("text")) == tmp_path
            assert not watcher.figures()["fault"]

    asyncio.run(run())


def test_a_file_whose_name_is_not_utf8_is_named_as_the_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event system can't tell of such a name; folders are looked at instead, and `status` says why in words."""
    monkeypatch.setattr(watching, "POLL_S", 0.05)

    async def run() -> None:
        async with watched(tmp_path) as (watcher, nudged):
            await nudged.next()
            (Path(os.fsdecode(os.fsencode(tmp_path) + b"/latin\xe9.md"))).write_text("text")
            while not watcher.figures()["fault"]:
                await nudged.next()
            assert "Unable to decode path" in watcher.figures()["fault"]
            (tmp_path / "a.md").write_text("text")
            assert await nudged.next() == tmp_path

    asyncio.run(run())


def test_a_fault_while_planning_is_noted_and_planned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_AGAIN_S", 0.01)
    faults = [KeyError("nobody foresaw it")]

    def roots() -> list[Path]:
        if faults:
            raise faults.pop()
        return [tmp_path]

    async def run() -> None:
        nudged = asyncio.Event()
        watcher = Watcher(roots, lambda _: nudged.set())
        task = asyncio.create_task(watcher.run())
        await asyncio.wait_for(nudged.wait(), 30)
        assert "nobody foresaw it" in watcher.figures()["fault"]
        watcher.stop()
        await asyncio.wait_for(task, 30)

    asyncio.run(run())


def test_without_a_list_of_mounts_events_are_believed_in() -> None:
    assert silence_of([])(Path("/anywhere")) == ""
