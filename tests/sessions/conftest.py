"""A memory.db with the session archive, beside a Hermes home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.index import Index
from memory_os.memory import Passage, Scope
from memory_os.sessions import CapturedTurn, Sessions
from memory_os.sessions.off import digest
from memory_os.sessions.schema import sessions as sessions_migrations
from memory_os.store import Store, open_store
from memory_os.text import query_terms

NOW = 1_780_000_000.0
LOCAL = Scope()


@dataclass
class Memory:
    """One home: its settings, store, index and session archive."""

    settings: Settings
    store: Store
    index: Index
    sessions: Sessions

    def found(self, words: str, scope: Scope = LOCAL) -> list[Passage]:
        """What a full-text search of this scope finds, best first."""
        hits = self.index.lexical(query_terms(words), [scope.key], now=NOW + 10**6)
        passages = self.index.passages([hit.pk for hit in hits])
        return [passages[hit.pk] for hit in hits]

    def archived(self) -> list[tuple[str, str]]:
        return [(row["role"], row["text"]) for row in self.store.rows("SELECT role, text FROM messages ORDER BY id")]


def turn(number: int, said: str, answered: str = "", /, session: str = "s1", **more: object) -> CapturedTurn:
    values: dict[str, object] = {"turn_id": f"{session}:t{number}", "session_id": session, "at": NOW + number, **more}
    return CapturedTurn(user_text=said, assistant_text=answered, **values)  # type: ignore[arg-type]


def switch_off(memory: Memory, name: str, since: float | None = None) -> Path:
    """Switch a chat's memory off as the plugin does, by a marker. Returns the marker."""
    marker = memory.settings.home / "off" / digest(name)
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch(0o600)
    if since is not None:
        os.utime(marker, (since, since))
    return marker


def switch_on(memory: Memory, name: str, now: float) -> None:
    """Switch it on again, after the service has noted that it was off."""
    memory.sessions.off.observe(now)
    (memory.settings.home / "off" / digest(name)).unlink()
    memory.sessions.off.observe(now)


def open_memory(home: Path, config: str = "") -> Memory:
    home.mkdir(exist_ok=True)
    if config:
        (home / "memory-os").mkdir(exist_ok=True)
        (home / "memory-os" / "config.yaml").write_text(config)
    settings = load_settings({}, hermes_home=home)
    store = open_store(settings.database, [sessions_migrations])
    index = Index(store, "test")
    return Memory(settings, store, index, Sessions(store, index, settings))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = open_memory(tmp_path / "home")
    yield opened
    opened.store.close()
