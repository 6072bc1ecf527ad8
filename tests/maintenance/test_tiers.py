"""Fabric entries move down by age and up by use, in their files; counted on every path that shows one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from memory_os.engine import Engine

from .conftest import DAY


def tier_in_file(path: Path) -> str:
    return next(line.partition(":")[2].strip() for line in path.read_text("utf-8").splitlines() if line.startswith("tier:"))


@pytest.mark.parametrize("path", ["fabric_recall", "fabric_search"])
def test_down_by_age_and_up_again_by_use(engine: Engine, path: str) -> None:
    written = engine.call_tool(
        "fabric_write", {"type": "note", "summary": "The turbine ran at nine bar", "content": "Measured in hall 3."}, {}
    )
    file = engine.settings.fabric_dir / written["path"]
    now = time.time()
    run = engine.maintenance.run
    assert (run("tiers", now).result, tier_in_file(file)) == ("0 entries moved", "hot")
    dry = run("tiers", now + 20 * DAY, dry_run=True)
    assert (dry.result, tier_in_file(file)) == ("1 entries would move", "hot")
    assert "hot to warm" in dry.details[0]
    assert (run("tiers", now + 20 * DAY).result, tier_in_file(file)) == ("1 entries moved", "warm")
    assert (run("tiers", now + 200 * DAY).result, tier_in_file(file)) == ("1 entries moved", "cold")
    engine.call_tool(path, {"query": "turbine bar"}, {})
    assert (run("tiers", now + 5 * DAY).result, tier_in_file(file)) == ("1 entries moved", "hot")


def test_cold_stays_findable(engine: Engine) -> None:
    engine.call_tool("fabric_write", {"type": "note", "summary": "The turbine ran at nine bar", "content": "Hall 3."}, {})
    engine.maintenance.run("tiers", time.time() + 400 * DAY)
    assert "turbine" in str(engine.call_tool("fabric_recall", {"query": "turbine bar"}, {}))
