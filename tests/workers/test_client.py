"""The client of the command line: starting on demand, typed errors, other homes, full queues."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from memory_os.errors import BadRequest, ServiceError, ServiceUnavailable, SocketPathTooLong, StoreCorrupt
from memory_os_workers import client as module
from memory_os_workers.client import ServiceClient, ensure_service, error_of, stop_service

from workers.running import Home, environment, wait_until


@pytest.fixture(autouse=True)
def _sources(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment(home.hermes_home)["PYTHONPATH"])


def test_the_service_is_started_once_and_stopped(home: Home) -> None:
    first, second = (ensure_service(home.settings).get("/v1/health") for _ in range(2))
    assert first["pid"] == second["pid"] != os.getpid()
    assert stop_service(home.settings) == first["pid"]
    assert stop_service(home.settings) is None


def test_ten_callers_at_once_get_one_service(home: Home) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(int(ensure_service(home.settings).get("/v1/health")["pid"])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1


def test_a_start_while_the_old_service_closes_waits_for_its_lock(home: Home) -> None:
    process = home.serve()
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: not home.settings.socket.exists())
    assert ensure_service(home.settings).get("/v1/health")["pid"] != process.pid


def test_the_reason_of_a_failed_start_is_raised_as_what_it_is(home: Home) -> None:
    home.settings.database.write_bytes(b"no database " * 999)
    with pytest.raises(StoreCorrupt, match="damaged"):
        ensure_service(home.settings)


def test_a_service_that_ends_without_a_word_shows_its_last_line(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setattr(module.sys, "executable", "/bin/false")
    with pytest.raises(ServiceUnavailable, match="exit code 1"):
        ensure_service(home.settings)


def test_without_a_service_everything_is_unavailable(home: Home) -> None:
    client = ServiceClient(home.settings)
    assert client.health() is None
    for call in (lambda: client.get("/v1/status"), lambda: client.post("/v1/stop"), lambda: list(client.stream("/v1/x"))):
        with pytest.raises(ServiceUnavailable, match="does not run"):
            call()


def test_a_long_socket_path_is_told_before_anything_is_started(home: Home) -> None:
    with pytest.raises(SocketPathTooLong):
        ensure_service(Home(home.hermes_home / ("d" * 100)).settings)
    assert not (home.hermes_home / ("d" * 100)).exists()


def _answering(path: Path, answer: bytes, connections: int = 1) -> threading.Thread:
    """A program at the socket that answers every connection with the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener:
            for _ in range(connections):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):  # closing with unread bytes would reset the answer away
                        pass

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def _http(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def test_the_service_of_another_home_is_not_taken_for_ours(home: Home) -> None:
    thread = _answering(home.settings.socket, _http(json.dumps({"ok": True, "home": "/elsewhere"}).encode()))
    with pytest.raises(ServiceError, match="/elsewhere"):
        ServiceClient(home.settings).health()
    thread.join()
    home.settings.socket.unlink()


@pytest.mark.parametrize("answer", [b"", b"garbage\r\n\r\n", _http(b"[]"), _http(b"no json"), _http(b"{}")[:-1]])
def test_what_is_no_answer_of_ours_is_unavailable(home: Home, answer: bytes) -> None:
    thread = _answering(home.settings.socket, answer)
    with pytest.raises(ServiceUnavailable):
        ServiceClient(home.settings).get("/v1/status", timeout=5)
    thread.join()
    home.settings.socket.unlink()


def test_an_error_line_in_a_stream_is_raised_after_what_came_before(home: Home) -> None:
    lines = b'{"progress": {"done": 1, "total": 2, "what": ""}}\n{"error": "no", "cure": "yes", "code": "bad_request"}\n'
    thread = _answering(home.settings.socket, _http(lines))
    stream = ServiceClient(home.settings).stream("/v1/ingest", {})
    assert next(stream)["progress"]["done"] == 1
    with pytest.raises(BadRequest, match="no yes"):
        next(stream)
    thread.join()
    home.settings.socket.unlink()


def test_a_full_queue_is_waited_out(home: Home) -> None:
    path = home.settings.socket
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as waiting:
        listener.bind(str(path))
        listener.listen(0)
        waiting.connect(str(path))
        answer = _http(json.dumps({"ok": True}).encode())

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    if connection.recv(65536):  # of the one that fills the queue nothing comes
                        connection.sendall(answer)

        thread = threading.Timer(0.3, serve)
        thread.start()
        waiting.shutdown(socket.SHUT_WR)
        assert ServiceClient(home.settings).get("/v1/health") == {"ok": True}
        thread.join()
    path.unlink()


def test_an_error_answer_becomes_its_class() -> None:
    error = error_of({"error": "a", "cure": "b", "code": "store_corrupt"}, 400)
    assert type(error) is StoreCorrupt and error.cure == "b"
    assert type(error_of({}, 500)) is ServiceError
    assert "500" in error_of({}, 500).message
