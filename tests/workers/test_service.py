"""The life of the real process: start, second start, every kind of end, everything that can stand in its way."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import re
import signal
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os_workers.service import Service
from support.ports import free_port

from workers.running import Home, ended, raw, wait_until


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _told_to_end(pid: int) -> bool:
    """Whether a SIGTERM waits for a process that is stopped."""
    pending = re.search(r"^ShdPnd:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text("utf-8"), re.MULTILINE)
    return pending is not None and bool(int(pending[1], 16) >> (signal.SIGTERM - 1) & 1)


def _open_to_others(path: Path) -> bool:
    """Not what went meanwhile: a service that has just begun has files for a moment."""
    try:
        return bool(_mode(path) & 0o077)
    except FileNotFoundError:
        return False


def test_a_start_is_private_announced_and_becomes_ready(home: Home) -> None:
    process = home.serve(ready=True)
    run = home.settings.run_dir
    assert _mode(home.settings.home) == _mode(run) == 0o700
    for name in ("service.sock", "service.json", "service.pid", "service.lock"):
        assert _mode(run / name) == 0o600
    announced = json.loads((run / "service.json").read_text("utf-8"))
    assert announced["pid"] == process.pid
    assert announced["socket"] == str(home.settings.socket)
    assert {"version", "started_at", "python"} <= announced.keys()
    assert (run / "service.lock").read_text("ascii").strip() == str(process.pid)


def test_a_second_instance_ends_with_3_and_leaves_the_first_alone(home: Home) -> None:
    first = home.serve()
    before = (home.settings.run_dir / "service.json").read_bytes()
    done = home.command("serve")
    assert done.returncode == 3
    assert str(first.pid) in done.stderr
    assert "Traceback" not in done.stderr
    assert home.health()["pid"] == first.pid
    assert (home.settings.run_dir / "service.json").read_bytes() == before
    assert not (home.settings.run_dir / "last-error.json").exists()


def test_many_starts_at_once_make_one_service(home: Home) -> None:
    processes = [home.spawn() for _ in range(4)]
    wait_until(lambda: sum(process.poll() is None for process in processes) == 1)
    assert sorted(process.poll() or 0 for process in processes) == [0, 3, 3, 3]
    wait_until(lambda: home.client.health() is not None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(home: Home, number: signal.Signals) -> None:
    process = home.serve()
    process.send_signal(number)
    assert ended(process) == (0, "")
    assert not home.settings.socket.exists()
    assert not (home.settings.run_dir / "service.json").exists()
    assert not (home.settings.run_dir / "service.pid").exists()


def test_requests_in_flight_are_finished_before_the_end(home: Home) -> None:
    process = home.serve()
    payload = json.dumps({"v": 1, "turn_id": "t", "session_id": "s", "user": "local", "user_message": "when is it?"})

    def requests() -> int:
        return int(home.client.get("/v1/status")["service"]["requests"])

    accepted, looks = requests(), itertools.count(1)  # a look is a request too

    def ask(_: int) -> int:
        try:
            return raw(home.settings.socket, "POST", "/v1/recall", payload.encode())[0]
        except (FileNotFoundError, ConnectionError, http.client.RemoteDisconnected):
            return 0  # came too late: not accepted, and no part of an answer either

    with ThreadPoolExecutor(60) as pool:
        outcomes = pool.map(ask, range(60))
        wait_until(lambda: requests() - next(looks) > accepted + 10)
        process.send_signal(signal.SIGTERM)
        found = list(outcomes)
    assert set(found) <= {200, 0}
    assert found.count(200) >= 10
    assert ended(process) == (0, "")


def test_kill_9_leaves_nothing_in_the_way(home: Home) -> None:
    process = home.serve()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert home.settings.socket.exists()
    assert home.client.health() is None
    again = home.serve()
    assert home.health()["pid"] == again.pid != process.pid


def test_spooled_records_outlive_the_service(home: Home) -> None:
    home.serve().send_signal(signal.SIGKILL)
    spool = home.settings.spool_dir
    record = {"v": 1, "type": "missed", "at": time.time(), "what": "recall", "reason": "timeout", "milliseconds": 300}
    (spool / f"{time.time_ns():020d}-0a0b0c0d.json").write_text(json.dumps(record), "utf-8")
    (spool / ".half-written.json").write_text("{", "utf-8")
    home.serve()
    wait_until(lambda: not [one for one in spool.glob("*.json") if not one.name.startswith(".")])
    assert (spool / ".half-written.json").exists()


def test_an_over_long_socket_path_names_length_and_cure(home: Home) -> None:
    deep = Home(home.hermes_home / ("d" * 120))
    done = deep.command("serve")
    assert done.returncode == 4
    path = deep.settings.socket
    assert f"{len(os.fsencode(path))} bytes" in done.stderr
    assert "service.socket" in done.stderr
    assert json.loads((deep.settings.run_dir / "last-error.json").read_text("utf-8"))["code"] == "socket_path_too_long"
    assert deep.command("status").returncode == 3
    deep.configure(f"service:\n  socket: {home.hermes_home.parent}/short.sock\n")
    assert deep.serve().poll() is None
    deep.close()


def test_a_file_that_is_no_socket_is_not_removed(home: Home) -> None:
    home.settings.run_dir.mkdir(parents=True)
    home.settings.socket.write_text("mine", "utf-8")
    code, errors = ended(home.spawn())
    assert code == 4
    assert "not a socket" in errors
    assert home.settings.socket.read_text("utf-8") == "mine"


def test_a_socket_of_another_program_is_left_alone(home: Home) -> None:
    home.settings.run_dir.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home.settings.socket))
        other.listen()
        code, errors = ended(home.spawn())
        assert code == 4
        assert "another program" in errors
        assert home.settings.socket.is_socket()
        with socket.socket(socket.AF_UNIX) as probe:
            assert probe.connect_ex(str(home.settings.socket)) == 0


def test_a_damaged_database_is_refused_kept_and_reported(home: Home) -> None:
    damaged = b"this is no database " * 500
    home.settings.database.write_bytes(damaged)
    code, errors = ended(home.spawn())
    assert code == 4
    assert "damaged" in errors and "Traceback" not in errors
    assert home.settings.database.read_bytes() == damaged
    done = home.command("status", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["last_error"]["code"] == "store_corrupt"
    home.settings.database.unlink()
    home.serve()
    assert not (home.settings.run_dir / "last-error.json").exists()


def test_a_home_that_cannot_be_made_is_one_line() -> None:
    stuck = Home(Path("/proc/no-such-place"))
    done = stuck.command("serve")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: /proc/no-such-place")
    done = stuck.command("serve", "--detach")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1


def test_a_wrong_configuration_is_left_for_the_plugin_to_say(home: Home) -> None:
    home.configure("recal: {}\n")
    code, errors = ended(home.spawn())
    assert code == 2
    assert "recal" in errors and errors.count("\n") == 1
    left = json.loads((home.hermes_home / "memory-os/run/last-error.json").read_text("utf-8"))
    assert left["code"] == "config" and "recal" in left["error"]
    home.configure("")


def test_tcp_wants_the_token_a_loopback_host_and_no_browser(home: Home) -> None:
    port = free_port()
    home.configure(f"service:\n  port: {port}\n")
    home.serve()
    token_file = home.settings.run_dir / "token"
    assert _mode(token_file) == 0o600
    token = token_file.read_text("ascii").strip()
    good = {"Authorization": f"Bearer {token}"}
    assert raw(port, "GET", "/v1/health", headers=good)[0] == 200
    assert raw(port, "GET", "/v1/health", headers={**good, "Host": f"localhost:{port}"})[0] == 200
    for headers, status, code in (
        ({}, 401, "unauthorized"),
        ({"Authorization": "Bearer " + "x" * len(token)}, 401, "unauthorized"),
        ({"Authorization": f"Bearer {token[:-1]}"}, 401, "unauthorized"),
        ({**good, "Host": "evil.example"}, 403, "forbidden"),
        ({**good, "Host": "localhost.evil.example"}, 403, "forbidden"),
        ({**good, "Origin": "http://localhost"}, 403, "forbidden"),
    ):
        found, answer = raw(port, "GET", "/v1/status", headers=headers)
        assert (found, answer["code"]) == (status, code), headers
        assert token not in json.dumps(answer)
    assert raw(home.settings.socket, "GET", "/v1/health")[0] == 200


def test_the_token_is_made_once_and_never_logged(home: Home) -> None:
    home.configure(f"service:\n  port: {free_port()}\n")
    process = home.serve()
    token = (home.settings.run_dir / "token").read_text("ascii")
    process.terminate()
    ended(process)
    home.serve()
    assert (home.settings.run_dir / "token").read_text("ascii") == token
    assert token.strip() not in (home.settings.logs_dir / "service.log").read_text("utf-8")


def test_a_port_in_use_is_named(home: Home) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        home.configure(f"service:\n  port: {port}\n")
        code, errors = ended(home.spawn())
    assert code == 4
    assert str(port) in errors and "Traceback" not in errors
    assert not home.settings.socket.exists()


def test_two_hundred_requests_at_once(home: Home) -> None:
    home.serve()
    payload = json.dumps({"v": 1, "turn_id": "t", "session_id": "s", "user": "local", "user_message": "when is it?"})

    def ask(number: int) -> int:
        if number % 2:
            return raw(home.settings.socket, "POST", "/v1/recall", payload.encode())[0]
        return 200 if home.health() else 0

    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(ask, range(200))) == [200] * 200


def test_a_deleted_socket_ends_it_so_that_the_next_call_starts_one(home: Home) -> None:
    process = home.serve()
    home.settings.socket.unlink()
    assert ended(process) == (0, "")
    assert "is gone" in (home.settings.logs_dir / "service.log").read_text("utf-8")
    again = home.serve()
    assert home.health()["pid"] == again.pid


def test_a_deleted_memory_db_ends_it_and_none_is_made_in_its_place(home: Home) -> None:
    process = home.serve()
    home.settings.database.rename(home.settings.home / "aside.db")
    assert ended(process) == (0, "")
    assert f"{home.settings.database} is gone" in (home.settings.logs_dir / "service.log").read_text("utf-8")
    assert not home.settings.database.exists()


def test_stop_reaches_a_service_whose_socket_is_gone(home: Home) -> None:
    assert home.command("serve", "--detach").returncode == 0
    pid = home.health()["pid"]
    os.kill(pid, signal.SIGSTOP)  # it would see for itself that its socket is gone, before a slow command begins
    home.settings.socket.unlink()
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(home.command, "stop")
        try:
            wait_until(lambda: _told_to_end(pid) or stopping.done())
        finally:
            os.kill(pid, signal.SIGCONT)
        done = stopping.result()
    assert (done.returncode, str(pid) in done.stdout) == (0, True), done.stderr
    assert home.command("stop").returncode == 3


def test_all_files_are_their_owners_alone(home: Home) -> None:
    home.serve(ready=True)
    folders = (home.settings.vectors_dir, home.settings.models_dir)
    paths = [path for folder in folders for path in folder.rglob("*")]
    assert any(path.is_file() for path in paths)
    assert [path for path in paths if _open_to_others(path)] == []


def test_what_ends_by_a_fault_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def faulty() -> None:
        raise KeyError("nobody foresaw it")

    async def run() -> Service:
        service = Service(load_settings({}, hermes_home=tmp_path))
        service.keep("the loop", faulty())
        await asyncio.gather(*service._tasks, return_exceptions=True)
        await service.shut_down()
        return service

    service = asyncio.run(run())
    assert "nobody foresaw it" in service.figures()["last_error"] and service.figures()["errors"] == 1
    assert "the loop ended by a fault" in caplog.text
