"""An endpoint that takes fewer, or shorter, texts at once than it is sent; and what it never gets to see."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_os.config import load_settings
from memory_os.embedding.endpoint import EndpointEncoder
from memory_os.errors import EmbeddingError

MOST_TEXTS, MOST_CHARACTERS = 8, 300


class Narrow:
    """Refuses as DashScope does (too many texts), as llama.cpp does (too long a one: status 500), and, with `strict`, all."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.requests = 0
        self.strict = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def answer(self, texts: list[str]) -> tuple[int, Any]:
        self.requests += 1
        if self.strict or len(texts) > MOST_TEXTS:
            return 400, {"error": {"message": f"batch size is invalid, it should not be larger than {MOST_TEXTS}"}}
        longest = max(map(len, texts))
        if longest > MOST_CHARACTERS:
            told = f"input ({longest} tokens) is too large to process. increase the physical batch size (current batch size: 300)"
            return 500, {"error": {"code": 500, "message": told, "type": "server_error"}}
        self.taken += texts
        # A text's vector says how long what was embedded is, and which text it is.
        rows = [[float(len(text)), float(sum(map(ord, text[:20])) % 97 + 1), 1.0] for text in texts]
        return 200, {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _handler(owner: Narrow) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, answer = owner.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"])
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return None

    return Handler


@pytest.fixture
def narrow() -> Iterator[Narrow]:
    server = Narrow()
    yield server
    server.close()


@pytest.fixture
def encoder(narrow: Narrow, tmp_path: Path) -> EndpointEncoder:
    (tmp_path / "memory-os").mkdir()
    (tmp_path / "memory-os" / "config.yaml").write_text(f"embedding: {{engine: endpoint, model: acme, base_url: '{narrow.url}'}}\n")
    return EndpointEncoder(load_settings({}, hermes_home=tmp_path))


def test_texts_go_in_halves_where_so_many_are_refused_and_come_back_in_order(encoder: EndpointEncoder, narrow: Narrow) -> None:
    texts = [f"{number} ".ljust(20 + number, "x") for number in range(40)]
    vectors = encoder.embed_passages(texts)
    assert [text for text in narrow.taken if text in texts] == texts
    lengths = vectors[:, 0] / vectors[:, 2]
    assert np.allclose(lengths, [len(text) for text in texts], rtol=1e-4)
    assert narrow.requests < 25


def test_of_a_text_that_is_too_long_its_beginning_is_embedded_and_the_others_whole(
    encoder: EndpointEncoder, narrow: Narrow
) -> None:
    texts = ["short", "y" * 1000, "also short"]
    assert encoder.embed_passages(texts).shape == (3, 3)
    cut = [text for text in narrow.taken if text.startswith("yy")]
    assert len(cut) == 1 and 200 <= len(cut[0]) <= MOST_CHARACTERS and {"short", "also short"} <= set(narrow.taken)
    assert encoder.embed_query("z" * 700).shape == (3,)


def test_what_is_refused_one_by_one_as_well_is_one_typed_error(encoder: EndpointEncoder, narrow: Narrow) -> None:
    narrow.strict = True
    with pytest.raises(EmbeddingError, match="acme can't embed"):
        encoder.embed_passages(["one", "two", "three", "four"])


def test_no_secret_of_a_question_or_a_text_is_sent(encoder: EndpointEncoder, narrow: Narrow) -> None:
    encoder.embed_query("Does my password hunter2-Correct9 still work? The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789.")
    encoder.embed_passages(["AWS key AKIAIOSFODNN7EXAMPLE of the bucket"])
    sent = " ".join(narrow.taken)
    assert "ghp_abc" not in sent and "AKIAIOSF" not in sent and sent.count("[redacted]") >= 2
