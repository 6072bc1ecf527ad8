"""`memory-os report` for a person: what stands there, and which spans are understood."""

from __future__ import annotations

import io
import time
from typing import Any

import click
import pytest
from memory_os_workers.cli.report import _render, _since
from rich.console import Console

LAYER = {"turns": 2, "lines": 5, "tokens": 300, "used": 3, "ignored": 1, "contradicted": 1}
DAY = {**LAYER, "injections": 2, "rediscoveries": 1, "misses": 1, "small_talk": 1, "late": 4}
FOUND: dict[str, Any] = {
    "since": 1_790_000_000.0, "until": 1_790_090_000.0, "mode": "observe", "mode_since": 1_789_000_000.0,
    "days": {"2026-09-21": DAY},
    "total": {
        **DAY, "look_ups": 4, "held": 0, "pointed": 0, "checks": 2, "rediscovery_tokens": 90, "rediscovery_ms": 1500.0,
        "rediscoveries_per_100": 50.0, "layers": {"facts": LAYER},
    },
    "misses": [{"at": 1_790_000_000.0, "tool": "session_search", "query": "ferry", "handle": "s:abcdefgh", "text": "The ferry\nleaves"}],
    "trust": [{"handle": "f:abcdefgh", "before": 0.5, "after": 0.53, "text": "port 1"}],
    "reviews": [{"handle": "f:bcdefghi", "text": "port 2", "tool": "terminal", "at": 1_790_000_000.0, "evidence": "port 3"}],
    "proposal": "try point",
}  # fmt: skip


def rendered(found: dict[str, Any]) -> str:
    out = Console(file=io.StringIO(), width=160, markup=False, highlight=False)
    _render(out, found)
    return out.file.getvalue()  # type: ignore[attr-defined]


def test_everything_that_was_found_stands_there() -> None:
    text = rendered(FOUND)
    for said in (
        "1 small talk, 4 answered too late", "Lines used: 60 % of 5", "50.0 per 100 turns", "90 tokens, 1.5 s", "2026-09-21", "facts",
        "'ferry' -> (s:abcdefgh) The ferry leaves",
        "(f:abcdefgh) 0.50 -> 0.53", "(f:bcdefghi) port 2 | terminal", "Proposal: try point", "#" * 18 + "." * 6 + "x" * 6,
    ):  # fmt: skip
        assert said in text, said


def test_an_empty_time_says_so() -> None:
    empty = {**FOUND, "total": {"turns": 0}, "days": {}, "misses": [], "trust": [], "reviews": [], "proposal": ""}
    assert "No turn was asked for" in rendered(empty)


def test_spans_and_days_are_understood() -> None:
    context, parameter = click.Context(click.Command("report")), click.Option(["--since"])
    for span, seconds in (("36h", 36 * 3600), ("7d", 7 * 86_400), ("2w", 14 * 86_400)):
        before = time.time()
        assert before - seconds <= _since(context, parameter, span) <= time.time() - seconds
    assert _since(context, parameter, "2026-11-23") == 1_795_392_000.0
    for wrong in ("", "yesterday", "7", "-3d", "2026-13-01"):
        with pytest.raises(click.BadParameter):
            _since(context, parameter, wrong)
