"""An embedding endpoint that is not up yet when the service starts for the first time: words at once, meaning as soon as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.embedding_server import MODEL, Directions
from support.redis_server import free_port

from workers.conftest import new_home
from workers.running import Home, wait_until


@pytest.fixture
def early(tmp_path: Path) -> Iterator[tuple[Home, int]]:
    """A service whose endpoint nobody listens at; the port where it is looked for."""
    port = free_port()
    for home in new_home(tmp_path):
        home.configure(
            f"embedding: {{engine: endpoint, model: {MODEL}, base_url: 'http://127.0.0.1:{port}/v1'}}\n"
            "workers: {embedded: false}\n"
        )
        home.serve()
        yield home, port


@pytest.mark.timeout(600)
def test_an_endpoint_that_comes_later_is_found_without_a_restart(early: tuple[Home, int]) -> None:
    home, port = early

    def service() -> dict[str, object]:
        return dict(home.client.get("/v1/status")["service"])

    wait_until(lambda: bool(service()["model_error"]))
    told = {"arguments": {"action": "add", "content": "The relay hums on pier 9."}, "caller": {}}
    assert "error" not in home.client.post("/v1/tools/fact_store", told)
    asked = {"v": 1, "turn_id": "t", "session_id": "s", "user": "local", "platform": "cli", "profile": "default",
             "user_message": "Where does the relay hum?"}  # fmt: skip
    assert "pier 9" in home.client.post("/v1/recall", asked)["context"]
    wait_until(lambda: service()["model_attempts"] != 1)
    assert service()["model_again_at"]
    shown = home.command("status").stdout
    assert "words only" in shown and MODEL in shown and "the next one comes by itself" in shown
    assert MODEL in home.command("doctor").stdout
    assert home.client.get("/v1/status")["counters"]["models_not_loaded"]["value"] >= 1
    with closing(Directions(64, port)):
        wait_until(lambda: bool((home.client.health() or {}).get("ready")), 120)
        wait_until(lambda: home.client.get("/v1/status")["pending_embeddings"] == 0)
        status = home.client.get("/v1/status")
        assert status["service"]["model_error"] == "" and status["service"]["model_again_at"] is None
        assert status["layers"]["5 vectors"]["figures"]["points"] == 1
        found = home.client.post("/v1/recall", {**asked, "turn_id": "u", "dry_run": True})
        assert found["arms"]["dense"]["state"] == "ok"
