"""`memory-os bench scale` on a small size; what it takes is not for a test to judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from memory_os_workers.bench import scale
from memory_os_workers.cli import cli


@pytest.mark.timeout(600)
def test_a_size_is_measured_in_a_home_of_its_own(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_TURNS", 10)
    said: list[str] = []
    (row,) = scale.run_scale_bench(models, (300,), said.append)
    assert (row.memories, len(said)) == (300, 3)
    assert row.with_block_percent > 0
    assert all(value > 0 for name, value in row.as_dict().items() if name != "load")
    assert row.anonymous_mb < row.resident_mb


@pytest.mark.parametrize("sizes", ["ten", "99", "10000,1000001", ""])
def test_sizes_that_are_none_are_refused(sizes: str) -> None:
    done = CliRunner().invoke(cli, ["bench", "scale", "--sizes", sizes])
    assert done.exit_code == 2
    assert "--sizes" in done.output
