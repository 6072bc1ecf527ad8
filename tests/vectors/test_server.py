"""What only a server brings: many homes in one collection, rebuilds among them, faults of the way and of the other side."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.errors import FingerprintMismatch, VectorsDenied, VectorsError, VectorsGone, VectorsUnavailable
from memory_os.memory import State
from memory_os.recall.flow import _ARMS_DEADLINE_S
from memory_os.vectors import connection as limits
from memory_os.vectors.backend import OnServer, backend_of
from memory_os.vectors.catalog import Catalog, Listed
from memory_os.vectors.connection import ADMIN, Address, Connection, Limit, Pause, is_loopback
from memory_os.vectors.folder import Stamp
from memory_os.vectors.server import BATCH, BATCH_BYTES, ServerCollection
from qdrant_client import models
from support.qdrant_server import Fault, QdrantServer

from vectors.building import DIMENSION, FINGERPRINT, HOME, direction, passage, point

ME = ("default/local",)
NEIGHBOUR = "22222222-2222-4222-8222-222222222222"


def opened(server: QdrantServer, home: str = HOME, fingerprint: str = FINGERPRINT, **more: object) -> ServerCollection:
    address = Address(server.url, server.key, **more)  # type: ignore[arg-type]
    return ServerCollection.open(address, home, fingerprint, DIMENSION)


@pytest.fixture
def collection(server: QdrantServer) -> Iterator[ServerCollection]:
    made = opened(server)
    yield made
    made.close()


def ids(found: list[tuple[str, float]]) -> list[str]:
    return [one for one, _ in found]


# -- how the collection is made ------------------------------------------------------------------------------------


def test_the_alias_names_a_numbered_collection_with_its_stamp_and_indexes(
    server: QdrantServer, collection: ServerCollection
) -> None:
    assert server.aliases == {"knowledge_base": "knowledge_base-1"}
    made = server.collections["knowledge_base-1"]
    assert made.metadata["memory_os"]["model"] == FINGERPRINT
    assert set(made.indexes) == {"home", "scope", "layer", "source", "created_at"}
    assert made.indexes["home"]["is_tenant"] and made.indexes["scope"]["is_tenant"]
    (asked,) = server.asked("PUT /collections/knowledge_base-1$")
    assert asked.body["vectors"]["dense"] == {"size": DIMENSION, "distance": "Cosine"}
    assert asked.body["sparse_vectors"]["sparse"]["modifier"] == "idf"


def test_fusion_has_our_constant_and_rarity_is_counted_over_the_reader(
    server: QdrantServer, collection: ServerCollection
) -> None:
    collection.upsert([point("the port", near="q")])
    collection.search(direction("q"), "port", ME)
    (asked,) = server.asked("points/query")
    assert asked.body["query"] == {"rrf": {"k": 20}}
    (words,) = [arm for arm in asked.body["prefetch"] if arm["using"] == "sparse"]
    assert words["params"]["idf"]["corpus"]["must"][0] == {"key": "home", "match": {"value": HOME}}


def test_batches_are_bounded_in_points_and_in_bytes_and_wait(
    server: QdrantServer, collection: ServerCollection
) -> None:
    collection.upsert([point(f"small {n}") for n in range(2 * BATCH + 1)])
    sent = server.asked("PUT .*/points$")
    assert [len(one.body["points"]) for one in sent] == [BATCH, BATCH, 1]
    server.requests.clear()
    collection.upsert([point(f"large {n}", source="s" * 900_000 + str(n)) for n in range(9)])
    sent = server.asked("PUT .*/points$")
    assert sum(len(one.body["points"]) for one in sent) == 9
    assert len(sent) == 3
    assert max(one.size for one in sent) <= BATCH_BYTES * 1.1


def test_a_write_that_is_only_noted_is_not_done(server: QdrantServer, collection: ServerCollection) -> None:
    noted = '{"result": {"operation_id": 1, "status": "acknowledged"}, "status": "ok", "time": 0}'
    server.faults.append(Fault(body=noted, headers={"Content-Type": "application/json"}, on="PUT .*/points$"))
    with pytest.raises(VectorsUnavailable, match="not confirmed"):
        collection.upsert([point("port")])


# -- many homes ----------------------------------------------------------------------------------------------------


def test_homes_share_a_collection_and_never_see_each_other(server: QdrantServer, collection: ServerCollection) -> None:
    neighbour = opened(server, NEIGHBOUR)
    same, theirs = point("the gateway port", near="q"), point("the gateway password", near="q")
    collection.upsert([same])
    before = collection.sparse("gateway", ME)
    neighbour.upsert([same, theirs])
    assert len(server.collections) == 1
    assert collection.sparse("gateway", ME) == before, "the neighbour's words weigh nothing here"
    for found in (
        collection.dense(direction("q"), ME),
        collection.sparse("gateway", ME),
        collection.hybrid(direction("q"), "gateway", ME).hits,
    ):
        assert ids(found) == [same.id]
    assert list(collection.ids()) == [same.id]
    assert (collection.count(), neighbour.count()) == (1, 2)
    collection.delete([same.id, theirs.id])
    assert (collection.count(), neighbour.count()) == (0, 2)
    neighbour.close()


def test_an_older_server_counts_rarity_over_all_and_says_so(tmp_path: Path) -> None:
    server = QdrantServer(tmp_path / "server", version="1.17.1").start()
    older = opened(server)
    older.upsert([point("the port", near="q")])
    assert ids(older.search(direction("q"), "port", ME).hits)
    assert older.health().figures["rarity"] == "collection"
    assert "params" not in server.asked("points/query")[0].body["prefetch"][1]
    older.close()
    server.close()


def test_a_rebuild_takes_the_neighbours_along(server: QdrantServer, collection: ServerCollection) -> None:
    neighbour = opened(server, NEIGHBOUR)
    theirs = [point(f"their port {n}", near="q") for n in range(150)]
    neighbour.upsert(theirs)
    collection.upsert([point("my port")])
    rebuilt = collection.begin_rebuild(FINGERPRINT, DIMENSION)
    rebuilt.upsert([point("my port")])
    assert rebuilt.swap() is collection
    assert list(server.collections) == ["knowledge_base-2"]
    assert collection.count() == 1
    with pytest.raises(VectorsGone, match=r"knowledge_base-1.*memory\.db"):
        neighbour.dense(direction("q"), ME)
    with pytest.raises(VectorsGone):
        neighbour.verify()
    again = opened(server, NEIGHBOUR)
    assert again.place != neighbour.place
    assert sorted(again.ids()) == sorted(one.id for one in theirs)
    assert again.sparse("port", ME)
    again.close()
    neighbour.close()


def test_homes_of_another_version_go_on_with_theirs_until_the_last_has_left(server: QdrantServer) -> None:
    early, late = opened(server), opened(server, NEIGHBOUR)
    early.upsert([point("early")])
    late.upsert([point("late", near="q")])
    rebuilt = early.begin_rebuild("new-model", DIMENSION)
    rebuilt.upsert([point("early anew")])
    rebuilt.swap()
    early.close()
    assert server.aliases == {"knowledge_base": "knowledge_base-2"}
    assert late.dense(direction("q"), ME), "the late one notices nothing"
    late.close()
    late = opened(server, NEIGHBOUR)
    assert late.count() == 1
    assert server.collections["knowledge_base-1"].info()["points_count"] == 1, "the early one took its points out"
    late.close()
    with pytest.raises(FingerprintMismatch, match="memory-os reindex"):
        opened(server, "33333333-3333-4333-8333-333333333333")
    moved = opened(server, NEIGHBOUR, "new-model")
    assert moved.count() == 0
    assert list(server.collections) == ["knowledge_base-2"], "the last one has left"
    moved.close()


def test_an_interrupted_rebuild_is_cleared_by_its_home_alone(
    server: QdrantServer, collection: ServerCollection
) -> None:
    neighbour = opened(server, NEIGHBOUR)
    neighbour.begin_rebuild(FINGERPRINT, DIMENSION)
    opened(server).close()
    assert list(server.collections) == ["knowledge_base-1", "knowledge_base-2"]
    opened(server, NEIGHBOUR).close()
    assert list(server.collections) == ["knowledge_base-1"]
    neighbour.close()


def test_homes_that_start_at_once_end_in_one_collection(server: QdrantServer) -> None:
    homes = [f"{n}{n}{n}{n}{n}{n}{n}{n}-1111-4111-8111-111111111111" for n in range(1, 6)]
    made: list[ServerCollection] = []
    threads = [threading.Thread(target=lambda one=home: made.append(opened(server, one))) for home in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 5
    assert list(server.collections) == ["knowledge_base-1"]
    assert len({one.place for one in made}) == 1
    for one in made:
        one.close()


def test_one_made_between_looking_and_making_is_shared(server: QdrantServer) -> None:
    make = Catalog._create
    with pytest.MonkeyPatch.context() as patch:

        def late(catalog: Catalog, stamp: Stamp, rebuilding: str, names: list[str]) -> Listed | None:
            patch.undo()
            opened(server, NEIGHBOUR).close()
            return make(catalog, stamp, rebuilding, names)

        patch.setattr(Catalog, "_create", late)
        mine = opened(server)
    assert not mine.created
    assert list(server.collections) == ["knowledge_base-1"]
    mine.close()


def test_one_that_ended_before_it_had_the_alias_is_taken_over(
    server: QdrantServer, collection: ServerCollection
) -> None:
    collection.upsert([point("port")])
    server.aliases.clear()
    server.collections["knowledge_base-1"].indexes.pop("layer")
    again = opened(server)
    assert (again.created, again.count()) == (False, 1)
    assert server.aliases == {"knowledge_base": "knowledge_base-1"}
    assert "layer" in server.collections["knowledge_base-1"].indexes
    again.close()


def test_somebody_elses_collection_of_that_name_is_left_alone(server: QdrantServer) -> None:
    """One that stands there itself, and one that an alias of somebody else names."""
    client = Connection(Address(server.url, server.key))
    params = models.VectorParams(size=3, distance=models.Distance.DOT)
    client.call("making", ADMIN, lambda one: one.create_collection("theirs", vectors_config={"x": params}))
    server.aliases["knowledge_base"] = "theirs"
    with pytest.raises(VectorsError, match=r"theirs .* was not made by memory-os.*Use another server"):
        opened(server)
    server.aliases.clear()
    client.call("making", ADMIN, lambda one: one.create_collection("knowledge_base", vectors_config={"x": params}))
    with pytest.raises(VectorsError, match=r"knowledge_base .* was not made by memory-os"):
        opened(server)
    assert sorted(server.collections) == ["knowledge_base", "theirs"]
    client.close()


def test_a_collection_made_anew_under_the_same_name_is_noticed(
    server: QdrantServer, collection: ServerCollection
) -> None:
    server.wipe()
    opened(server, NEIGHBOUR).close()
    with pytest.raises(VectorsGone, match="made anew"):
        collection.verify()
    assert collection.health().state is State.DEGRADED


# -- faults --------------------------------------------------------------------------------------------------------

UNAVAILABLE, DENIED = VectorsUnavailable, VectorsDenied


@pytest.mark.parametrize(
    ("fault", "expected", "words"),
    [
        (Fault(status=401), DENIED, r"refuses the API key \(401\).*QDRANT_API_KEY"),
        (Fault(status=403), DENIED, r"does not allow this key searching \(403\).*right to read, write and manage"),
        (Fault(status=404), UNAVAILABLE, r"no such address \(404\).*servers\.qdrant_url"),
        (Fault(status=409), VectorsError, r"refused while searching \(409\).*tried again"),
        (Fault(status=429), UNAVAILABLE, r"asked too much.*\(429\).*found by words"),
        (Fault(status=429, headers={"Retry-After": "7"}), UNAVAILABLE, r"for 7 s \(429\)"),
        (Fault(status=429, headers={"Retry-After": "soon"}), UNAVAILABLE, r"\(429\)"),
        (Fault(status=500), UNAVAILABLE, r"fails while searching \(500\): Service internal error.*server's log"),
        (Fault(status=503), UNAVAILABLE, r"\(503\)"),
        (Fault(status=400), VectorsError, r"refused while searching \(400\)"),
        (Fault(body="<html>a portal</html>"), UNAVAILABLE, r"can't be read.*servers\.qdrant_url"),
        (Fault(body='{"result": 7}'), UNAVAILABLE, r"can't be read"),
        (Fault(drop=True), UNAVAILABLE, r"broke the connection off"),
    ],
)
def test_each_fault_has_its_cause_and_its_cure_and_passes(
    server: QdrantServer, collection: ServerCollection, fault: Fault, expected: type[VectorsError], words: str
) -> None:
    collection.upsert([point("port", near="q")])
    now = [0.0]
    collection._connection.pause.clock = lambda: now[0]
    fault.on = "points/query"
    server.faults.append(fault)
    with pytest.raises(expected, match=words) as met:
        collection.dense(direction("q"), ME)
    assert type(met.value) is expected
    assert met.value.cure
    assert server.key not in str(met.value) + repr(met.value.__cause__)
    server.faults.clear()
    now[0] += 1000.0
    assert collection.dense(direction("q"), ME)


def test_too_slow_for_a_recall_is_given_up(
    server: QdrantServer, collection: ServerCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os.vectors.server.RECALL", Limit(connect=5.0, read=0.05))
    server.faults.append(Fault(delay=60.0, on="points/query"))
    with pytest.raises(VectorsUnavailable, match="too slow"):
        collection.dense(direction("q"), ME)


def test_a_recall_waits_no_longer_than_it_has() -> None:
    assert limits.RECALL.read <= _ARMS_DEADLINE_S
    assert limits.RECALL.heeds_pause and limits.SEARCH.heeds_pause and limits.WRITE.heeds_pause


def test_refused_connections_are_named_and_a_server_that_comes_back_is_used(
    server: QdrantServer, collection: ServerCollection
) -> None:
    collection.upsert([point("port", near="q")])
    server.stop()
    with pytest.raises(VectorsUnavailable, match=r"can't be reached.*Start it") as met:
        collection.dense(direction("q"), ME)
    assert collection.health().state is State.DEGRADED
    with pytest.raises(VectorsUnavailable) as again:
        collection.dense(direction("q"), ME)
    assert again.value is met.value or "can't be reached" in str(again.value)
    server.start()
    assert collection.health().state is State.OK, "a look is not held back, and ends the pause"
    assert collection.dense(direction("q"), ME)


def test_a_kept_connection_that_was_closed_meanwhile_is_no_fault(
    server: QdrantServer, collection: ServerCollection
) -> None:
    collection.upsert([point("port", near="q")])
    server.faults.append(Fault(drop=True, on="points/query", times=1))
    assert collection.dense(direction("q"), ME)
    assert len(server.asked("points/query")) == 2


def test_while_it_is_left_alone_nothing_is_asked(server: QdrantServer, collection: ServerCollection) -> None:
    now = [0.0]
    collection._connection.pause.clock = lambda: now[0]
    server.faults.append(Fault(status=503, headers={}, on="points/query"))
    with pytest.raises(VectorsUnavailable):
        collection.search(direction("q"), "port", ME)
    assert len(server.asked("points/query")) == 1, "the arms behind it are not tried against a server that is away"
    now[0] += 1000.0
    with pytest.raises(VectorsUnavailable):
        collection.search(direction("q"), "port", ME)
    assert len(server.asked("points/query")) == 2


def test_the_pause_doubles_to_a_minute_obeys_the_server_and_ends_with_success() -> None:
    now = [0.0]
    pause = Pause(lambda: now[0])
    fault = VectorsUnavailable("away")
    waits = []
    for _ in range(12):
        pause.failed(fault)
        began = now[0]
        while True:
            try:
                pause.check()
                break
            except VectorsUnavailable:
                now[0] += 0.25
        waits.append(now[0] - began)
    assert 0.5 <= waits[0] <= 1.25
    assert 30 <= max(waits) <= 60.25
    assert waits[3] > waits[0]
    pause.failed(VectorsUnavailable("busy", retry_after=200.0))
    now[0] += 199.0
    with pytest.raises(VectorsUnavailable, match="busy"):
        pause.check()
    pause.succeeded()
    pause.check()


@pytest.mark.parametrize(("key", "words"), [("", "asks for an API key"), ("wrong-key", "refuses the API key")])
def test_a_missing_or_wrong_key_is_said_without_showing_it(server: QdrantServer, key: str, words: str) -> None:
    address = Address(server.url, key)
    with pytest.raises(VectorsDenied, match=words) as met:
        ServerCollection.open(address, HOME, FINGERPRINT, DIMENSION)
    assert "wrong-key" not in str(met.value) + repr(address)


@pytest.mark.parametrize(
    ("version", "words"), [("1.16.3", "1.17 and later"), ("2.0.0", "below 2.0"), ("dev", "its version is 'dev'")]
)
def test_a_server_out_of_range_is_refused_by_its_version(tmp_path: Path, version: str, words: str) -> None:
    server = QdrantServer(tmp_path / "server", version=version).start()
    with pytest.raises(VectorsError, match=words):
        opened(server)
    assert server.collections == {}
    server.close()


@pytest.mark.parametrize("version", ["1.17.0", "1.18.2", "1.19.0", "1.20.0", "1.20.1-dev"])
def test_servers_within_the_range_are_taken(tmp_path: Path, version: str) -> None:
    server = QdrantServer(tmp_path / "server", version=version).start()
    opened(server).close()
    server.close()


def test_what_is_no_qdrant_is_named(server: QdrantServer) -> None:
    server.faults.append(Fault(body="<html>", on="GET /$"))
    with pytest.raises(VectorsUnavailable, match=r"can't be read.*servers\.qdrant_url"):
        opened(server)


def test_a_vector_of_another_size_behind_the_stamp_is_refused(
    server: QdrantServer, collection: ServerCollection
) -> None:
    server.collections["knowledge_base-1"].params["vectors"]["dense"]["size"] = 99
    with pytest.raises(VectorsError, match=r"not the vectors.*memory-os reindex"):
        opened(server)


def test_a_fault_while_looking_around_never_makes_a_second_collection(
    server: QdrantServer, collection: ServerCollection
) -> None:
    catalog = Catalog(collection._connection, HOME)
    server.aliases.clear()
    server.faults.append(Fault(status=500, on="GET /collections/knowledge_base-1"))
    with pytest.raises(VectorsUnavailable):
        catalog.current(Stamp(FINGERPRINT, DIMENSION))
    assert list(server.collections) == ["knowledge_base-1"]


# -- TLS -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate of 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.fixture
def guarded(tmp_path: Path, certificate: tuple[Path, Path]) -> Iterator[QdrantServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    server = QdrantServer(tmp_path / "server", key="the-key", tls=context).start()
    yield server
    server.close()


def test_tls_with_a_named_authority(guarded: QdrantServer, certificate: tuple[Path, Path]) -> None:
    collection = opened(guarded, ca_file=certificate[0])
    collection.upsert([point("port", near="q")])
    assert collection.dense(direction("q"), ME)
    collection.close()


def test_an_untrusted_certificate_is_refused_with_the_cure(guarded: QdrantServer) -> None:
    with pytest.raises(VectorsDenied, match=r"not trusted.*servers\.qdrant_ca_file"):
        opened(guarded)
    assert guarded.requests == [], "no key was sent"


def test_https_to_a_port_without_tls_is_named(server: QdrantServer) -> None:
    address = Address(server.url.replace("http:", "https:"), server.key)
    with pytest.raises(VectorsDenied, match="TLS"):
        ServerCollection.open(address, HOME, FINGERPRINT, DIMENSION)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_authority_file_that_can_not_be_used_is_named(
    server: QdrantServer, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(VectorsDenied, match=r"ca\.pem can't be used.*PEM"):
        opened(server, ca_file=path)


# -- choosing ------------------------------------------------------------------------------------------------------


def test_without_the_client_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(VectorsError, match=r"-m pip install 'qdrant-client>=1\.19,<2'.*memory-os\[server\]"):
        Connection(Address("http://127.0.0.1:1"))


def test_the_client_is_not_imported_where_there_is_no_server(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memory_os.config import ServerSettings;"
        "from memory_os.vectors.backend import backend_of;"
        f"backend_of(Path(sys.argv[1]), ServerSettings(), '{HOME}').open('m', 16).close();"
        "sys.exit('qdrant_client' in sys.modules or 'httpx' in sys.modules)"
    )
    layers = Path(__file__).parents[2] / "layers"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "qdrant")], env={"PYTHONPATH": str(layers)})
    assert done.returncode == 0


def test_going_to_a_server_clears_the_embedded_collection(server: QdrantServer, tmp_path: Path) -> None:
    from memory_os.config import ServerSettings

    folder = tmp_path / "qdrant"
    embedded = backend_of(folder, ServerSettings(), HOME).open(FINGERPRINT, DIMENSION)
    embedded.upsert([point("port")])
    embedded.close()
    settings = ServerSettings.model_validate({"qdrant_url": server.url, "qdrant_api_key": server.key})
    backend = backend_of(folder, settings, HOME)
    assert isinstance(backend, OnServer)
    backend.open(FINGERPRINT, DIMENSION).close()
    assert not [path for path in folder.iterdir() if path.name != "lock"], (
        "what is forgotten now would have stayed there"
    )


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:6333", True), ("http://localhost", True), ("http://[::1]:6333", True), ("https://127.9.9.9", True),
        ("http://127.0.0.1.example", False),
        ("http://qdrant:6333", False), ("http://10.0.0.7:6333", False), ("https://localhost.example", False),
    ],
)  # fmt: skip
def test_what_stays_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_a_passage_has_a_point_of_its_own_in_each_home(server: QdrantServer, collection: ServerCollection) -> None:
    one = passage("the port")
    assert collection._id(one.id) != one.id
    neighbour = opened(server, NEIGHBOUR)
    assert collection._id(one.id) != neighbour._id(one.id)
    neighbour.close()
