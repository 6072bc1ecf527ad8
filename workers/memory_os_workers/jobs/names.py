"""Names in Redis, job ids, time-outs: everything two processes must agree on.

Every key carries the home's id, so that any number of homes share one Redis.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

# A job's result is not kept: whether work is needed is asked of memory, and an id that lingers would hold up a second run.
KEEP_RESULT_S = 0
# ARQ looks for jobs this often; its default of 0.5 s would let a worker idle between short jobs.
POLL_DELAY_S = 0.05
# With nothing to do for a while, the machine may sleep longer between two looks.
IDLE_POLL_S = 0.5
IDLE_AFTER_S = 10.0
# A worker's sign of life, and how long one that is late is still taken for alive: at nice 19 beside a busy machine a
# beat comes seconds late.
HEALTH_EVERY_S = 3.0
ALIVE_S = 15.0
# A Redis that gives a worker no answer for so long is away: by then its sign of life is gone and its jobs are others'.
ANSWER_S = ALIVE_S
# On SIGTERM a worker finishes what it is at, for so long; then it is cancelled and put back.
COMPLETION_WAIT_S = 20

# Longest run of a job, by function. Whatever dies is put back within ALIVE_S, long before these. They are long because a
# worker gets what others leave: beside a machine that is busy for an hour, or on a small one, 32 texts that wait for three
# other jobs' texts take minutes, and that is no fault.
TIMEOUTS_S = {
    "embed": 1800, "ingest": 900, "curate": 900, "understand": 3600, "think": 3600, "reflect": 3600, "maintain": 1800, "index_fabric": 300,
    "noop": 10, "wait": 60,
}  # fmt: skip

# They wait for a language model, which may take minutes over each, or hang: a worker keeps one place free of them.
ASK_MODELS = frozenset({"curate", "understand", "think", "reflect"})

# Hashes of one `embed` job: one call of the encoder, a second or two on two cores.
EMBED_JOB_MAX = 32


def queue_name(home_id: str) -> str:
    """The sorted set of waiting and running jobs."""
    return f"{prefix(home_id)}queue"


def prefix(home_id: str) -> str:
    return f"memory-os:{home_id}:"


def held_key(home_id: str) -> str:
    """Hash: job id -> the worker that runs it. What a dead worker holds is put back at once."""
    return f"{prefix(home_id)}held"


def crashes_key(home_id: str) -> str:
    """Hash: job id -> how many workers died while at it."""
    return f"{prefix(home_id)}crashes"


def workers_key(home_id: str) -> str:
    """Set of worker ids that ever beat; a dead one is taken out when it is noticed."""
    return f"{prefix(home_id)}workers"


def health_key(home_id: str, worker_id: str) -> str:
    """ARQ's health key, one for each worker."""
    return f"{prefix(home_id)}health:{worker_id}"


def here_key(host: str, home: str) -> str:
    """Set of the health keys of one machine's (or container's) workers for the home at this path: for `worker --check`.

    By path and not by id, for whoever checks may not reach the service that knows the id.
    """
    return f"memory-os:here:{host}:{hashlib.sha256(home.encode()).hexdigest()[:16]}"


def worker_id(host: str, pid: int) -> str:
    return f"{host}:{pid}"


def job_id(home_id: str, function: str, arguments: list[Any]) -> str:
    """Deterministic: the same work has one id, however often it is asked for."""
    digest = hashlib.sha256(json.dumps(arguments, ensure_ascii=True, sort_keys=True).encode()).hexdigest()[:32]
    return f"{prefix(home_id)}{function}:{digest}"


def function_of(home_id: str, job: str) -> str:
    """The function that a job id names; for ARQ's cron, the name of the entry."""
    return job.removeprefix(prefix(home_id)).partition(":")[0]


def places(concurrency: int) -> int:
    """How many jobs a worker has in hand at most: one more than a concurrency of 1, for a model's must not be all."""
    return max(2, concurrency)


def encode(value: Any) -> bytes:
    """ARQ's serialiser: JSON, never pickle. An exception becomes its text."""
    return json.dumps(value, ensure_ascii=True, default=str).encode()


def decode(data: bytes) -> Any:
    """ARQ's deserialiser."""
    return json.loads(data)
