"""An OpenAI-compatible embeddings endpoint on loopback whose vectors are real: our own model's, cut to other dimensions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.library import real_embedder

MODEL = "acme-embed-256"


_KNOWN: dict[str, Any] = {}


def encoded(texts: Sequence[str]) -> list[Any]:
    """The raw vectors of texts, shape (384,) each; a text only once in a run, for a calibration asks for 300."""
    bare = [_bare(text) for text in texts]
    unknown = sorted({text for text in bare if text not in _KNOWN})
    if unknown:
        _KNOWN.update(zip(unknown, real_embedder()._encoder.embed_passages(unknown), strict=True))
    return [_KNOWN[text] for text in bare]


def _bare(text: str) -> str:
    """This model ignores prefixes, so that a second calibration encodes nothing anew."""
    return text.removeprefix("q: ").removeprefix("p: ") or "-"


def _rolled(rows: list[list[float]]) -> list[list[float]]:
    return [[*row[7:], *row[:7]] for row in rows]


# What an endpoint may answer in place of its vectors, by what is wrong with it.
LIES: dict[str, Callable[[list[list[float]]], list[list[float]]]] = {
    "another dimension": lambda rows: [row[:-16] for row in rows],
    "no numbers": lambda rows: [[float("nan")] * len(row) for row in rows],
    "no direction": lambda rows: [[0.0] * len(row) for row in rows],
    "too few": lambda rows: rows[:-1],
    "another model": _rolled,
}


class EmbeddingServer:
    """`asked` are all texts it was sent, `keys` the Authorization headers. `answer`, if set, replaces its answers:
    (status, body); `lie`, if set, is what becomes of its vectors."""

    def __init__(self, dimension: int, port: int = 0) -> None:
        self.dimension = dimension
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.answer: tuple[int, Any] | None = None
        self.lie: Callable[[list[list[float]]], list[list[float]]] | None = None
        self.waits = threading.Event()
        self.waits.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def vectors(self, texts: list[str]) -> list[list[float]]:
        # Longer than unit length: whoever takes vectors from others has to scale them.
        return [[3.0 * float(value) for value in row[: self.dimension]] for row in encoded(texts)]

    def close(self) -> None:
        self.waits.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class Directions(EmbeddingServer):
    """Vectors without a meaning, each text's own: where it is only about whether it has one."""

    def vectors(self, texts: list[str]) -> list[list[float]]:
        return [[float(byte) - 127.5 for byte in hashlib.shake_128(text.encode()).digest(self.dimension)] for text in texts]


@contextmanager
def embedding_server(dimension: int = 256, port: int = 0) -> Iterator[EmbeddingServer]:
    server = EmbeddingServer(dimension, port)
    try:
        yield server
    finally:
        server.close()


def _handler(owner: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            owner.keys.append(self.headers.get("Authorization", ""))
            owner.waits.wait(30)
            status, answer = owner.answer or (200, None)
            if answer is None and self.path == "/v1/embeddings" and body["model"] == MODEL:
                owner.asked += body["input"]
                rows = owner.vectors(body["input"])
                rows = rows if owner.lie is None else owner.lie(rows)
                # In another order than asked: the index says which is whose.
                answer = {"data": [{"index": at, "embedding": row} for at, row in reversed(list(enumerate(rows)))]}
            elif answer is None:
                status, answer = 404, {"error": {"message": "no such model"}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return None

    return Handler
