"""What every vector collection does, embedded or on a server: one suite over both engines."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_os.errors import FingerprintMismatch, VectorsError
from memory_os.memory import SHARED_SCOPE, Layer, State
from memory_os.vectors import Point, Searched, VectorCollection
from memory_os.vectors.backend import Backend, Embedded, OnServer
from memory_os.vectors.connection import Address
from memory_os.vectors.interface import RRF_K
from support.qdrant_server import QdrantServer

from vectors.building import DIMENSION, FINGERPRINT, HOME, direction, passage, point

ME = ("default/local", SHARED_SCOPE)


@pytest.fixture(params=["embedded", "server"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "embedded":
        return Embedded(tmp_path / "qdrant")
    server: QdrantServer = request.getfixturevalue("server")
    return OnServer(Address(server.url, server.key), HOME, tmp_path / "qdrant")


@pytest.fixture
def collection(backend: Backend) -> Iterator[VectorCollection]:
    made = opened(backend)
    yield made
    made.close()


def opened(backend: Backend, fingerprint: str = FINGERPRINT, dimension: int = DIMENSION) -> VectorCollection:
    return backend.open(fingerprint, dimension)


def ids(found: list[tuple[str, float]]) -> list[str]:
    return [one for one, _ in found]


def _tilted(number: int) -> np.ndarray:
    return direction("question") + 0.3 * direction(f"crowd {number}")


def test_what_was_written_is_found_by_meaning_and_by_word(collection: VectorCollection) -> None:
    port = point("the gateway listens on 7333", near="ports")
    collection.upsert([port, point("lunch is at noon", near="food")])
    assert collection.dense(direction("ports"), ME)[0] == (port.id, pytest.approx(1.0, abs=1e-5))
    assert ids(collection.sparse("gateway", ME)) == [port.id]


def test_an_empty_collection_answers_with_nothing(collection: VectorCollection) -> None:
    assert collection.search(direction("x"), "anything", ME) == Searched([], "hybrid")
    assert collection.health().state is State.EMPTY


def test_hybrid_runs_both_arms(collection: VectorCollection) -> None:
    """One point only meaning finds within the depth, one only its word does: silently dense-only would lose it."""
    meant = point("alpha", near="question")
    named = point("ERR-4711 in the spooler", near="elsewhere")
    # More neighbours of the question than an arm is deep, so that meaning alone never reaches `named`.
    crowd = [Point.of(passage(f"crowd {n}"), _tilted(n)) for n in range(80)]
    collection.upsert([meant, named, *crowd])

    assert named.id not in ids(collection.dense(direction("question"), ME, limit=60))
    assert meant.id not in ids(collection.sparse("ERR-4711", ME, limit=60))
    found = collection.hybrid(direction("question"), "ERR-4711", ME, limit=10)
    assert found.mode == "hybrid"
    assert set(ids(found.hits)[:2]) == {meant.id, named.id}, "each is first in one arm"
    assert dict(found.hits)[named.id] == pytest.approx(1 / RRF_K, rel=0.1)


def test_agreement_of_both_arms_comes_first(collection: VectorCollection) -> None:
    both = point("the ledger rotates weekly", near="question")
    collection.upsert([both, point("ledger", near="far"), Point.of(passage("unrelated"), _tilted(1))])
    assert collection.hybrid(direction("question"), "ledger rotates", ME).hits[0][0] == both.id


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("The failing job is build-20931.", "build-20931"),
        ("Der Fehlercode lautet XJ-77.", "Was bedeutet XJ-77?"),
        ("O pedido 88-1234 foi cancelado.", "pedido 88-1234"),
        ("Код заказа АБ-551.", "АБ-551"),
        ("رقم الطلب هو ق-٤٤١٢", "ق-٤٤١٢"),
        ("订单编号是甲子四二", "甲子四二"),
        ("エラーコードERR-4711が出ました", "ERR-4711"),
    ],
)
def test_sparse_finds_the_exact_thing_that_dense_misses(collection: VectorCollection, stored: str, asked: str) -> None:
    target = point(stored, near="far away")
    collection.upsert([target, *(Point.of(passage(f"other {n}"), _tilted(n)) for n in range(20))])
    assert target.id not in ids(collection.dense(direction("question"), ME, limit=10))
    assert ids(collection.sparse(asked, ME, limit=3))[0] == target.id


def test_scopes_and_layers_are_filtered_in_the_query(collection: VectorCollection) -> None:
    mine = point("port one", near="q")
    theirs = [point(f"port of another {n}", near="q", scope="default/telegram:7") for n in range(40)]
    shared = point("port shared", near="q", scope=SHARED_SCOPE, layer=Layer.FABRIC)
    collection.upsert([*theirs, mine, shared])
    for found in (
        collection.dense(direction("q"), ME, limit=3),
        collection.sparse("port", ME, limit=3),
        collection.hybrid(direction("q"), "port", ME, limit=3).hits,
    ):
        assert set(ids(found)) == {mine.id, shared.id}
    assert ids(collection.dense(direction("q"), ME, [Layer.FABRIC])) == [shared.id]
    assert ids(collection.sparse("port", ME, [Layer.FABRIC])) == [shared.id]


def test_some_sources_alone_are_searched_among_themselves(collection: VectorCollection) -> None:
    near = [point(f"near {n}", near="q", source=f"fact:{n}") for n in range(40)]
    far = [point(f"far {n}", source=f"fact:{100 + n}") for n in range(3)]
    theirs = point("near, of another", near="q", source="fact:101", scope="default/telegram:7")
    collection.upsert([*near, *far, theirs])
    wanted = ["fact:100", "fact:101", "fact:7", "fact:none"]
    assert set(ids(collection.dense(direction("q"), ME, limit=10, sources=wanted))) == {far[0].id, far[1].id, near[7].id}
    assert ids(collection.dense(direction("q"), ME, [Layer.FABRIC], sources=wanted)) == []
    assert len(collection.dense(direction("q"), ME, limit=50)) == 43


def test_dense_finds_the_nearest_of_a_thousand_in_their_order(backend: Backend) -> None:
    """By the vectors themselves, whatever an engine keeps beside them to be faster; and so after a restart."""
    points = [Point.of(passage(f"crowd {n}", scope=f"default/telegram:{n % 2}"), _tilted(n)) for n in range(1000)]
    # As the engine keeps them: in four bytes a number, of unit length.
    unit = np.stack([one.vector / np.linalg.norm(one.vector) for one in points]).astype(np.float32)
    first = opened(backend)
    first.upsert(points)
    first.close()
    again = opened(backend)
    try:
        for name in ("question", "crowd 7", "something else"):
            cosines = unit @ direction(name)
            for scopes, among in ((["default/telegram:0", "default/telegram:1"], 1), (["default/telegram:0"], 2)):
                nearest = [n for n in np.argsort(-cosines) if n % among == 0][:40]
                found = again.dense(direction(name), scopes, limit=40)
                assert ids(found) == [points[n].id for n in nearest]
                assert [score for _, score in found] == pytest.approx(cosines[nearest].tolist(), abs=1e-5)
    finally:
        again.close()


def test_no_scope_sees_nothing(collection: VectorCollection) -> None:
    collection.upsert([point("port", near="q")])
    assert collection.dense(direction("q"), ()) == []
    assert collection.sparse("port", ()) == []
    assert collection.search(direction("q"), "port", ()).hits == []


def test_what_another_user_says_does_not_move_my_scores(collection: VectorCollection) -> None:
    collection.upsert([point("the gateway port", near="a"), point("lunch", near="b"), point("walk", near="c")])
    before = collection.sparse("gateway", ME)
    collection.upsert([point(f"gateway {n}", scope="default/telegram:7") for n in range(50)])
    assert collection.sparse("gateway", ME) == before


def test_limit_is_honoured(collection: VectorCollection) -> None:
    collection.upsert([point(f"port {n}", near="q") for n in range(100)])
    for limit in (0, 1, 7, 90):
        assert len(collection.dense(direction("q"), ME, limit=limit)) == limit
        assert len(collection.hybrid(direction("q"), "port", ME, limit=limit).hits) == limit


@pytest.mark.parametrize("bad", [np.zeros(DIMENSION), np.full(DIMENSION, np.nan), np.ones(DIMENSION - 1)])
def test_a_bad_vector_is_never_searched_with_or_stored(collection: VectorCollection, bad: np.ndarray) -> None:
    collection.upsert([point("port", near="q")])
    with pytest.raises(VectorsError):
        collection.dense(bad, ME)
    with pytest.raises(VectorsError):
        collection.hybrid(bad, "port", ME)
    with pytest.raises(VectorsError):
        collection.upsert([point("fine"), Point.of(passage("broken"), bad)])
    assert collection.count() == 1


def test_search_falls_back_only_on_failure_and_says_so(collection: VectorCollection) -> None:
    one = point("port", near="q")
    collection.upsert([one])
    assert collection.search(direction("q"), "port", ME).mode == "hybrid"
    assert collection.search(direction("q"), "nothing such", ME).mode == "hybrid"
    no_words = collection.search(direction("q"), "👍", ME)
    assert (no_words.mode, no_words.degraded_reason, ids(no_words.hits)) == ("dense", "", [one.id])

    no_vector = collection.search(None, "port", ME)
    assert (no_vector.mode, ids(no_vector.hits)) == ("sparse", [one.id])
    assert "no embedding" in no_vector.degraded_reason
    broken = collection.search(np.full(DIMENSION, np.nan, np.float32), "port", ME)
    assert (broken.mode, ids(broken.hits)) == ("sparse", [one.id])
    assert "finite" in broken.degraded_reason


def test_a_closed_collection_raises(backend: Backend) -> None:
    collection = opened(backend)
    collection.close()
    with pytest.raises(VectorsError, match="closed"):
        collection.search(direction("q"), "port", ME)
    with pytest.raises(VectorsError, match="closed"):
        collection.flush()
    assert collection.health().state is State.DEGRADED


def test_upsert_replaces_and_delete_removes(collection: VectorCollection) -> None:
    first = Point.of(passage("old words", source="fact:1"), direction("q"))
    second = Point.of(passage("new words", source="fact:1"), direction("r"))
    assert first.id == second.id
    collection.upsert([first])
    collection.upsert([second])
    assert collection.count() == 1
    assert collection.sparse("old", ME) == []
    collection.delete([first.id, point("never stored").id])
    assert collection.count() == 0
    collection.delete([])


def test_reopened_it_holds_what_it_held(backend: Backend) -> None:
    collection = opened(backend)
    assert collection.created
    one = point("port", near="q")
    collection.upsert([one])
    collection.close()
    again = opened(backend)
    assert not again.created
    assert ids(again.hybrid(direction("q"), "port", ME).hits) == [one.id]
    again.close()


def test_another_pipeline_is_refused_with_the_cure(backend: Backend) -> None:
    opened(backend).close()
    with pytest.raises(FingerprintMismatch, match=r"model.*memory-os reindex"):
        opened(backend, fingerprint="other-model")
    with pytest.raises(FingerprintMismatch, match=r"dimension 16, now 32"):
        opened(backend, dimension=32)
    opened(backend).close()


def test_threads_write_search_and_flush_together(collection: VectorCollection) -> None:
    failures: list[Exception] = []

    def write(worker: int) -> None:
        for n in range(40):
            collection.upsert([point(f"worker {worker} number {n}", near="q")])

    def read() -> None:
        for _ in range(80):
            collection.search(direction("q"), "worker number", ME)

    def flush() -> None:
        for _ in range(5):
            collection.flush()

    def guarded(work: object, *arguments: object) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 - handed to the assertion below
            failures.append(error)

    works = [(write, 1), (write, 2), (write, 3), (read,), (read,), (flush,)]
    threads = [threading.Thread(target=guarded, args=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert collection.count() == 120


def test_health_counts(collection: VectorCollection) -> None:
    collection.upsert(list(itertools.starmap(point, [("one",), ("two",)])))
    health = collection.health()
    assert health.state is State.OK
    assert health.figures["points"] == 2


def test_a_live_rebuild_answers_from_the_old_until_the_swap(backend: Backend) -> None:
    live = opened(backend)
    live.upsert([point(f"port {n}", near="q") for n in range(10)])
    former = live.place
    rebuilt = live.begin_rebuild("new-model", DIMENSION)
    new = point("port rebuilt", near="q")
    rebuilt.upsert([new])
    assert live.count() == 10
    assert rebuilt.swap() is live
    rebuilt.close()
    assert ids(live.dense(direction("q"), ME)) == [new.id]
    assert live.stamp.model == "new-model"
    assert live.place != former or isinstance(backend, Embedded)
    live.close()
    with pytest.raises(FingerprintMismatch):
        opened(backend)
    again = opened(backend, "new-model")
    assert not again.created
    assert again.count() == 1
    again.close()


def test_an_abandoned_rebuild_leaves_what_was(backend: Backend) -> None:
    live = opened(backend)
    live.upsert([point("port", near="q")])
    live.begin_rebuild("new-model", DIMENSION).close()
    assert live.count() == 1
    live.close()
    again = opened(backend)
    assert again.count() == 1
    again.close()


def test_a_rebuild_replaces_what_does_not_fit(backend: Backend) -> None:
    first = opened(backend)
    first.upsert([point("port", near="q")])
    first.close()
    rebuilt = backend.open_rebuild("new-model", 8)
    assert rebuilt.created
    assert rebuilt.swap() is rebuilt
    rebuilt.close()
    again = opened(backend, "new-model", 8)
    assert again.count() == 0
    again.close()


def test_a_sound_collection_is_verified_and_flushed(collection: VectorCollection) -> None:
    collection.upsert([point("port", near="q")])
    collection.verify()
    assert collection.flush() is True


def test_a_large_batch_arrives_whole_and_a_bad_point_stops_all_of_it(collection: VectorCollection) -> None:
    points = [point(f"number {n}", near="q") for n in range(300)]
    with pytest.raises(VectorsError):
        collection.upsert([*points, Point.of(passage("broken"), np.zeros(DIMENSION))])
    assert collection.count() == 0
    collection.upsert(points)
    assert collection.count() == 300
    collection.delete([one.id for one in points[:250]])
    assert sorted(collection.ids()) == sorted(one.id for one in points[250:])
