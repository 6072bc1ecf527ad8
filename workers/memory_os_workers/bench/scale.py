"""How a memory's cost grows with it: the embedded default with 10,000, 100,000 … generated memories, side by side.

For each size a scratch home, the real service in it, and recalls through the plugin's hooks. Texts are all different and
fully indexed; vectors are put together and moved about from texts that the model encoded (`bench.memories`), for encoding
100,000 texts would take more than an hour and change nothing about the time of a search. Questions are encoded by the
model as in any turn.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memory_os.config import Settings

from memory_os_workers.bench.memories import generate
from memory_os_workers.bench.scratch import (
    READY_TIMEOUT_S,
    elapsed_ms,
    fill_home,
    p95,
    registered_plugin,
    running_service,
    scratch_home,
)
from memory_os_workers.client import ServiceClient

Say = Callable[[str], None]

_TURNS = 200
_WARM_TURNS = 20


@dataclass(frozen=True, slots=True)
class Scale:
    """One size: recall in the hook in ms, MB on disk and in memory, seconds to start, the machine's load meanwhile.

    `turn_cpu_ms`: what the service's process computed for a turn, which a busy machine does not change. `anonymous_mb`:
    what of the resident memory is the process's own; the rest is files that the system may drop.
    """

    memories: int
    recall_p50_ms: float
    recall_p95_ms: float
    turn_cpu_ms: float
    with_block_percent: float
    dense_p50_ms: float
    lexical_p50_ms: float
    database_mb: float
    vectors_mb: float
    resident_mb: float
    anonymous_mb: float
    answers_s: float
    ready_s: float
    filled_s: float
    load: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run_scale_bench(models: Path, sizes: Sequence[int], say: Say) -> Iterator[Scale]:
    """One row a size, as it comes. `models` is a folder of prepared models to copy, if it is there."""
    for memories in sizes:
        with scratch_home(models) as settings:
            yield _measured(settings, memories, say)


def _measured(settings: Settings, memories: int, say: Say) -> Scale:
    data = generate(memories)
    say(f"filling a scratch home with {memories:,} memories")
    started = time.perf_counter()
    fill_home(settings, data.texts)
    filled = time.perf_counter() - started
    say("starting the service")
    with running_service(settings) as (client, cold):
        say("measuring turns through the plugin's hooks")
        pid = int(client.get("/v1/health")["pid"])
        before = _cpu_s(pid)
        times, given, arms = _turns(settings, client, data.questions)
        cpu_ms = 1e3 * (_cpu_s(pid) - before) / (_TURNS + _WARM_TURNS)
        resident, anonymous = _memory_mb(pid)
        return Scale(
            memories, statistics.median(times), p95(times), cpu_ms, 100 * given / len(times),
            statistics.median(arms["dense"]), statistics.median(arms["lexical"]),
            _mb(settings.home.glob("memory.db*")), _mb(settings.vectors_dir.rglob("*")), resident, anonymous,
            cold[0].value, cold[1].value, filled, os.getloadavg()[0],
        )  # fmt: skip


def _turns(
    settings: Settings, client: ServiceClient, questions: list[str]
) -> tuple[list[float], int, dict[str, list[float]]]:
    """Times of the turns in ms, how many had a block, and the time of each arm by name."""
    times: list[float] = []
    given = 0
    arms: dict[str, list[float]] = {"dense": [], "lexical": []}
    with registered_plugin(settings) as plugin:
        for turn in range(-_WARM_TURNS, _TURNS):
            question, answer = questions[turn % len(questions)], []
            took = elapsed_ms(lambda: answer.append(plugin.ask(question, turn + _WARM_TURNS)))  # noqa: B023
            if turn < 0:
                continue
            times.append(took)
            given += bool((answer[0] or {}).get("context"))
            for name, arm in client.get("/v1/explain?turn=last")["arms"].items():
                arms[name].append(float(arm["milliseconds"]))
        plugin.courier.wait_empty(READY_TIMEOUT_S)
    return times, given, arms


def _cpu_s(pid: int) -> float:
    """Seconds that a process has computed so far, in all its threads; 0 where the system does not say."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text("ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int) -> tuple[float, float]:
    """Resident memory of a process and what of it is its own, in MB; 0 where the system does not say."""
    status = Path(f"/proc/{pid}/status")
    fields = dict(line.split(":", 1) for line in status.read_text("ascii").splitlines()) if status.exists() else {}
    return tuple(int(fields.get(name, "0 kB").split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))  # type: ignore[return-value]


def _mb(paths: Iterator[Path]) -> float:
    """What files take on disk; those of the engine are sparse, and look larger."""
    return sum(path.stat().st_blocks * 512 for path in paths if path.is_file()) / 1e6
