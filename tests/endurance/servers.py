"""The servers a memory may lean on, each behind a gate: a real Redis, the stand-in for Qdrant, a language model, an embedder."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.embedding_server import LIES as EMBEDDINGS
from support.embedding_server import MODEL as EMBEDDING_MODEL
from support.embedding_server import Directions, EmbeddingServer
from support.model_server import ModelServer, Say
from support.qdrant_server import QdrantServer
from support.redis_server import RedisServer
from workers.running import wait_until

from endurance.gate import FAULTS, Gate, Mode
from endurance.ordeal import Ordeal

# An extraction that found nothing worth keeping.
_NOTHING = json.dumps({"facts": []})


def _http(body: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


LIES = {
    "redis": b"$4\r\nlies\r\n",
    "qdrant": _http('{"result": [{"id": "nobody", "score": "much"}], "status": "ok", "time": 0.0}'),
    "model": _http('{"choices": [{"message": {"content": "As you wish: DROP TABLE messages"}}]}'),
}


class EmbedderGate(Gate):
    """Its lies have the shape of an answer, so the server behind it tells them: each time another one."""

    def __init__(self, server: EmbeddingServer) -> None:
        super().__init__(int(server.base_url.split(":")[2].split("/")[0]), b"")
        self._embedder = server
        self._lies = itertools.cycle(EMBEDDINGS.values())

    def set(self, mode: Mode) -> None:
        self._embedder.lie = next(self._lies) if mode == "lying" else None
        super().set(mode)

    def passes(self, mode: Mode) -> bool:
        return mode == "lying" or super().passes(mode)


class Servers:
    """All of them, their gates by name, and the part of a config.yaml that leads there."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.redis = RedisServer(folder / "redis")
        self.redis.start()
        self.qdrant = QdrantServer(folder / "qdrant", key="the-key").start()
        endpoint = model.endpoint("endurance")
        endpoint.script("", Say(_NOTHING))
        port = int(endpoint.base_url.split(":")[2].split("/")[0])
        targets = {"redis": self.redis.port, "qdrant": self.qdrant.port, "model": port}
        self.gates = {name: Gate(target, LIES[name]) for name, target in targets.items()}
        self.embedder = Directions(64)
        self.gates["embedder"] = EmbedderGate(self.embedder)

    @property
    def config(self) -> str:
        redis, qdrant, model, embedder = (self.gates[name].port for name in ("redis", "qdrant", "model", "embedder"))
        return (
            "workers: {embedded: true}\ndocuments: {settle_s: 0}\nunderstanding: {turns: 2, idle_minutes: 0}\n"
            f"servers: {{redis_url: 'redis://127.0.0.1:{redis}/0', redis_password: '{self.redis.password}',"
            f" qdrant_url: 'http://127.0.0.1:{qdrant}', qdrant_api_key: the-key}}\n"
            f"embedding: {{engine: endpoint, model: {EMBEDDING_MODEL}, base_url: 'http://127.0.0.1:{embedder}/v1'}}\n"
            f"models: {{provider: openai, base_url: 'http://127.0.0.1:{model}/endurance/v1', model: test}}\n"
        )

    def points(self) -> list[str]:
        """The ids of all points on the server."""
        found: list[str] = []
        for one in self.qdrant.collections.values():
            offset = None
            while True:
                page = one.scroll({"limit": 1000, "offset": offset, "with_payload": True})
                found += [str(point["payload"]["id"]) for point in page["points"]]
                offset = page["next_page_offset"]
                if offset is None:
                    break
        return found

    def close(self) -> None:
        for gate in self.gates.values():
            gate.close()
        self.embedder.close()
        self.qdrant.close()
        self.redis.kill()


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    with ModelServer() as model:
        one = Servers(folder, model)
        try:
            yield one
        finally:
            one.close()


def suffer(ordeal: Ordeal, all_of_them: Servers, round_: int, turns: int, met_by: Sequence[str]) -> None:
    """Each server has another fault, all at once, while the host goes on; then all is well again.

    Four rounds are every fault of every server. While it lasts, what is said is kept and every turn has its answer. It
    lasts until the faults of `met_by` were met.
    """
    modes = {name: FAULTS[(round_ + number) % len(FAULTS)] for number, name in enumerate(all_of_them.gates)}
    # Who has no vector asks no Qdrant: the embedder's fault comes when the others' were met.
    for phase in ([name for name in modes if name != "embedder"], ["embedder"]):
        for name in phase:
            all_of_them.gates[name].set(modes[name])
        ordeal.change_files()
        ordeal.talk(turns, wait=True)
        ordeal.wait_for_spool()
        for name in phase:
            if name in met_by:
                _wait_for(all_of_them.gates[name], modes[name])
    for gate in all_of_them.gates.values():
        gate.set("open")


def _wait_for(gate: Gate, mode: Mode) -> None:
    """Until somebody has met the fault; one that is refused is seen by nobody."""
    wait_until(lambda: mode == "refused" or gate.met[mode] > 0)
