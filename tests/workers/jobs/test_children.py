"""The bundled Valkey and the embedded worker: they come after `ready`, survive each other's death, and end with the service."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest
from memory_os_workers.jobs import children as children_module
from memory_os_workers.jobs.children import Child
from memory_os_workers.processes import resident_bytes
from support.service import alive

from workers.running import Home, ended, wait_until


def pipeline(home: Home) -> dict[str, Any]:
    return dict(home.client.get("/v1/status").get("pipeline") or {})


def works(home: Home) -> bool:
    return pipeline(home).get("worked_by") == "workers"


def pids(home: Home) -> dict[str, int]:
    return {name: child["pid"] for name, child in pipeline(home)["children"].items()}


def started(home: Home) -> dict[str, int]:
    """The service, ready, its children at work."""
    home.serve(ready=True)
    wait_until(lambda: works(home))
    return pids(home)


def gone(pid: int) -> bool:
    return not alive(pid)


def test_whoever_is_killed_comes_back_and_is_counted(home: Home) -> None:
    first = started(home)
    for name in ("worker", "valkey"):
        os.kill(first[name], signal.SIGKILL)
        wait_until(lambda name=name: works(home) and pids(home)[name] not in (None, first[name]))
    counters = home.client.get("/v1/status")["counters"]
    assert counters["worker_restarted"]["value"] == counters["valkey_restarted"]["value"] == 1
    assert str(first["worker"]) in counters["worker_restarted"]["last_reason"]
    assert pipeline(home)["findings"] == []
    last = pids(home)
    home.processes[0].send_signal(signal.SIGTERM)
    assert ended(home.processes[0])[0] == 0
    assert gone(last["worker"]) and gone(last["valkey"])


def test_what_a_killed_service_leaves_ends_by_itself(home: Home) -> None:
    children = started(home)
    home.processes[0].kill()
    wait_until(lambda: gone(children["worker"]) and gone(children["valkey"]))


def keepers(server: int) -> list[int]:
    """The shells that end the queue's server with its service."""
    group = os.getpgid(server)
    found = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    return [pid for pid in found if alive(pid) and pid != server and _group(pid) == group]


def _group(pid: int) -> int | None:
    """None once it is gone, as any process of this machine may be meanwhile."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_the_queue_server_ends_though_service_and_worker_were_killed_together(home: Home) -> None:
    children = started(home)
    assert sum(resident_bytes(pid) for pid in keepers(children["valkey"])) < 8 * 2**20
    os.kill(children["worker"], signal.SIGSTOP)  # it can't take the server with it
    home.processes[0].kill()
    os.kill(children["worker"], signal.SIGKILL)
    wait_until(lambda: gone(children["valkey"]))
    home.processes[0].wait()


def test_a_queue_server_that_outlived_them_all_is_ended_by_the_next_start(home: Home) -> None:
    children = started(home)
    others = [children["worker"], *keepers(children["valkey"])]
    assert len(others) == 3
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    home.processes[0].kill()
    home.processes[0].wait()
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    assert alive(children["valkey"])
    try:
        fresh = started(home)
        assert gone(children["valkey"])
        assert fresh["valkey"] != children["valkey"]
    finally:
        if alive(children["valkey"]):  # nobody else is left to end it
            os.kill(children["valkey"], signal.SIGKILL)


def test_nothing_of_the_queue_is_for_others_to_read(home: Home) -> None:
    children = started(home)
    run = home.settings.run_dir
    for name in ("queue.password", "queue.conf", "queue.sock", "queue"):
        assert stat.S_IMODE((run / name).stat().st_mode) & 0o077 == 0, name
    password = (run / "queue.password").read_text("ascii").strip()
    for pid in children.values():
        assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert password.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_the_worker_steps_back_for_what_a_person_does_in_its_session_and_among_sessions(home: Home) -> None:
    worker = Path(f"/proc/{started(home)['worker']}")
    assert worker.joinpath("stat").read_text("ascii").rpartition(")")[2].split()[16] == "19"
    autogroup = worker / "autogroup"
    if autogroup.exists():  # not of every kernel
        assert autogroup.read_text("ascii").split()[-1] == "10"


def test_without_a_worker_of_its_own_there_is_no_queue_and_everything_works(home: Home) -> None:
    home.configure("workers: {embedded: false}\n")
    home.serve(ready=True)
    wait_until(lambda: pipeline(home) != {})
    told = pipeline(home)
    assert (told["mode"], told["worked_by"], told["children"], told["findings"]) == ("off", "service", {}, [])
    assert "Queue: none" in home.command("status").stdout


def test_a_socket_path_that_is_too_long_is_said_and_the_service_works_alone(home: Home) -> None:
    folder = home.hermes_home.parent
    short = folder / ("s" * (100 - len(str(folder)) - 6) + ".sock")
    home.configure(f"service: {{socket: '{short}'}}\n")
    home.serve(ready=True)
    wait_until(lambda: pipeline(home) != {})
    (finding,) = pipeline(home)["findings"]
    assert "longer than the system allows" in finding and "service.socket" in finding
    assert home.client.get("/v1/status")["counters"]["queue_unavailable"]["value"] == 1


def test_a_child_that_cannot_stay_up_says_how_it_ends_and_where_to_look() -> None:
    async def told() -> list[str]:
        deaths: list[int] = []

        async def spawn() -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec("sh", "-c", "exit 7")

        async def died(name: str, pid: int, code: int) -> None:
            deaths.append(code)

        child = Child("worker", spawn, died)
        found = [child.finding]
        task = asyncio.create_task(child.supervise())
        async with asyncio.timeout(60):
            while not child.finding:
                await asyncio.sleep(0.05)
        task.cancel()
        assert deaths == [7, 7, 7]
        return [*found, child.finding]

    before, after = asyncio.run(told())
    assert before == "" and "code 7, 3 times" in after and "logs/worker.log" in after


def test_a_child_that_stays_up_again_is_no_finding_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children_module, "retry_delay", lambda failures: 0.0)

    async def told() -> list[str]:
        starts: list[int] = []

        async def spawn() -> asyncio.subprocess.Process:
            starts.append(len(starts))
            return await asyncio.create_subprocess_exec("sh", "-c", "exit 7" if len(starts) < 4 else "exec sleep 600")

        async def died(name: str, pid: int, code: int) -> None:
            return

        child = Child("worker", spawn, died)
        task = asyncio.create_task(child.supervise())
        async with asyncio.timeout(60):
            while len(starts) < 4 or not child.running.is_set():
                await asyncio.sleep(0.01)
        found = [child.finding]
        monkeypatch.setattr(children_module, "STEADY_S", 0.0)  # as if it had been up so long
        found.append(child.finding)
        task.cancel()
        assert child.process is not None
        child.process.kill()
        await child.process.wait()
        return found

    before, after = asyncio.run(told())
    assert "3 times in a row" in before and after == ""
