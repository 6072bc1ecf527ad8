"""`memory-os worker --check`: whether a worker of this machine lives, by its sign of life in the queue alone."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from support.redis_server import RedisServer

from workers.jobs.process import Site, site
from workers.running import Home, wait_until


@pytest.fixture
def here(home: Home, redis: RedisServer) -> Iterator[Site]:
    with site(home, redis) as one:
        yield one


def check(home: Home) -> tuple[int, dict[str, Any]]:
    done = home.command("worker", "--check", "--json")
    return done.returncode, json.loads(done.stdout)


def forget_signs(redis: RedisServer) -> None:
    """What ALIVE_S without a beat do."""
    client = redis.client()
    client.delete(*client.keys("memory-os:*:health:*"))  # type: ignore[misc]
    client.close()


def test_a_living_worker_is_told_from_one_that_ended_hangs_or_was_never_there(here: Site) -> None:
    code, told = check(here.home)
    assert (code, told["alive"], told["workers"]) == (1, False, []) and "sign of life" in told["reason"]
    worker = here.worker()
    here.wait_for_workers(1)
    wait_until(lambda: check(here.home)[0] == 0)  # a beat may come late
    code, told = check(here.home)
    assert (code, told["alive"], told["reason"]) == (0, True, "") and "j_complete" in told["workers"][0]
    said = here.home.command("worker", "--check").stdout
    assert said.startswith("alive: at ") and said.endswith(" waiting\n") and said.count("\n") == 1, said
    here.home.processes[0].kill()
    here.home.processes[0].wait()
    wait_until(lambda: check(here.home)[0] == 0)  # a worker whose service is away lives
    worker.send_signal(signal.SIGSTOP)
    forget_signs(here.redis)
    assert check(here.home)[0] == 1, "one that hangs gives no sign"
    worker.send_signal(signal.SIGCONT)
    worker.kill()
    worker.wait()
    here.redis.kill()
    code, told = check(here.home)
    assert code == 1 and "can't be reached" in told["reason"]
    assert here.redis.password not in told["reason"]


def test_without_a_service_the_bundled_queue_has_no_worker(home: Home) -> None:
    code, told = check(home)
    assert code == 1 and "can't be reached" in told["reason"]
    said = home.command("worker", "--check").stdout
    assert said.startswith("not alive: The queue at unix://") and said.count("\n") == 1
    assert said.count("queue.sock") == 1, "the address once"


def test_a_url_that_is_none_is_the_reason(home: Home) -> None:
    home.configure("servers: {redis_url: 'http://127.0.0.1'}\n")
    code, told = check(home)
    assert code == 1 and "redis_url" in told["reason"]
