"""Real worker processes on a real Redis, and everything that can happen to them: nothing is lost, nothing is done twice."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os_workers.jobs.queue import Queue
from support.redis_server import RedisServer

from workers.conftest import new_home
from workers.jobs.process import Site, site
from workers.jobs.test_queue import on
from workers.running import wait_until

# Seven languages: what travels through jobs and routes is text of any script.
_LINES = (
    "The box with the number {n} stands on the shelf.",
    "Die Kiste mit der Nummer {n} steht im Regal über der Tür.",
    "A caixa com o número {n} está na estante do corredor.",
    "Ящик с номером {n} стоит на полке в коридоре.",
    "الصندوق رقم {n} موجود على الرف في الممر.",
    "编号为{n}的箱子放在走廊的架子上。",
    "番号{n}の箱は廊下の棚の上にあります。",
)


@pytest.fixture(scope="module")
def shared(models: Path) -> Iterator[Site]:
    """One service and one Redis for all; each test starts and ends its own workers."""
    folder = Path(tempfile.mkdtemp(prefix="mos-redis-"))
    server = RedisServer(folder)
    server.start()
    try:
        for home in new_home(models):
            with site(home, server) as one:
                yield one
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)  # a saving child may still take a file away


@pytest.fixture
def here(shared: Site) -> Iterator[Site]:
    yield shared
    shared.end()


def write(here: Site, label: str, count: int) -> list[str]:
    """Files of two sections each, one language after the other. Returns their names."""
    for number in range(count):
        line = _LINES[number % len(_LINES)]
        text = f"# {label} {number}\n\n{line.format(n=number)}\n\n## Notes\n\n{line.format(n=number + 5000)}\n"
        partial = here.raw / f".{label}-{number}"
        partial.write_text(text, "utf-8")
        partial.rename(here.raw / f"{label}-{number}.md")
    return [f"wiki/raw/{label}-{number}.md" for number in range(count)]


def standing(here: Site) -> dict[str, Any]:
    status = here.home.client.get("/v1/status")
    return {
        "documents": status["layers"]["5 documents"]["figures"].get("ok", 0),
        "waiting": status["pending_embeddings"],
        "passages": status["passages"],
        "points": status["layers"]["5 vectors"]["figures"].get("points", 0),
        "dead": status["pipeline"]["dead_letters"],
        "queued": status["pipeline"]["depth"] + status["pipeline"]["in_progress"],
    }


def settled(here: Site, documents: int) -> dict[str, Any]:
    """How it stands when that many documents are in and every passage has its vector."""

    def done() -> bool:
        now = standing(here)
        return now["documents"] >= documents and now["waiting"] == 0 and now["queued"] == 0

    wait_until(done)
    return standing(here)


def assert_exactly_once(here: Site, names_of: list[str], before: dict[str, Any]) -> None:
    """Every document is there once, with both its passages, and every passage is one point."""
    after = settled(here, before["documents"] + len(names_of))
    assert after["documents"] == before["documents"] + len(names_of)
    assert after["passages"] == after["points"] == before["passages"] + sum(passages_of(here, names_of).values())
    assert set(passages_of(here, names_of).values()) == {1}
    assert after["dead"] == 0


def passages_of(here: Site, names_of: list[str]) -> dict[str, int]:
    """How many passages memory.db has of each document; each ordinal once."""
    import sqlite3
    from contextlib import closing

    uri = f"file:{here.home.settings.database}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        rows = dict(
            database.execute(
                "SELECT source, count(DISTINCT ordinal) FROM passages WHERE indexed = 1 GROUP BY source"
                " HAVING count(*) = count(DISTINCT ordinal)"
            ).fetchall()
        )
    return {name: rows.get(f"document:{name}", 0) for name in names_of}


def killed_at_random(here: Site, documents: int, kills: int, seed: int) -> None:
    pick = random.Random(seed)
    before = settled(here, 0)
    worker = here.worker()
    here.wait_for_workers(1)
    written = write(here, f"killed{seed}", documents)

    def all_in() -> bool:
        return bool(standing(here)["documents"] >= before["documents"] + len(written))

    done = 0
    while done < kills:
        wait_until(lambda: bool(here.held()) or all_in())
        if all_in():  # the service was quicker than a worker is up again
            wait_until(lambda worker=worker: here.works(worker))
            written += write(here, f"killed{seed}-{done}", documents // 4)
            wait_until(lambda: bool(here.held()) or all_in())
        time.sleep(pick.uniform(0, 0.15))  # not a wait for anything: a random point of its work
        worker.kill()
        worker.wait()
        done += 1
        worker = here.worker()
    assert_exactly_once(here, written, before)


def test_a_worker_killed_at_random_points_loses_no_document_and_doubles_none(here: Site) -> None:
    killed_at_random(here, documents=60, kills=4, seed=1)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [2, 3])
def test_killed_again_and_again_over_hundreds_of_jobs(here: Site, seed: int) -> None:
    killed_at_random(here, documents=250, kills=25, seed=seed)


def test_redis_killed_and_started_again_under_a_worker(here: Site) -> None:
    before = settled(here, 0)
    here.worker()
    here.wait_for_workers(1)
    written = write(here, "restarted", 20)
    at_work(here)
    here.redis.kill()
    here.redis.start()
    assert_exactly_once(here, written, before)


def test_what_was_in_hand_when_redis_went_is_done_soon_after_it_is_back(here: Site) -> None:
    here.worker()
    here.wait_for_workers(1)
    jobs = at_work(here)
    here.redis.kill()
    # Longer than the job takes: its end can be told to nobody.
    wait_until(lambda: bool(here.pipeline()["away_since"]))
    here.redis.start()
    here.wait_for_workers(1)
    # A mark of work in hand would keep the job from everybody for the longest time-out of all: minutes.
    wait_until(lambda: not waiting(here, jobs) and not here.held())


def test_while_redis_is_away_the_service_works_and_says_since_when(here: Site) -> None:
    before = settled(here, 0)
    here.worker()
    here.wait_for_workers(1)
    here.redis.kill()
    wait_until(lambda: bool(here.pipeline()["away_since"]))
    written = write(here, "away", 5)
    told = here.pipeline()
    assert told["worked_by"] == "service" and "can't be reached" in told["fault"]
    wait_until(lambda: standing(here)["documents"] >= before["documents"] + 5)
    here.redis.start()
    here.wait_for_workers(1)  # the same worker: it waited
    assert here.pipeline()["away_since"] is None
    assert_exactly_once(here, written, before)


def test_while_redis_takes_calls_and_does_not_answer_the_service_works(here: Site) -> None:
    before = settled(here, 0)
    here.worker()
    here.wait_for_workers(1)
    assert here.redis.process is not None
    here.redis.process.send_signal(signal.SIGSTOP)
    try:
        written = write(here, "frozen", 5)
        wait_until(lambda: standing(here)["documents"] >= before["documents"] + 5)
        assert "did not answer" in here.pipeline()["fault"]
    finally:
        here.redis.process.send_signal(signal.SIGCONT)
    here.wait_for_workers(1)
    assert_exactly_once(here, written, before)


def test_a_worker_can_be_stopped_while_redis_does_not_answer(here: Site) -> None:
    worker = here.worker()
    wait_until(lambda: here.works(worker))
    assert here.redis.process is not None
    here.redis.process.send_signal(signal.SIGSTOP)
    try:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=90)
    finally:
        here.redis.process.send_signal(signal.SIGCONT)
    assert worker.returncode == 0


def test_while_redis_is_full_the_service_works_and_says_so(here: Site) -> None:
    before = settled(here, 0)
    here.worker()
    here.wait_for_workers(1)
    client = here.redis.client()
    client.config_set("maxmemory", "100kb")
    try:
        wait_until(lambda: "is full" in here.pipeline()["fault"])
        written = write(here, "full", 5)
        wait_until(lambda: standing(here)["documents"] >= before["documents"] + 5)
    finally:
        client.config_set("maxmemory", "0")
        client.close()
    assert_exactly_once(here, written, before)


def test_a_worker_that_is_stopped_finishes_what_it_is_at(here: Site) -> None:
    worker = here.worker("--json")
    jobs = at_work(here)
    worker.send_signal(signal.SIGTERM)
    done = here.burst(worker)
    assert (done["retried"], done["failed"]) == (0, 0)
    # What a worker asks once a minute is a job as well.
    assert done["complete"] - len(jobs) in (0, 1)
    assert not waiting(here, jobs)


def test_two_workers_share_one_queue(here: Site) -> None:
    # So much that the one which is up first is still at it when the other comes.
    jobs = enqueue(here, [("wait", [number, 0.1]) for number in range(150)])
    pair = [here.worker("--burst", "--concurrency", "1", "--json") for _ in range(2)]
    done = [here.burst(one)["complete"] for one in pair]
    # What a worker asks once a minute is a job as well.
    assert 0 <= sum(done) - len(jobs) <= 2 and min(done) > 0
    assert not waiting(here, jobs)


def test_a_fault_that_stays_becomes_a_dead_letter_that_can_be_shown_requeued_and_dropped(here: Site) -> None:
    enqueue(here, [("maintain", ["no such duty", "0"])])
    here.worker()
    wait_until(lambda: here.pipeline()["dead_letters"] == 1)
    (letter,) = here.home.client.get("/v1/dlq")["dead_letters"]
    assert (letter["function"], letter["payload"][0], letter["error"]) == ("maintain", "no such duty", "BadRequest")
    assert any("dlq list" in line for line in here.pipeline()["findings"])
    assert here.home.command("dlq", "list").returncode == 1
    assert "no such duty" in here.home.command("dlq", "show", str(letter["id"])).stdout
    here.wait_for_workers(1)
    assert here.home.command("dlq", "requeue", "--all").returncode == 0
    wait_until(lambda: here.pipeline()["dead_letters"] == 1)  # it failed again
    assert here.home.command("dlq", "drop", "--all").returncode == 0
    assert here.home.command("dlq", "list").returncode == 0


def test_a_worker_that_sees_no_such_file_leaves_it_to_the_service(here: Site) -> None:
    """Another machine may see another disk: the service looks for itself."""
    (here.raw / "late.md").write_text("# Late\n\nIt was not there for the worker.\n", "utf-8")
    answer = here.home.client.post("/v1/workers/document", {"name": "wiki/raw/late.md", "gone": True})
    assert answer["status"] in ("ok", "unchanged")
    assert here.home.client.post("/v1/workers/document", {"name": "wiki/raw/never.md", "gone": True})["status"] == "skipped"


def at_work(here: Site) -> list[str]:
    """Until a worker is at a job: one that lasts a moment, and another one where it was missed. Returns all there were."""
    jobs: list[str] = []

    def seen() -> bool:
        if jobs and jobs[-1] in here.held():
            return True
        if not jobs or not waiting(here, jobs[-1:]):
            jobs.extend(enqueue(here, [("wait", [1000 + len(jobs), 1.0])]))
        return False

    wait_until(seen)
    return jobs


def enqueue(here: Site, jobs: list[tuple[str, list[Any]]]) -> list[str]:
    """Put jobs into the queue of the service's home."""

    async def put(queue: Queue) -> list[str]:
        queue.home_id = here.home_id
        return await queue.enqueue_all(jobs)

    return on(here.redis, put)


def waiting(here: Site, jobs: list[str]) -> set[str]:
    async def ask(queue: Queue) -> set[str]:
        queue.home_id = here.home_id
        return await queue.waiting(jobs)

    return on(here.redis, ask)
