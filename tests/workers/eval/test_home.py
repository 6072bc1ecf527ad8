"""A corpus is learnt at its own times."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.recall.rendering import day_of
from memory_os_workers.eval.corpora import Document
from memory_os_workers.eval.home import _capture


def said(name: str, at: float, speaker: str, text: str, session: str = "S1") -> Document:
    return Document(name, session, at, speaker, text)


def test_what_was_said_is_remembered_at_the_time_it_was_said(tmp_path: Path) -> None:
    with closing(Engine.open(load_settings({}, hermes_home=tmp_path))) as engine:
        talk = [
            said("a", 0.0, "Imke", "We looked at the old bakery on Dock Street."),
            said("b", 1_741_000_000.0, "Raul", "The oven in it still works."),
            said("c", 1_741_000_000.0, "Imke", "The kiln arrives on the twelfth."),
            said("d", 1_752_000_000.0, "Raul", "The first class is full: eleven people.", "S2"),
        ]
        sources = _capture(engine, talk)
        rows = engine.store.rows("SELECT source, created_at FROM passages")
        days = {sources[row["source"]]: day_of(row["created_at"]) for row in rows}
    assert days == {"a": "2025-03-03", "b": "2025-03-03", "c": "2025-03-03", "d": "2025-07-08"}
