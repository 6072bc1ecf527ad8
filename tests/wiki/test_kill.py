"""kill -9 at every file operation of a curation: the run after it ends in the very same wiki, each statement once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from memory_os.llm import MemoryUsage, ModelClient
from memory_os.wiki import Wiki
from memory_os.wiki.records import CurationRecords
from support.model_server import Endpoint

from wiki.conftest import NOW, Bench, page, pages, settings_of, verdict

# What a process does to files, as Python announces it to audit hooks.
_OPERATIONS = frozenset({"os.rename", "os.mkdir", "os.remove", "os.chmod"})


# Every point took two minutes and found what this finds; the odd step meets each kind of operation.
_STEP = 5


def _curate(vault: str, base_url: str, name: str, die_at: int) -> None:
    """One curation in a process of its own that ends with signal 9 at its `die_at`-th change of a file (0: never)."""
    left = [die_at]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[1], str) and arguments[1][:1] in "wax"
        if (writes or event in _OPERATIONS) and vault in str(arguments[0]):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    settings = settings_of(Path(vault), base_url)

    async def run() -> None:
        model = ModelClient.open(settings, MemoryUsage())
        try:
            await Wiki(settings).curate(name, model, now=NOW)
        finally:
            await model.close()

    asyncio.run(run())


def _files(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".memory-os" not in path.parts
    }


def _prepared(bench: Bench, endpoint: Endpoint) -> None:
    """A wiki with a page of ours, one the user edited, and a raw file that touches both and makes two more."""
    bench.drop("a.md", "first file")
    bench.drop("b.md", "second file")
    endpoint.script("first file", pages(page("Redis", "Redis listens on 6380."), page("Mine", "It is mine.")))
    endpoint.script(
        "second file",
        pages(
            page("Redis", "Redis listens on 6379.", "Redis is in C.", links=["Queue"]),
            page("Mine", "It is yours."),
            page("Queue", "A queue holds jobs.", type="concept", links=["Redis"]),
            page("Очередь", "Ещё одна.", type="concept"),
        ),
    )
    endpoint.script("new 1: Redis listens on 6379.", verdict(contradictions=[(1, 1)]))
    endpoint.script("new 1: It is yours.", verdict())
    bench.curate("a.md")
    mine = bench.root / "entities/mine.md"
    mine.write_text(mine.read_text("utf-8").replace("It is mine.", "It is all mine."), "utf-8")


def _edited(bench: Bench, endpoint: Endpoint) -> None:
    """The same, and a raw file that was edited: a page loses a statement, one its last, and one is the user's."""
    _prepared(bench, endpoint)
    bench.drop("b.md", "a file of three", at=NOW - 7200)
    endpoint.script(
        "a file of three",
        pages(
            page("Redis", "Redis is old.", links=["Lost"]), page("Mine", "Mine is old."), page("Lost", "It gets lost."),
        ),
    )  # fmt: skip
    for text in ("Redis is old.", "Mine is old."):
        endpoint.script(f"new 1: {text}", verdict())
    mine = (bench.root / "entities/mine.md").read_text("utf-8")
    (bench.root / "entities/mine.md").write_text(mine.replace("all mine", "mine"), "utf-8")
    bench.curate("b.md")
    (bench.root / "entities/mine.md").write_text(
        (bench.root / "entities/mine.md").read_text("utf-8").replace("It is mine.", "It is all mine."), "utf-8"
    )
    bench.drop("b.md", "second file")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("edited", [False, True])
def test_killed_anywhere_and_run_again_the_wiki_is_the_same(bench: Bench, tmp_path: Path, edited: bool) -> None:
    (_edited if edited else _prepared)(bench, bench.model)
    start = tmp_path / "start"
    shutil.copytree(bench.settings.vault, start)
    bench.curate("b.md")
    wanted = _files(bench.root)
    assert wanted["entities/redis.md"].count("6379") == 1 and "entities/mine.proposal.md" in wanted
    assert "is old" not in wanted["entities/redis.md"] and "entities/lost.md" not in wanted

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["memory_os.wiki.curation", "wiki.conftest"])
    killed = 0
    for point in range(1, 1000, _STEP + 2 * edited):
        vault = tmp_path / "killed" / "vault"
        shutil.copytree(start, vault)
        child = context.Process(target=_curate, args=(str(vault), bench.model.base_url, "b.md", point))
        child.start()
        child.join()
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        killed += 1
        again = Bench(settings_of(vault, bench.model.base_url), bench.model)
        assert [one.name for one in again.wiki.waiting(NOW)] in (["b.md"], [])
        again.curate("b.md")
        assert _files(again.root) == wanted, f"killed at change {point}"
        records = CurationRecords(again.wiki.tree)
        assert all(
            records.is_ours(path, text) is (path != "entities/mine.md")
            for path in again.wiki.tree.pages()
            if (text := again.wiki.tree.read(path)) is not None
        )
        shutil.rmtree(vault)
    assert killed > 20


def test_an_answer_that_was_paid_for_is_not_paid_for_again(bench: Bench, tmp_path: Path) -> None:
    """Killed right after the first part of two: the second run asks for the second part only."""
    text = "\n\n".join(f"## Part {number}\n\n" + f"Sentence {number}. " * 1200 for number in range(2))
    bench.drop("long.md", text)
    bench.model.script("Sentence", pages(page("Whole", "A part is there.")))
    assert bench.curate("long.md", allowance=0.01).status == "partial"
    first = len(bench.asked)
    bench.curate("long.md")
    assert len(set(bench.asked)) == len(bench.asked) > first
