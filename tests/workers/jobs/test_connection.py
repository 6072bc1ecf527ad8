"""A worker's way to a service on another machine: a URL and a token; and what it delivers is checked."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_os.config import load_settings
from memory_os.errors import BadRequest, ConfigError, MemoryOSError, ServiceUnavailable, WorkerUnfit
from memory_os_workers.jobs.connection import WorkClient, service_token, vectors_of
from support.ports import free_port

from workers.conftest import new_home
from workers.running import Home


@pytest.fixture(scope="module")
def over_tcp(models: Path) -> Iterator[tuple[Home, str]]:
    port = free_port()
    for home in new_home(models):
        home.configure(f"service: {{port: {port}}}\nworkers: {{embedded: false}}\n")
        home.serve(ready=True)
        yield home, f"http://127.0.0.1:{port}"


def test_the_token_opens_the_service_and_nothing_else_does(over_tcp: tuple[Home, str]) -> None:
    home, url = over_tcp
    token = service_token(home.settings, {})
    assert service_token(home.settings, {"MEMORY_OS_SERVICE_TOKEN": "given"}) == "given"
    assert WorkClient(home.settings, url, token).hello("w")["home_id"]
    with pytest.raises(MemoryOSError, match="token"):
        WorkClient(home.settings, url, "wrong").hello("w")


def test_what_is_delivered_must_fit_this_memory(over_tcp: tuple[Home, str]) -> None:
    home, url = over_tcp
    client = WorkClient(home.settings, url, service_token(home.settings, {}))
    fingerprint = str(client.hello("w")["fingerprint"])
    vector = np.ones(384, np.float32)
    with pytest.raises(WorkerUnfit, match="another model"):
        client.embeddings("another model/1", {"h": vector})
    with pytest.raises(BadRequest, match="can't be read"):
        client.embeddings(fingerprint, {"h": vector[:5]})
    # Nobody's text: nothing is kept, and nothing fails.
    client.embeddings(fingerprint, {"h": vector})
    assert client.texts(["h"]) == {}
    with pytest.raises(BadRequest, match="prepared document"):
        client.post("document", {"name": "a.md", "document": {"name": "a.md"}})
    with pytest.raises(WorkerUnfit, match="the worker 0"):
        client.post("hello", {"worker": "w", "version": "0.0.0"})


def test_a_service_that_is_not_there_or_no_url_is_said(tmp_path: Path) -> None:
    settings = load_settings({"HERMES_HOME": str(tmp_path)})
    with pytest.raises(ServiceUnavailable, match="can't be reached"):
        WorkClient(settings, "http://127.0.0.1:1").hello("w")
    with pytest.raises(ConfigError, match="--service"):
        WorkClient(settings, "queue.example")


def test_a_vector_survives_its_journey_to_the_bit() -> None:
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    encoded = {"h": base64.b64encode(vector.tobytes()).decode()}
    assert np.array_equal(vectors_of(encoded, 384)["h"], vector)
    with pytest.raises(ValueError, match="dimension"):
        vectors_of({"h": base64.b64encode(np.full(384, np.nan, "<f4").tobytes()).decode()}, 384)


def test_a_token_never_goes_over_a_network_in_the_clear(tmp_path: Path) -> None:
    settings = load_settings({"HERMES_HOME": str(tmp_path)})
    for url in ("http://memory.example:8765", "http://192.0.2.1", "http://127.0.0.1.example"):
        with pytest.raises(ConfigError, match="in the clear"):
            WorkClient(settings, url)
    for url in ("http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1", "https://memory.example"):
        assert WorkClient(settings, url).shown == url
