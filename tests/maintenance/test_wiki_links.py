"""The duty that links pages of the wiki: what it does with none, and with some."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine


@pytest.mark.parametrize("there", [False, True])
def test_pages_are_tied_once_a_day_and_nothing_happens_without_a_wiki(tmp_path: Path, there: bool) -> None:
    engine = Engine.open(load_settings({}, hermes_home=tmp_path))
    try:
        if there:
            engine.wiki.init()
        assert "wiki_links" not in engine.maintenance.due(time.time())
        assert "wiki_links" in engine.maintenance.due(time.time() + 4000)
        outcome = engine.maintenance.run("wiki_links", time.time(), False)
        assert outcome.result == ("0 pages looked at, 0 files changed" if there else "there is no wiki")
    finally:
        engine.close()
