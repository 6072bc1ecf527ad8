from __future__ import annotations

import pytest
from memory_os.loopback import is_loopback, is_loopback_host


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost", "model.localhost", "127.0.0.1", "127.9.9.9", "::1", "0:0:0:0:0:0:0:1"]
)
def test_this_machine(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "localhost.attacker.test", "127.0.0.1.attacker.test", "notlocalhost", "192.168.1.5", "10.0.0.7", "0.0.0.0",
        "qdrant", "::", "fe80::1", "[::1]", "localhost:80", "локальный", "本机",
    ],
)  # fmt: skip
def test_another_machine(host: str) -> None:
    assert not is_loopback_host(host)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:6333/v1", True), ("http://[::1]:1/v1", True), ("https://user:word@LOCALHOST:8080", True),
        ("http://192.168.1.5/v1", False), ("https://localhost.attacker.test", False), ("http://localhost@other.test", False),
        ("", False), ("localhost", False), ("http://[::1", False),
    ],
)  # fmt: skip
def test_the_host_of_a_url_decides(url: str, here: bool) -> None:
    assert is_loopback(url) is here
