"""`memory-os bench model` measures a whole call; what it takes is not for a test to judge."""

from __future__ import annotations

import pytest
from memory_os_workers.bench import model


def test_it_measures_with_and_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_CALLS", 3)
    monkeypatch.setattr(model, "_WARM_UP", 1)
    without, with_client, added = model.run_model_bench()
    assert without.value > 0
    assert with_client.value > 0
    assert added.value == pytest.approx(with_client.value - without.value)
    assert added.limit == 5.0
