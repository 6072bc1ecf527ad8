"""The records of curation: read once, and again only when somebody wrote one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from memory_os.errors import WikiError
from memory_os.wiki.records import CurationRecords, RawRecord
from memory_os.wiki.tree import STATE, Tree

from .conftest import NOW, Bench

NAMES = ["a.md", "Büro.md", "nota ção.md", "заметка.md", "ملاحظة.md", "笔记.md", "メモ.md"]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "wiki")
    made.make()
    return made


def test_records_are_read_once_and_again_when_another_process_wrote_one(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = CurationRecords(tree), CurationRecords(tree)
    for name in NAMES:
        others.keep(RawRecord(name, "s1", 1, 1, "partial", answers={"part": {"pages": []}}))
    assert [one.name for one in ours.raws()] == sorted(NAMES)
    assert all(one.answers == {} for one in ours.raws())
    read: list[str] = []
    load = CurationRecords._load

    def counted(self: CurationRecords, path: str) -> object:
        read.append(path)
        return load(self, path)

    monkeypatch.setattr(CurationRecords, "_load", counted)
    assert len(ours.raws()) == len(NAMES) and read == []
    others.keep(RawRecord("a.md", "s1", 1, 1, "done"))
    assert {one.name: one.status for one in ours.raws()}["a.md"] == "done" and len(read) == 1
    others.drop("a.md")
    assert len(ours.raws()) == len(NAMES) - 1 and len(read) == 1


def test_a_record_that_is_dropped_while_they_are_listed_is_gone_alone(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    records = CurationRecords(tree)
    for name in NAMES:
        records.keep(RawRecord(name, "s1"))
    scan = os.scandir

    @contextmanager
    def dropping(path: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scan(path) as entries:
            listed = list(entries)
        Path(listed[0].path).unlink()
        yield listed

    monkeypatch.setattr("memory_os.wiki.records.os.scandir", dropping)
    assert len(records.raws()) == len(NAMES) - 1


def test_a_record_that_is_damaged_is_none(tree: Tree) -> None:
    records = CurationRecords(tree)
    records.keep(RawRecord("a.md", "s1"))
    [path] = (tree.root / STATE / "raw").glob("*.json")
    path.write_text("{")
    assert records.raws() == []


def test_a_folder_that_cannot_be_read_is_no_empty_one(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memory_os.wiki.records.os.scandir", denied)
    with pytest.raises(WikiError, match="Permission denied"):
        CurationRecords(tree).raws()


def test_how_it_stands_is_said_without_reading_a_page(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.drop("a.md", "the file")
    page = bench.root / "concepts" / "one.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("# One\n")
    read = type(bench.wiki.tree).read

    def refused(self: Tree, path: str) -> str | None:
        assert not path.startswith("concepts/")
        return read(self, path)

    monkeypatch.setattr(type(bench.wiki.tree), "read", refused)
    health = bench.wiki.health(model=True, now=NOW)
    assert (health.figures["pages"], health.figures["waiting"]) == (1, 1)
