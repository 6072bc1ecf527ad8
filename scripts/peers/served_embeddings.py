"""An OpenAI-compatible embeddings endpoint over an encoder, on loopback, for peers that want one."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memory_os_workers.eval.kept import KeptEncoder


@contextmanager
def served(encoder: KeptEncoder) -> Iterator[str]:
    """Its address while it runs. Models `e5` and `e5-query` are the same one, for passages and for questions."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(encoder))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _row(vector: Any, as_text: bool) -> Any:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode() if as_text else vector.tolist()


def _handler(encoder: KeptEncoder) -> type[BaseHTTPRequestHandler]:
    one = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            with one:
                # The model tells questions from passages: `model` says which is asked for, as the peer was told to.
                vectors = encoder.embed_queries(texts) if asked["model"].endswith("-query") else encoder.embed_passages(texts)
            as_text = asked.get("encoding_format") == "base64"
            data = [{"object": "embedding", "index": at, "embedding": _row(row, as_text)} for at, row in enumerate(vectors)]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            body = json.dumps({"object": "list", "data": data, "model": asked["model"], "usage": usage})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            return None

    return Handler
