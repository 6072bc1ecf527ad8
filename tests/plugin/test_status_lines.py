from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_os_plugin import paths, status_lines, toolset
from memory_os_plugin.provider import Facade

from plugin.peer import Peer, reply


def test_before_setup_it_says_how(home: paths.Home) -> None:
    assert "setup" in status_lines.of(home)["setup"]


def test_the_service_is_asked_and_never_started(
    home: paths.Home, peer: Peer, python_that: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    python_that(f"touch {home.hermes}/started")
    peer.conduct = lambda connection, path, body: reply(connection, {"ok": True, "version": "9.9"})
    assert status_lines.of(home)["service"] == "running, version 9.9"
    peer.conduct = lambda connection, path, body: reply(connection, [], 500)
    assert status_lines.of(home)["service"] == "no answer (status 500)"
    peer.conduct = peer.hang
    monkeypatch.setattr(status_lines, "_SECONDS", 0.3)
    assert status_lines.of(home)["service"] == "no answer (timeout)"
    peer.close()
    assert "first turn" in Facade().get_status_config({})["service"]
    assert not (home.hermes / "started").exists()


def test_an_upgrade_is_no_failure(home: paths.Home, upgrading: Callable[[str], Path]) -> None:
    upgrading("exit 1")
    assert "being upgraded" in status_lines.of(home)["service"]


@pytest.mark.parametrize(
    ("config", "by"),
    [
        ({"plugins": {"enabled": ["memory-os"]}}, "hooks"),
        ({"plugins": {"enabled": ["memory-os"], "disabled": ["memory-os"]}}, "provider"),
        ({"plugins": {"enabled": "memory-os"}}, "provider"),
        ({"plugins": None}, "provider"),
        ({}, "provider"),
    ],
)
def test_who_serves_the_turns(
    home: paths.Home, python_that: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], by: str
) -> None:
    python_that("exit 0")
    monkeypatch.setattr(toolset, "host_config", lambda: config)
    assert by in status_lines.of(home)["recall and capture"]
