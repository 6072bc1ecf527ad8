"""A small real service on a unix socket that can be slow, silent, rude or wrong: the other end, not our code."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Conduct = Callable[[socket.socket, str, dict[str, Any]], None]


def reply(connection: socket.socket, value: Any, status: int = 200) -> None:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


class Peer:
    """Answers by `conduct(connection, path, body)`, one thread a connection. `requests` is what it was asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.context = ""
        self.conduct: Conduct = self.polite
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._open = True
        self._held: list[socket.socket] = []
        self._serving: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def asked(self, path: str) -> list[dict[str, Any]]:
        return [body for asked, body in self.requests if asked == path]

    def wait_for(self, path: str, count: int = 1, seconds: float = 60.0) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while len(self.asked(path)) < count and time.monotonic() < until:
            time.sleep(0.005)
        found = self.asked(path)
        assert len(found) >= count, f"{path} was asked {len(found)} times"
        return found

    def polite(self, connection: socket.socket, path: str, body: dict[str, Any]) -> None:
        if path == "/v1/recall":
            reply(connection, {"context": self.context, "outcome": "injected" if self.context else "nothing"})
        elif path.startswith("/v1/tools/"):
            reply(connection, {"results": [{"id": "f:abcdefgh", "date": "2026-11-02", "text": "found"}], "total": 1})
        else:
            reply(connection, {"ok": True, "taken": 0})

    def hang(self, connection: socket.socket, path: str, body: dict[str, Any]) -> None:
        self._held.append(connection.dup())

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        # Closing alone would leave accept() waiting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        for serving in self._serving:  # one may be about to hold its connection
            serving.join(5)
        for connection in self._held:
            connection.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while self._open:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            serving = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._serving.append(serving)
            serving.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                path, body = _read(connection)
                self.requests.append((path, body))
                self.conduct(connection, path, body)
            except OSError:
                return


def _read(connection: socket.socket) -> tuple[str, dict[str, Any]]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += _some(connection)
    return head.split()[1].decode(), json.loads(body or b"{}")


def _some(connection: socket.socket) -> bytes:
    piece = connection.recv(1 << 20)
    if not piece:
        raise ConnectionResetError
    return piece
