"""Turns become facts by way of the queue, and without one; either way once, and the units count in the service's budgets."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer, Request, Say
from support.redis_server import RedisServer

from workers.conftest import new_home
from workers.jobs.process import Site
from workers.running import Home, wait_until

_STATEMENT = "The harvest robot parks in hall 7."
_ANSWER = {"facts": [{"statement": _STATEMENT, "subject": "harvest robot", "relation": "parking", "turn": "T1", "confidence": 0.9}]}


def config(url: str) -> str:
    patience = "{extraction: {whole: 60, first: 60, between: 60, deadline: 60}}"
    return (
        f"models: {{provider: openai, base_url: '{url}', model: scripted-model, retry_budget: 1, patience: {patience}}}\n"
        "understanding: {idle_minutes: 0}\n"
    )


def said(home: Home) -> None:
    """A turn, as the plugin spools it."""
    record = {"v": 1, "type": "turn", "turn_id": "s1:1", "session_id": "s1", "platform": "cli", "user": "local",
              "profile": "default", "at": time.time() - 60, "user_message": "From today the harvest robot parks in hall 7.",
              "assistant_response": "Understood, hall 7."}  # fmt: skip
    spool = home.settings.spool_dir
    spool.mkdir(parents=True, exist_ok=True)
    (spool / f"{time.time_ns():020}-00000001.json").write_text(json.dumps(record), "utf-8")


def rows(home: Home, sql: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{home.settings.database}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def kept(home: Home) -> bool:
    return bool(rows(home, f"SELECT 1 FROM facts WHERE text = '{_STATEMENT}'"))


def asked(server: ModelServer, name: str) -> list[Request]:
    return server.endpoint(name).requests


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        for name in ("queue", "alone"):
            server.endpoint(name).script("Answer with the JSON object", Say(json.dumps(_ANSWER)))
        yield server


def test_a_worker_reads_turns_and_the_service_keeps_what_lasts(
    models: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    redis = RedisServer(tmp_path)
    redis.start()
    try:
        for home in new_home(models):
            site = Site(home, redis)
            site.configure(config(model_server.endpoint("queue").base_url))
            home.serve(ready=True)
            site.worker()
            site.wait_for_workers(1)
            try:
                said(home)
                wait_until(lambda home=home: kept(home), 90)
                assert rows(home, "SELECT turn_id, outcome FROM understood_turns") == [("s1:1", "read")]
                assert rows(home, "SELECT job, units > 0 FROM model_calls WHERE outcome = 'ok'") == [("extraction", 1)]
                assert len(asked(model_server, "queue")) == 1
                assert site.pipeline()["dead_letters"] == 0
            finally:
                site.end()
    finally:
        redis.kill()


def test_without_a_queue_the_service_reads_them_itself(models: Path, model_server: ModelServer) -> None:
    for home in new_home(models):
        home.configure(f"workers: {{embedded: false}}\n{config(model_server.endpoint('alone').base_url)}")
        home.serve(ready=True)
        said(home)
        wait_until(lambda home=home: kept(home), 90)
        status = home.client.get("/v1/status")["understanding"]
        assert (status["waiting_turns"], status["items"], status["turns"]) == (0, 1, {"read": 1})
        assert len(asked(model_server, "alone")) == 1
