"""The long form of these tests, as a command: so many kills, so many turns, so many minutes. `scripts/endure --help`."""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from support.library import model_files

from endurance.days import SmallDisk, days, fill_up, jump
from endurance.fork_server import ForkServer, write_clock
from endurance.gate import FAULTS
from endurance.held import Held, faults_of, summary
from endurance.ordeal import Ordeal
from endurance.servers import servers, suffer

# One audit for so many kills; a glance after each.
_AUDITED_EVERY = 5
# Turns between two looks at what the process holds; eight hours pass between two.
_BATCH = 100


def kills(folder: Path, forks: ForkServer, count: int, until: float, seed: int) -> dict[str, Any]:
    """Kill -9, kind after kind, until the count or the time is reached."""
    ordeal = Ordeal(folder / "hermes", model_files(), forks, seed)
    try:
        kinds = list(ordeal.kinds())
        done = 0
        while done < count and time.monotonic() < until:
            ordeal.strike(kinds[done % len(kinds)])
            ordeal.glance()
            done += 1
            if done % _AUDITED_EVERY == 0:
                ordeal.audit()
                _say(f"{done} kills")
        ordeal.audit()
        status = ordeal.client.get("/v1/status")
        return {
            "kills": dict(ordeal.kills), "turns": _count(status, "2 sessions"), "documents": len(ordeal.truth.documents),
            "passages": status["passages"], "restart_s_median": round(statistics.median(ordeal.restarts_s), 2),
            "restart_s_max": round(max(ordeal.restarts_s), 2), "counters": status["counters"],
        }  # fmt: skip
    finally:
        ordeal.close()


def faults(folder: Path, forks: ForkServer, until: float, seed: int) -> dict[str, Any]:
    """Round after round every server has another fault, and each is really met."""
    with servers(folder) as all_of_them:
        ordeal = Ordeal(
            folder / "hermes", model_files(), forks, seed, config=all_of_them.config, points=all_of_them.points
        )
        try:
            rounds = 0
            while rounds < 2 * len(FAULTS) or time.monotonic() < until:
                suffer(ordeal, all_of_them, rounds, turns=10, met_by=tuple(all_of_them.gates))
                ordeal.glance()
                rounds += 1
                if rounds % len(FAULTS) == 0:
                    ordeal.audit()
                    _say(f"{rounds} rounds of faults")
            met = {name: dict(gate.met) for name, gate in all_of_them.gates.items()}
            return {"rounds": rounds, "connections": met, "counters": ordeal.client.get("/v1/status")["counters"]}
        finally:
            ordeal.close()


def long_use(folder: Path, forks: ForkServer, turns: int, seed: int) -> dict[str, Any]:
    """Thousands of turns over simulated weeks, then a clock that is set, then a full disk."""
    clock = folder / "clock"
    write_clock(clock, 0.0)
    with SmallDisk(folder / "hermes" / "memory-os", 2048) if SmallDisk.possible() else nullcontext() as disk:
        ordeal = Ordeal(folder / "hermes", model_files(), forks, seed, clock=clock)
        try:
            batches = max(8, turns // _BATCH)
            held = days(ordeal, clock, batches=batches, turns=turns // batches, hours=8, tell=_say_held)
            _say(f"{turns} turns: {summary(held)['slope_per_1000_turns']} for 1,000")
            piling = faults_of(held)
            assert not piling, "\n".join(piling)
            jump(ordeal, clock, turns=50)
            ordeal.audit()
            if disk is not None:
                fill_up(ordeal, disk, turns=50)
                ordeal.audit()
            return {**summary(held), "simulated_days": batches / 3, "counters": ordeal.client.get("/v1/status")["counters"]}
        finally:
            ordeal.close()


def _count(status: dict[str, Any], layer: str) -> str:
    return str(status["layers"][layer].get("detail", ""))


PARTS: dict[str, Callable[[Path, ForkServer, argparse.Namespace, float], dict[str, Any]]] = {
    "kills": lambda folder, forks, given, until: kills(folder, forks, given.kills, until, given.seed),
    "faults": lambda folder, forks, given, until: faults(folder, forks, until, given.seed),
    "use": lambda folder, forks, given, until: long_use(folder, forks, given.turns, given.seed),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/endure", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"some of {', '.join(PARTS)}; default: all")
    parser.add_argument("--kills", type=int, default=1000, help="how many kill -9")
    parser.add_argument("--turns", type=int, default=5000, help="how many turns of simulated days")
    parser.add_argument("--minutes", type=float, default=60, help="the most for kills, the least for faults")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of what is done, not of the machine's timing")
    parser.add_argument("--nice", type=int, default=10)
    given = parser.parse_args()
    told: dict[str, Any] = {"seed": given.seed}
    for part in given.parts:
        folder = Path(tempfile.mkdtemp(prefix="mos-"))
        with ForkServer(folder, nice=given.nice) as forks:
            started = time.monotonic()
            told[part] = PARTS[part](folder, forks, given, started + 60 * given.minutes)
            told[part]["minutes"] = round((time.monotonic() - started) / 60, 1)
        # Kept when an audit failed, to look into.
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(told, indent=2, ensure_ascii=False))
    return 0


def _say_held(held: Held) -> None:
    _say(
        f"{held.turns} turns: {held.resident_mb} MB ({held.anon_mb} its own, {held.mapped_mb} mapped), {held.open_files} files open,"
        f" {held.threads} threads, {held.files} files of {held.home_mb} MB"
    )


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
