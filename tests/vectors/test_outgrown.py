from __future__ import annotations

import pytest
from memory_os.vectors.outgrown import outgrown


def test_a_large_memory_with_slow_recalls_is_told_what_to_do() -> None:
    told = outgrown(120_000, 140.4, "")
    assert "140 ms" in told and "120,000 passages" in told and "Qdrant server" in told and "docs/scale.md" in told


@pytest.mark.parametrize(
    ("passages", "p95_ms", "url"), [(49_999, 900.0, ""), (1_000_000, 100.0, ""), (120_000, 140.0, "http://127.0.0.1:6333")]
)
def test_small_fast_or_on_a_server_there_is_nothing_to_say(passages: int, p95_ms: float, url: str) -> None:
    assert outgrown(passages, p95_ms, url) == ""
