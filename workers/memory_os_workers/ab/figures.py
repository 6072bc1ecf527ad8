"""Shares with Wilson's interval, means with a bootstrap interval, of paired runs. Pure and repeatable.

Wilson, E. B. (1927), JASA 22: the score interval, which holds for small samples and shares near 0 or 1. Efron & Tibshirani,
An Introduction to the Bootstrap (1993), chapter 13: percentile intervals; the pairs are drawn, since both runs had the
same question.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

Z_95 = 1.959963984540054
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Run:
    """One question asked once."""

    question: str
    free: bool
    memory: bool
    answer: str
    right: bool
    from_memory: bool
    tool_calls: int
    tokens: int
    seconds: float
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % score interval of a share; (0, 1) of nothing."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, Z_95**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z_95 * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def bootstrap(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """The 95 % percentile interval of a mean."""
    if not values:
        return 0.0, 0.0
    drawn = random.Random(seed)  # noqa: S311 - repeatable on purpose
    means = sorted(sum(drawn.choices(values, k=len(values))) / len(values) for _ in range(_DRAWS))
    return means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS) - 1]


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """The figures of each group (questions of memory, and free ones), on, off, and the difference."""
    return {
        name: _group([run for run in runs if run.free is free])
        for name, free in (("memory", False), ("free", True))
        if any(run.free is free for run in runs)
    }


def _group(runs: Sequence[Run]) -> dict[str, Any]:
    on, off = ([run for run in runs if run.memory is memory and not run.error] for memory in (True, False))
    right_off = {run.question: run for run in off}
    pairs = [(run, right_off[run.question]) for run in on if run.question in right_off]
    return {
        "questions": len({run.question for run in runs}),
        "failed": sum(bool(run.error) for run in runs),
        "on": _side(on),
        "off": _side(off),
        "difference": {
            name: _mean([float(getattr(a, name)) - float(getattr(b, name)) for a, b in pairs])
            for name in ("right", "tool_calls", "tokens", "seconds")
        },
    }


def _side(runs: Sequence[Run]) -> dict[str, Any]:
    shares = {name: sum(getattr(run, name) for run in runs) for name in ("right", "from_memory")}
    return {
        "answered": len(runs),
        **{name: {"share": hits / len(runs) if runs else 0.0, "interval": wilson(hits, len(runs))} for name, hits in shares.items()},
        **{name: _mean([float(getattr(run, name)) for run in runs]) for name in ("tool_calls", "tokens", "seconds")},
    }


def _mean(values: Sequence[float]) -> dict[str, Any]:
    return {"mean": sum(values) / len(values) if values else 0.0, "interval": bootstrap(values)}
