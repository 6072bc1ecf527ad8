"""The duty that links pages of the wiki: what it does with none, and with some."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os.wiki.records import RawRecord


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


def test_a_raw_file_that_is_gone_is_met_by_the_duty(tmp_path: Path) -> None:
    engine = Engine.open(load_settings({}, hermes_home=tmp_path))
    try:
        assert engine.maintenance.run("wiki_sources", time.time(), False).result == "there is no wiki"
        engine.wiki.init()
        (engine.wiki.tree.root / "raw/here.md").write_text("here")
        engine.wiki.records.keep(RawRecord("gone.md", "sha", status="done"))
        for dry_run in (True, False):
            outcome = engine.maintenance.run("wiki_sources", time.time(), dry_run)
            assert "1 raw files" in outcome.result and "gone" in outcome.result
        assert engine.wiki.records.raw("gone.md") is None
        assert "0 raw files gone" in engine.maintenance.run("wiki_sources", time.time(), False).result
    finally:
        engine.close()
