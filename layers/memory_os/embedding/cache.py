"""Embeddings that several instances share: a text that any of them embedded is embedded by none of them again.

Only where a Redis is configured; the bundled one belongs to a single memory, which keeps its embeddings in memory.db. A
cache is never needed: whatever it can't answer is embedded, and a fault puts it aside for a while.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_os.config import Settings
from memory_os.embedding.calibration import CalibratedEmbedder
from memory_os.memory import content_hash

if TYPE_CHECKING:
    from redis import Redis

__all__ = ["CachedEmbedder", "EmbeddingCache", "NoCache", "RedisCache", "open_cache", "shared"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
F32 = NDArray[np.float32]

# A text that no instance met for a month is embedded again when it comes back.
TTL_S = 30 * 86_400
# A Redis that runs the queue must not be filled by a cache, and with `noeviction` (which the queue needs) it would refuse
# the queue's own writes then: beyond this many keys, or half of its memory, nothing more is put in.
KEYS_MAX = 300_000
MEMORY_SHARE_MAX = 0.5
_ROOM_EVERY_S = 30.0
# One round trip carries so many: 400 kB.
_PAGE = 500
# Embedding a text takes 60 ms; a cache that needs longer than some of that is none.
_TIMEOUT_S = 0.25
_ASIDE_S = 30.0


class EmbeddingCache(Protocol):
    """Vectors by embed hash, shape (dimension,). Never raises for a fault of its own."""

    def get(self, hashes: Sequence[str]) -> dict[str, F32]:
        """Those that are there."""

    def put(self, vectors: Mapping[str, F32]) -> None:
        """Keep them, if there is room."""

    def figures(self) -> dict[str, Any]:
        """For `status`."""

    def close(self) -> None: ...


class NoCache:
    """Where nothing is shared."""

    def get(self, hashes: Sequence[str]) -> dict[str, F32]:
        return {}

    def put(self, vectors: Mapping[str, F32]) -> None:
        return None

    def figures(self) -> dict[str, Any]:
        return {"state": "off"}

    def close(self) -> None:
        return None


class RedisCache:
    """In a Redis or Valkey, as float16 (768 bytes a vector), each with an end of its own. Thread-safe."""

    def __init__(
        self, client: Redis, fingerprint: str, dimension: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._prefix = f"memory-os:emb:{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}:"
        self._bytes = 2 * dimension
        self._clock = clock
        self._lock = threading.Lock()
        self._aside_until = self._room_at = float("-inf")
        self._room = True
        self._counts = {"hits": 0, "misses": 0, "kept": 0, "faults": 0}
        self._fault = ""

    def get(self, hashes: Sequence[str]) -> dict[str, F32]:
        found: dict[str, F32] = {}
        for page in _pages(list(dict.fromkeys(hashes))):
            values = self._asked(self._read, page)
            if values is None:
                break
            vectors = {key: self._vector(value) for key, value in zip(page, values, strict=True)}
            found.update({key: vector for key, vector in vectors.items() if vector is not None})
        self._add(hits=len(found), misses=len(set(hashes)) - len(found))
        return found

    def put(self, vectors: Mapping[str, F32]) -> None:
        for page in _pages(list(vectors)):
            if not self._has_room():
                return
            if self._asked(self._write, {key: vectors[key] for key in page}) is None:
                return
            self._add(kept=len(page))

    def figures(self) -> dict[str, Any]:
        with self._lock:
            state = "aside" if self._clock() < self._aside_until else "ok" if self._room else "full"
            return {"state": state, **self._counts, "fault": self._fault}

    def close(self) -> None:
        self._client.close()

    def _read(self, hashes: Sequence[str]) -> list[object]:
        values: Any = self._client.mget([self._prefix + key for key in hashes])
        return list(values)

    def _write(self, vectors: Mapping[str, F32]) -> bool:
        # MSET knows no end of life; a pipeline is one round trip too.
        with self._client.pipeline(transaction=False) as pipeline:
            for key, vector in vectors.items():
                pipeline.set(self._prefix + key, vector.astype("<f2").tobytes(), ex=TTL_S)
            pipeline.execute()
        return True

    def _vector(self, value: object) -> F32 | None:
        """What another instance put there, if it can be a vector: a server that is shared is not only ours."""
        if not isinstance(value, bytes) or len(value) != self._bytes:
            return None
        vector: F32 = np.frombuffer(value, "<f2").astype(np.float32)
        length = float(np.linalg.norm(vector))
        return vector if np.isfinite(length) and abs(length - 1.0) < 0.02 else None

    def _has_room(self) -> bool:
        if self._clock() >= self._room_at + _ROOM_EVERY_S:
            self._room = bool(self._asked(self._measured))
            self._room_at = self._clock()
        return self._room

    def _measured(self) -> bool:
        memory: Any = self._client.info("memory")
        limit = int(memory["maxmemory"])
        if limit and int(memory["used_memory"]) > MEMORY_SHARE_MAX * limit:
            return False
        keys: Any = self._client.dbsize()
        return int(keys) < KEYS_MAX

    def _asked(self, call: Callable[..., _T], *arguments: object) -> _T | None:
        """The answer; None while the server is put aside, or when it fails."""
        from redis.exceptions import RedisError

        if self._clock() < self._aside_until:
            return None
        try:
            return call(*arguments)
        except (RedisError, OSError, ValueError, KeyError, TypeError) as error:  # TypeError: an option nobody knows
            with self._lock:
                self._aside_until = self._clock() + _ASIDE_S
                self._counts["faults"] += 1
                fault = f"{type(error).__name__}: {error}"[:200]
                if fault != self._fault:
                    _log.warning("the shared embedding cache is left aside for %.0f s: %s", _ASIDE_S, fault)
                self._fault = fault
            return None

    def _add(self, **counts: int) -> None:
        with self._lock:
            for name, by in counts.items():
                self._counts[name] += by


class CachedEmbedder(CalibratedEmbedder):
    """An embedder that asks a cache before it embeds passages. Equal texts of one call are embedded once."""

    def __init__(self, embedder: CalibratedEmbedder, cache: EmbeddingCache) -> None:
        super().__init__(embedder._encoder, embedder._calibration)
        self.cache = cache

    def embed_passages(self, texts: Sequence[str]) -> F32:
        hashes = [content_hash(text) for text in texts]
        known = self.cache.get(hashes)
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, super().embed_passages(list(missing.values())), strict=True))
            self.cache.put(fresh)
            known = {**known, **fresh}
        return np.stack([known[key] for key in hashes]) if hashes else np.empty((0, self.dimension), np.float32)


def shared(embedder: CalibratedEmbedder, settings: Settings, fingerprint: str) -> CachedEmbedder:
    """The embedder with the cache of this configuration."""
    return CachedEmbedder(embedder, open_cache(settings, fingerprint, embedder.dimension))


def open_cache(settings: Settings, fingerprint: str, dimension: int) -> EmbeddingCache:
    """The cache in the configured Redis; none for a URL that is none, or the bundled one. Connects at the first use."""
    servers = settings.values.servers
    if not servers.redis_url:
        return NoCache()
    from redis import Redis

    try:
        client = Redis.from_url(
            servers.redis_url,
            password=servers.redis_password.get_secret_value() or None,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
        )
    except ValueError as error:
        # The queue says the same of this address, with its cure. Here it must not cost recall by meaning.
        _log.warning("no shared embedding cache: servers.redis_url can't be used: %s", error)
        return NoCache()
    return RedisCache(client, fingerprint, dimension)


def _pages(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), _PAGE):
        yield keys[start : start + _PAGE]
