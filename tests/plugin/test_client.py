from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from memory_os_plugin import paths
from memory_os_plugin.client import CallFailed, request

from plugin.peer import Peer, reply


def ask(home: paths.Home, seconds: float = 60.0, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    return request(home.socket(), "POST", "/v1/recall", body or {}, time.monotonic() + seconds)


def failed(home: paths.Home, seconds: float = 60.0) -> str:
    with pytest.raises(CallFailed) as caught:
        ask(home, seconds)
    return caught.value.reason


def test_an_answer_is_its_status_and_its_json(home: paths.Home, peer: Peer) -> None:
    peer.context = "block"
    assert ask(home, body={"q": "鍵 👍"}) == (200, {"context": "block", "outcome": "injected"})
    assert peer.asked("/v1/recall") == [{"q": "鍵 👍"}]


def test_an_error_is_an_answer_too(home: paths.Home, peer: Peer) -> None:
    peer.conduct = lambda connection, path, body: reply(connection, {"error": "no", "cure": "x"}, 400)
    assert ask(home) == (400, {"error": "no", "cure": "x"})


def test_a_large_request_and_a_large_answer_pass(home: paths.Home, peer: Peer) -> None:
    peer.context = "y" * 2_000_000
    status, answer = ask(home, body={"q": "x" * 2_000_000})
    assert status == 200 and len(answer["context"]) == 2_000_000


def test_a_lone_surrogate_does_not_cost_the_request(home: paths.Home, peer: Peer) -> None:
    assert ask(home, body={"q": "cut \ud83d"})[0] == 200


def test_an_answer_without_a_length_ends_with_the_connection(home: paths.Home, peer: Peer) -> None:
    peer.conduct = lambda connection, path, body: connection.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"a": 1}')
    assert ask(home) == (200, {"a": 1})


def test_nobody_listens(home: paths.Home) -> None:
    assert failed(home) == "absent"


def test_a_socket_that_a_killed_service_left(home: paths.Home) -> None:
    home.run.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(home.run / "service.sock"))
    assert failed(home) == "absent"


def test_a_path_too_long_for_the_kernel(home: paths.Home) -> None:
    with pytest.raises(CallFailed) as caught:
        request(f"/tmp/{'x' * 200}/s", "GET", "/", None, time.monotonic() + 1)
    assert caught.value.reason == "path_too_long"


def test_silence(home: paths.Home, peer: Peer) -> None:
    peer.conduct = peer.hang
    assert failed(home, 0.2) == "timeout"


def test_dripping_does_not_stretch_the_deadline(home: paths.Home, peer: Peer) -> None:
    def drip(connection: socket.socket, path: str, body: dict[str, Any]) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n":
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    peer.conduct = drip
    assert failed(home, 0.3) == "timeout", "and not closed, which it is at the end"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "closed"),
        (b"hello\r\n\r\n", "garbage"),
        (b"220 smtp ready\r\n", "garbage"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "garbage"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "garbage"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "garbage"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "garbage"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", "garbage"),
        (b"x" * 200_000, "garbage"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60000, "garbage"),
    ],
)
def test_what_is_no_answer_of_ours(home: paths.Home, peer: Peer, said: bytes, reason: str) -> None:
    peer.conduct = lambda connection, path, body: connection.sendall(said)
    assert failed(home) == reason


def test_the_announced_socket_is_used(home: paths.Home) -> None:
    home.run.mkdir(parents=True)
    other = Peer(home.root / "o.sock")
    try:
        (home.run / "service.json").write_text(f'{{"socket": "{other.path}"}}')
        assert ask(home)[0] == 200
    finally:
        other.close()
