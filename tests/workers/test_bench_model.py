"""`memory-os bench model` measures a whole call; what it takes is not for a test to judge."""

from __future__ import annotations

import socket

import pytest
from memory_os_workers.bench import hanging, model
from support.service import wait_until


def test_it_measures_with_and_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_CALLS", 3)
    monkeypatch.setattr(model, "_WARM_UP", 1)
    without, with_client, added, computed, *reading = model.run_model_bench()
    assert [(one.met, one.limit) for one in reading] == [(True, 2), (True, 2)], "two calls are promised, and counted"
    assert without.value > 0
    assert with_client.value > 0
    assert added.value == pytest.approx(with_client.value - without.value)
    assert added.limit == 5.0 and computed.limit is None


def test_what_hanging_adds_is_held_against_the_noise() -> None:
    quiet = [10.0, 11.0, 12.0, 13.0, 14.0] * 4
    assert [one.met for one in hanging.figures_of(quiet, [value + 1 for value in quiet], 3)] == [None, None, True, True]
    assert [one.met for one in hanging.figures_of(quiet, [value + 30 for value in quiet], 0)] == [None, None, False, False]


def test_a_hanging_provider_takes_a_request_and_says_nothing() -> None:
    with hanging.hanging_provider() as provider:
        port = int(provider.url.rpartition(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n\r\n")
            client.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.recv(1)
            wait_until(lambda: provider.held == 1, "the request is held", 30)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
