"""What only the embedded collection has: an arm that breaks, a flush that fails. The rest is in test_contract.py."""

from __future__ import annotations

import threading

import pytest
import qdrant_edge as edge
from memory_os.errors import VectorsError
from memory_os.memory import SHARED_SCOPE
from memory_os.vectors import Collection

from vectors.building import direction, point

ME = ("default/local", SHARED_SCOPE)


def ids(found: list[tuple[str, float]]) -> list[str]:
    return [one for one, _ in found]


def test_a_broken_sparse_arm_leaves_dense_and_says_so(collection: Collection) -> None:
    one = point("port", near="q")
    collection.upsert([one])
    with collection._shard.use() as shard:
        shard.update(edge.UpdateOperation.delete_vector_name("sparse"))
    found = collection.search(direction("q"), "port", ME)
    assert (found.mode, ids(found.hits)) == ("dense", [one.id])
    assert "sparse" in found.degraded_reason


def test_ids_lists_every_point_over_pages(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_os.vectors.collection.PAGE", 7)
    points = [point(f"number {n}") for n in range(30)]
    collection.upsert(points)
    assert sorted(collection.ids()) == sorted(one.id for one in points)


def test_a_failed_flush_reloads_without_loss_while_others_read(collection: Collection) -> None:
    """What a refused second opener does to the first: its journal is gone, and every flush fails from then on."""
    collection.upsert([point(f"port {n}", near="q") for n in range(20)])
    collection.flush()
    collection.upsert([point(f"later {n}", near="q") for n in range(20)])
    for journal in collection.folder.glob("*/segments/*/payload_storage/tracker_journal.dat"):
        journal.unlink()
    stop = threading.Event()
    failures: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                collection.dense(direction("q"), ME)
            except VectorsError as error:
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert collection.flush() is False
        assert collection.flush() is True
    finally:
        stop.set()
        reader.join()
    assert failures == []
    assert collection.count() == 40
    assert collection.health().figures["reloads"] == 1
