"""One request to the service over its unix socket, with a deadline that holds for the whole exchange.

Written on the socket and not on http.client: its time-outs count from byte to byte, so a service that drips could hold
a turn forever; and nothing needs importing.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

# A block has 1,200 tokens and a tool page 4,000; an answer of this size is not from our service.
_ANSWER_MAX_BYTES = 8 * 1024 * 1024
_HEAD_MAX_BYTES = 64 * 1024
# A full backlog refuses a unix socket at once; the service takes connections in well under this.
_RETRY_SECONDS = 0.005


class CallFailed(Exception):
    """No usable answer. `reason` is one word for a counter.

    absent (nobody listens) · timeout · closed (mid-answer) · garbage (not HTTP, not JSON) · refused · path_too_long
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason

    @property
    def nobody(self) -> bool:
        """Whether nobody listens, so that starting the service may help.

        A default path too long for the kernel counts: a service with `service.socket` set announces a shorter one.
        """
        return self.reason in ("absent", "path_too_long")


def request(path: str, method: str, target: str, body: dict[str, Any] | None, until: float) -> tuple[int, Any]:
    """Send and return (HTTP status, parsed JSON) before the monotonic time `until`. Raises CallFailed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect(connection, path, until)
        _send(connection, _request_bytes(method, target, body), until)
        return _answer(connection, until)
    except TimeoutError:
        raise CallFailed("timeout") from None
    except (ConnectionResetError, BrokenPipeError) as error:
        raise CallFailed("closed", str(error)) from None
    except OSError as error:
        raise CallFailed("refused", str(error)) from None
    finally:
        connection.close()


def _connect(connection: socket.socket, path: str, until: float) -> None:
    while True:
        connection.settimeout(_remaining(until))
        try:
            connection.connect(path)
            return
        except BlockingIOError:
            time.sleep(min(_RETRY_SECONDS, _remaining(until)))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise CallFailed("absent", str(error)) from None
        except TimeoutError:
            raise
        except OSError as error:
            # Python itself checks the length and raises an OSError without an errno.
            if error.errno is None:
                raise CallFailed("path_too_long", path) from None
            raise


def _request_bytes(method: str, target: str, body: dict[str, Any] | None) -> bytes:
    # "replace": a lone surrogate (a cut emoji) is no UTF-8 and would cost us the whole request.
    content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: memory-os\r\nConnection: close\r\nAccept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode("ascii", "replace") + content


def _send(connection: socket.socket, data: bytes, until: float) -> None:
    view = memoryview(data)
    while view:
        connection.settimeout(_remaining(until))
        view = view[connection.send(view) :]


def _answer(connection: socket.socket, until: float) -> tuple[int, Any]:
    received = bytearray()
    status, start, length = 0, 0, -1
    while True:
        if not status:
            end = received.find(b"\r\n\r\n")
            if end >= 0:
                status, length = _read_head(bytes(received[:end]))
                start = end + 4
            elif len(received) > _HEAD_MAX_BYTES:
                raise CallFailed("garbage", "the head is too long")
        if status and 0 <= length <= len(received) - start:
            return status, _parsed(bytes(received[start : start + length]))
        if len(received) > _ANSWER_MAX_BYTES or length > _ANSWER_MAX_BYTES:
            raise CallFailed("garbage", "the answer is too long")
        connection.settimeout(_remaining(until))
        piece = connection.recv(65536)
        if not piece:
            if status and length < 0:
                return status, _parsed(bytes(received[start:]))
            raise CallFailed("closed" if status or not received else "garbage")
        received += piece


def _read_head(head: bytes) -> tuple[int, int]:
    """(status, content length or -1)."""
    first, *lines = head.split(b"\r\n")
    parts = first.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise CallFailed("garbage", "not HTTP")
    length = -1
    for line in lines:
        name, _, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        if name == b"content-length":
            if not value.isdigit():
                raise CallFailed("garbage", "a length that is no number")
            length = int(value)
        elif name == b"transfer-encoding" and value.lower() != b"identity":
            raise CallFailed("garbage", "an encoding the service does not use")
    return int(parts[1]), length


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise CallFailed("garbage", "not JSON") from None


def _remaining(until: float) -> float:
    remaining = until - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
