"""A raw file becomes a page by way of the queue: the worker asks the model, the service counts its units and indexes the page."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.model_server import Fail, ModelServer, Say
from support.redis_server import RedisServer

from workers.conftest import new_home
from workers.jobs.process import Site
from workers.jobs.test_worker import enqueue, waiting
from workers.running import wait_until

_PAGE = {
    "title": "Очередь Redis",
    "type": "entity",
    "summary": "A queue of jobs.",
    "tags": ["software"],
    "aliases": [],
    "confidence": 0.8,
    "statements": [{"section": "", "text": "Redis listens on port 6380."}],
    "links": [],
}


@pytest.fixture(scope="module")
def here(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, ModelServer]]:
    """A wiki, a scripted model, the service and a worker, for both tests."""
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    redis.start()
    with ModelServer() as server:
        for home in new_home(models):
            one = Site(home, redis)
            url = server.endpoint("curation").base_url
            one.configure(
                f"models: {{provider: openai, base_url: '{url}', model: scripted-model, retry_budget: 1,"
                " patience: {curation: {whole: 60, first: 60, between: 60, deadline: 60}}}\n"
            )
            assert home.command("wiki", "init").returncode == 0
            home.serve(ready=True)
            one.worker()
            one.wait_for_workers(1)
            try:
                yield one, server
            finally:
                one.end()
                redis.kill()


def rows(here: Site, sql: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{here.home.settings.database}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def test_a_raw_file_becomes_a_page_that_is_indexed_and_its_units_are_counted(here: tuple[Site, ModelServer]) -> None:
    site, server = here
    server.endpoint("curation").script("the queue", Say(json.dumps({"pages": [_PAGE]}, ensure_ascii=False)))
    (site.raw / "notes.md").write_text("All about the queue, in a file that was dropped.\n", "utf-8")
    indexed = "SELECT source FROM passages WHERE layer = 'wiki' AND indexed = 1 AND source LIKE 'document:wiki/entities/%'"
    wait_until(lambda: bool(rows(site, indexed)))
    assert rows(site, "SELECT job, units > 0 FROM model_calls WHERE outcome = 'ok'")[0] == ("curation", 1)
    assert site.pipeline()["dead_letters"] == 0
    assert site.home.client.post("/v1/workers/spent", {"job": "curation", "since": 0})["units"] > 0


def test_a_key_that_is_refused_leaves_one_dead_letter_and_the_file_waiting(here: tuple[Site, ModelServer]) -> None:
    site, server = here
    server.endpoint("curation").script("refused", *[Fail(401) for _ in range(8)])
    (site.raw / "refused.md").write_text("This one is refused.\n", "utf-8")
    wait_until(lambda: site.pipeline()["dead_letters"] == 1)
    (letter,) = site.home.client.get("/v1/dlq")["dead_letters"]
    assert (letter["function"], letter["payload"][0], letter["error"]) == ("curate", "refused.md", "ModelAuth")
    job = enqueue(site, [("index_fabric", ["1"])])
    wait_until(lambda: not waiting(site, job))
    assert site.pipeline()["dead_letters"] == 1
