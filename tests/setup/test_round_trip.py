"""Round trips through a real service: each layer finds what was written, and nothing of it stays."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.errors import ServiceError
from memory_os_workers import doctor
from memory_os_workers.client import ServiceClient, ensure_service, stop_service
from memory_os_workers.findings import Verdict
from memory_os_workers.setup import round_trip

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def served(model_folder: Path) -> Iterator[Settings]:
    """A home whose service runs. Below the system's own folder: pytest's is too long for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="memory-os-") as base:
        settings = load_settings({}, hermes_home=Path(base).resolve() / "a home")
        settings.models_dir.mkdir(parents=True)
        settings.home.chmod(0o700)
        for path in model_folder.iterdir():
            os.link(path, settings.models_dir / path.name)
        try:
            round_trip.wait_until_ready(ensure_service(settings))
            yield settings
        finally:
            stop_service(settings)


@pytest.fixture
def client(served: Settings) -> ServiceClient:
    return ensure_service(served)


@pytest.mark.parametrize("layer", sorted(round_trip.TRIPS))
def test_each_layer_finds_what_was_written(layer: str, client: ServiceClient) -> None:
    trip = round_trip.TRIPS[layer](client)
    assert trip.written_ms > 0 and trip.recalled_ms > 0 and trip.forgotten_ms > 0


def test_nothing_of_it_stays(served: Settings, client: ServiceClient) -> None:
    for trip in round_trip.TRIPS.values():
        trip(client)
    with closing(sqlite3.connect(f"file:{served.database}?mode=ro", uri=True)) as database:
        for table in ("passages", "facts", "messages", "documents", "fabric_entries", "recalls"):
            (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert rows == 0, table
    assert [path.name for path in served.fabric_dir.rglob("*.md")] == []
    assert list(served.spool_dir.glob("*.json")) == []


def test_doctor_is_content_with_a_sound_service(served: Settings) -> None:
    findings = {finding.layer: finding for finding in doctor.examine(lambda: served)}
    for layer in (*round_trip.TRIPS, "service", "memory.db", "model", "permissions", "spool", "1 workspace"):
        assert findings[layer].state is Verdict.OK, findings[layer]
    assert findings["plugin"].state is Verdict.FAIL, "no plugin was placed in this home"


def test_the_line_that_setup_prints_has_the_times(client: ServiceClient) -> None:
    assert round_trip.prove(client).line.count(" ms") == 3


def test_what_is_not_recalled_fails_and_is_still_deleted() -> None:
    deleted: list[str] = []
    with pytest.raises(ServiceError, match="not recalled"):
        round_trip._trip("facts", lambda: None, lambda: "", lambda: deleted.append("x"), "word")
    assert deleted == ["x"]


def test_what_is_not_forgotten_fails() -> None:
    with pytest.raises(ServiceError, match="still recalled"):
        round_trip._trip("facts", lambda: None, lambda: "a word", lambda: None, "word")


def test_made_up_words_differ() -> None:
    assert len({round_trip.made_up_word() for _ in range(50)}) == 50
