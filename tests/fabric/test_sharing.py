"""Several real processes on one folder at the same moment."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

from memory_os.fabric import Fabric

from fabric.conftest import Instance
from fabric.instances import NOW, open_fabric, write

WRITERS = 3
ENTRIES = 12


def _write_many(home: str, folder: str, agent: str, writer: int) -> None:
    fabric = open_fabric(Path(home), Path(folder), agent)
    for number in range(ENTRIES):
        write(fabric, summary="同じ要約", content=f"{writer} wrote {number}", now=NOW)
        fabric.refresh()
    fabric.store.close()


def test_writers_in_many_processes_lose_nothing(instance: Instance, folder: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    # Two of them even share a name: two machines whose profile is called `default`.
    agents = ["default", "default", "scout"]
    processes = [
        context.Process(target=_write_many, args=(str(tmp_path / f"writer {number}"), str(folder), agent, number))
        for number, agent in enumerate(agents)
    ]
    reader = instance("reader")
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        reader.refresh()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    reader.refresh()
    assert len(reader.cards()) == WRITERS * ENTRIES
    assert len({card.key for card in reader.cards()}) == WRITERS * ENTRIES
    assert len(list(folder.iterdir())) == WRITERS * ENTRIES
    assert reader.store.value("SELECT count(*) FROM counters WHERE name = 'fabric.front_matter'") == 0
    bodies = {passage.text for card in reader.cards() for passage in reader.index.of_source(f"fabric:{card.key}")}
    assert bodies == {f"{writer} wrote {number}" for writer in range(WRITERS) for number in range(ENTRIES)}


def test_threads_of_one_instance(fabric: Fabric) -> None:
    failures: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(10):
                write(fabric, summary=f"{name}-{number}", content=f"{name}-{number}")
                fabric.refresh()
                fabric.tier(NOW)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(fabric.cards()) == 40
