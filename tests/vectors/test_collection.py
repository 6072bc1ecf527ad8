"""What only the embedded collection has: an arm that breaks, a flush that fails. The rest is in test_contract.py."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import qdrant_edge as edge
from memory_os.errors import VectorsError
from memory_os.memory import SHARED_SCOPE
from memory_os.vectors import Collection

from vectors.building import DIMENSION, FINGERPRINT, direction, opened, point

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


def test_a_shard_from_before_there_were_codes_answers_the_same_and_a_rebuild_gives_it_some(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [point(f"number {n}") for n in range(300)]
    with monkeypatch.context() as before:
        before.setattr("memory_os.vectors.shard._CODES", None)
        old = opened(folder)
        old.upsert(points)
        old.close()
    old = opened(folder)
    try:
        exact = old.dense(direction("q"), ME, limit=20)
        assert (old.health().figures["codes"], "reindex" in old.health().detail) == (False, True)
        rebuilt = old.begin_rebuild(FINGERPRINT, DIMENSION)
        rebuilt.upsert(points)
        new = rebuilt.swap()
        assert new.dense(direction("q"), ME, limit=20) == exact
        assert (old.health().figures["codes"], "reindex" in old.health().detail) == (True, False)
    finally:
        old.close()


def test_a_search_without_a_filter_ends_when_another_person_is_there(collection: Collection) -> None:
    mine = point("port one", near="q")
    collection.upsert([mine])
    assert ids(collection.dense(direction("q"), ME)) == [mine.id], "nobody else is there: unfiltered"
    theirs = [point(f"port of another {n}", near="q", scope="default/telegram:7") for n in range(40)]
    collection.upsert(theirs)
    assert ids(collection.dense(direction("q"), ME, limit=3)) == [mine.id]
    rebuilt = collection.begin_rebuild(FINGERPRINT, DIMENSION)
    later = point("port of a third", near="q", scope="default/telegram:9")
    rebuilt.upsert([mine, later])
    kept = rebuilt.swap()
    assert ids(kept.dense(direction("q"), ME)) == [mine.id]
    assert ids(kept.dense(direction("q"), ("default/telegram:9",))) == [later.id]


def test_of_more_people_than_are_counted_each_sees_their_own(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os.vectors.collection._SCOPES_COUNTED", 3)
    points = [point(f"port {n}", near="q", scope=f"default/telegram:{n}") for n in range(4)]
    collection.upsert(points)
    collection._written_scopes.clear()  # as after a restart
    assert ids(collection.dense(direction("q"), [f"default/telegram:{n}" for n in range(3)])) != ids(
        collection.dense(direction("q"), ["default/telegram:3"])
    )
    for number, one in enumerate(points):
        assert ids(collection.dense(direction("q"), [f"default/telegram:{number}"])) == [one.id]


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
