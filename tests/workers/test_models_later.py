"""An embedding endpoint that is not up yet when the service first starts, or has no vector for a text: words, and the fault is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.embedding_server import MODEL, Directions
from support.ports import free_port

from workers.conftest import new_home
from workers.running import Home, wait_until


class Riddled(Directions):
    """Has no direction for a riddle."""

    def vectors(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] * len(row) if "riddle" in text else row for text, row in zip(texts, super().vectors(texts), strict=True)]


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
        again = {**asked, "dry_run": True}
        # On a machine that is busy a recall may be over before it has looked.
        wait_until(lambda: home.client.post("/v1/recall", again)["arms"]["dense"]["state"] == "ok")


@pytest.mark.timeout(600)
def test_a_reindex_leaves_out_what_the_model_fails_on_and_says_so(early: tuple[Home, int]) -> None:
    home, port = early
    with closing(Riddled(64, port)):
        wait_until(lambda: bool((home.client.health() or {}).get("ready")), 120)
        for text in ("The relay hums on pier 9.", "It is a riddle to the harbour master.", "The crane is yellow."):
            assert "error" not in home.client.post("/v1/tools/fact_store", {"arguments": {"action": "add", "content": text}, "caller": {}})
        done = home.command("reindex", "--json")
        assert done.returncode == 1, done.stderr
        found = json.loads(done.stdout)
        ((handle, reason),) = found["left_out"].items()
        assert found["points"] == 2 and "vectors that are none" in reason
        shown = home.command("reindex")
        assert shown.returncode == 1 and handle in shown.stdout and "failed on 1 passage;" in shown.stdout, shown.stdout
        for command in ("status", "doctor"):
            told = home.command(command)
            assert told.returncode == 1 and "vectors that are none" in told.stdout, told.stdout
