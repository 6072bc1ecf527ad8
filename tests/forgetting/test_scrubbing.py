"""Forgetting reaches the bytes of the file, not only its rows."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine

ME = {"user": "local", "profile": "default", "session_id": "now"}


# Spread over the first page of the table, so that some lie where its later content doesn't reach.
_SECRETS = range(2, 14)


def turn(number: int, said: str) -> dict[str, Any]:
    return {
        "v": 1, "type": "turn", "turn_id": f"talk:{number}", "session_id": "talk", "parent_session_id": "",
        "platform": "cli", "user": "local", "profile": "default", "project": "", "model": "none",
        "at": time.time() - 3600 + number, "user_message": said, "assistant_response": "Understood, that is noted.",
    }  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path):
    engine = Engine.open(load_settings({"HERMES_HOME": str(tmp_path)}))
    yield engine
    engine.close()


def test_forgotten_words_leave_the_file_its_log_and_its_backups(engine: Engine, tmp_path: Path) -> None:
    """The first rows of a table lie in its root page, which is rewritten as the table grows: their bytes outlive them."""
    with engine.store.write() as db:  # as a file is that another build of SQLite wrote
        db.execute("PRAGMA secure_delete=OFF")
    for number in range(400):
        if number in _SECRETS:
            engine.capture.take(turn(1000 + number, f"Of all {number} gates the garden's opens with quixoticpassphrase."))
        engine.capture.take(turn(number, f"Entry {number} of the workshop log: {'all went as planned, ' * 8}nothing to add."))
    engine.housekeeping(time.time())
    home = engine.settings.home
    assert any(b"quixoticpassphrase" in path.read_bytes() for path in home.glob("memory.db*"))

    with engine.store.write() as db:
        db.execute("PRAGMA secure_delete=ON")
    done = engine.call_tool("memory_forget", {"query": "quixoticpassphrase", "confirm": True}, ME)

    holding = [path for path in home.rglob("*") if path.is_file() and b"quixoticpassphrase" in path.read_bytes()]
    assert holding == [], json.dumps(done)


def test_a_deleted_row_leaves_no_bytes_even_without_forgetting(engine: Engine) -> None:
    """Every connection that writes overwrites what it frees, also after something was forgotten."""
    engine.capture.take(turn(0, "The garden gate opens with quixoticpassphrase."))
    engine.call_tool("memory_forget", {"query": "quixoticpassphrase", "confirm": True}, ME)
    with engine.store.write() as db:
        assert db.execute("PRAGMA secure_delete").fetchone()[0] == 1
