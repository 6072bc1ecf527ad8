"""The way to a Qdrant server: one client, a time limit for each call, errors as ours, and a pause while it is away.

`qdrant-client` is imported here only, and only where a server is configured: it takes a second and brings gRPC.
"""

from __future__ import annotations

import random
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory_os.errors import VectorsDenied, VectorsError, VectorsUnavailable
from memory_os.loopback import is_loopback
from memory_os.vectors.server_faults import typed_fault

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

__all__ = ["ADMIN", "LOOK", "RECALL", "SEARCH", "WRITE", "Address", "Connection", "Limit", "Pause"]

_T = TypeVar("_T")

# What we speak: 1.17 has all that is asked for; from 1.19 on a word's rarity can be counted over one reader's points.
SERVER_LEAST = (1, 17)
SERVER_BELOW = (2, 0)
IDF_OF_READER = (1, 19)
CLIENT_NEEDED = "qdrant-client>=1.19,<2"

_PAUSE_MAX_S = 60.0
# A server may ask to be left alone for longer than we would; this long we believe it.
_RETRY_AFTER_MAX_S = 300.0


@dataclass(frozen=True, slots=True)
class Limit:
    """Seconds to connect, and between two parts of the answer; whether the call waits out a pause."""

    connect: float
    read: float
    heeds_pause: bool = True


# A recall has 220 ms for encoding and both arms. What is given up a little before that leaves time to judge by meaning
# what words found; what came later would be too late, and keep a thread.
RECALL = Limit(connect=0.15, read=0.15)
# Somebody asked and waits: a tool call, `status`.
SEARCH = Limit(connect=1.0, read=2.0)
LOOK = Limit(connect=1.0, read=1.0, heeds_pause=False)
# `wait=True` answers when all replicas have the points; creating a collection in a cluster needs its agreement.
WRITE = Limit(connect=3.0, read=30.0)
ADMIN = Limit(connect=3.0, read=60.0, heeds_pause=False)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and how to speak to it. The key is in no message and no representation."""

    url: str
    key: str = ""
    ca_file: Path | None = None

    def __repr__(self) -> str:
        return f"Address({self.url})"


class Pause:
    """After a failure the server is left alone: 1, 2, 4 … 60 s, less some chance, so that many don't come back at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.failures = 0
        self.fault: VectorsError | None = None
        self._until = 0.0

    def check(self) -> None:
        """Raise the last fault again while it is too early for another attempt."""
        if self.fault is not None and self.clock() < self._until:
            raise self.fault.with_traceback(None)

    def failed(self, fault: VectorsError) -> None:
        self.failures += 1
        wanted = min(2.0 ** min(self.failures - 1, 10), _PAUSE_MAX_S) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        if isinstance(fault, VectorsUnavailable) and fault.retry_after is not None:
            wanted = max(wanted, min(fault.retry_after, _RETRY_AFTER_MAX_S))
        self.fault, self._until = fault, self.clock() + wanted

    def succeeded(self) -> None:
        self.failures, self.fault = 0, None


class Connection:
    """One server, for all threads. Made without a request; `check_version` is the first."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.pause = Pause()
        self.version: tuple[int, ...] = ()
        self._limit = threading.local()
        self._closed = False
        self._client = self._connected()

    def check_version(self) -> None:
        """Raises VectorsError for a server outside the range, or for something that is no Qdrant."""
        told = self.call("asking its version", ADMIN, lambda client: client.info().version)
        try:
            major, minor, *_ = (int(part) for part in told.split("-")[0].split("."))
        except ValueError as error:
            raise VectorsError(f"{self.address.url} says its version is {told[:40]!r}.", cure=_IS_IT_QDRANT) from error
        self.version = (major, minor)
        if not SERVER_LEAST <= self.version < SERVER_BELOW:
            least, below = (".".join(map(str, one)) for one in (SERVER_LEAST, SERVER_BELOW))
            raise VectorsError(
                f"{self.address.url} runs Qdrant {told}; memory-os speaks to {least} and later, below {below}.",
                cure=f"Run a Qdrant of {least} or later.",
            )

    @property
    def counts_rarity_of_reader(self) -> bool:
        """Whether this server can count a word's rarity over one reader's points; else it is the whole collection's."""
        return self.version >= IDF_OF_READER

    def call(self, what: str, limit: Limit, work: Callable[[QdrantClient], _T]) -> _T:
        """One request (or a few) under a limit. Raises VectorsError and its leaves, naming `what` was asked.

        All we ask may be asked twice, so a kept connection that the other side has closed meanwhile is tried again.
        While the server is left alone after a fault, searches and writes raise that fault at once.
        """
        self.check_open()
        if limit.heeds_pause:
            self.pause.check()
        self._limit.now = limit
        for attempt in (1, 2):
            try:
                found = work(self._client)
            except Exception as error:
                fault, hung_up = typed_fault(error, what, self.address.url, has_key=bool(self.address.key))
                if hung_up and attempt == 1:
                    continue
                if isinstance(fault, VectorsUnavailable | VectorsDenied):
                    self.pause.failed(fault)
                raise fault from error
            self.pause.succeeded()
            return found
        raise AssertionError("unreachable")

    def check_open(self) -> None:
        if self._closed:
            raise VectorsError(f"The connection to {self.address.url} is closed.")

    def close(self) -> None:
        self._closed = True
        self._client.close()

    def _connected(self) -> QdrantClient:
        try:
            import httpx
            from qdrant_client import QdrantClient
            from qdrant_client.models import IdfCorpusParams  # noqa: F401 - an older client lacks it
        except ImportError as error:
            raise VectorsError(
                f"servers.qdrant_url is set, and Qdrant's client is not installed here ({error}).",
                cure=f"`{sys.executable} -m pip install '{CLIENT_NEEDED}'` (the extra memory-os[server]), then restart.",
            ) from error
        # Proxies of the environment are for the world outside. Kept connections: a TLS handshake is longer than a search.
        client = QdrantClient(
            url=self.address.url,
            headers={"api-key": self.address.key} if self.address.key else None,
            check_compatibility=False,
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=8, keepalive_expiry=30.0),
            verify=self._trust(),
            trust_env=not is_loopback(self.address.url),
        )
        client.http.client.add_middleware(self._limited)
        return client

    def _limited(self, request: Any, send: Callable[[Any], Any]) -> Any:
        """The client's own time-outs are whole seconds, the same for all calls."""
        limit: Limit = getattr(self._limit, "now", ADMIN)
        request.extensions["timeout"] = {
            "connect": limit.connect, "read": limit.read, "write": limit.read, "pool": limit.connect,
        }  # fmt: skip
        return send(request)

    def _trust(self) -> ssl.SSLContext | bool:
        if self.address.ca_file is None:
            return True
        try:
            return ssl.create_default_context(cafile=str(self.address.ca_file))
        except (OSError, ssl.SSLError) as error:
            raise VectorsDenied(
                f"servers.qdrant_ca_file {self.address.ca_file} can't be used: {error}.",
                cure="Give a PEM file with the authority's certificate.",
            ) from error


_IS_IT_QDRANT = "Is servers.qdrant_url the address of a Qdrant server, its REST port (6333)?"
