"""`memory-os bench ingest` on a few files; what it takes is not for a test to judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os_workers.bench.ingest import Sizes, run_ingest_bench
from memory_os_workers.bench.scratch import Figure


@pytest.mark.timeout(900)
def test_every_part_is_measured_against_its_promise(
    models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    monkeypatch.setenv("VAULT_PATH", str(theirs))
    said: list[str] = []
    figures = run_ingest_bench(models, Sizes(bulk=50, beside=20, known=100, turns=10, jobs=100), said.append)
    values = {figure.name: figure.value for figure in figures}
    promised = [figure for figure in figures if figure.met is not None]
    assert len(values) == len(figures) and len(promised) == 5 and len(said) >= 6
    assert all(value > 0 for value in values.values())
    share = 100 * values["files to vectors, end to end"] / values["the encoder alone"]
    assert values["of the encoder's own throughput"] == pytest.approx(share)
    busy, idle = (values[f"recall in the hook while {when}, p95"] for when in ("files are taken in", "idle"))
    assert values["of the idle p95"] == pytest.approx(busy / idle)
    assert not theirs.exists(), "the caller's own vault is not touched"


def test_a_promise_is_the_most_or_the_least() -> None:
    assert Figure("a", 2.0, "s").met is None
    assert Figure("a", 2.0, "s", 2.0).met and not Figure("a", 2.1, "s", 2.0).met
    assert Figure("a", 90.0, "%", at_least=90).met and not Figure("a", 89.9, "%", at_least=90).met
    assert Figure("a", 1.0, "%", at_least=90).promised == "≥ 90 %" and Figure("a", 1.0, "s", 2.0).promised == "≤ 2 s"
