"""Intervals and paired differences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_workers.ab.figures import Run, bootstrap, summary, wilson


def test_wilson_is_the_textbooks() -> None:
    """Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, 15 of 148, 0 of 20."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_holds_the_share(pair: tuple[int, int]) -> None:
    low, high = wilson(*pair)
    assert 0 <= low <= pair[0] / pair[1] + 1e-12 and pair[0] / pair[1] - 1e-12 <= high <= 1


def test_the_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    low, high = bootstrap(values)
    assert (low, high) == bootstrap(values) and low < 2.5 < high
    assert bootstrap([]) == (0.0, 0.0) and bootstrap([2.0] * 5) == (2.0, 2.0)


def run(question: str, *, memory: bool, right: bool, free: bool = False, tokens: int = 100, error: str = "") -> Run:
    return Run(question, free, memory, "a", right, memory and right, 1, tokens, 2.0, error)


def test_differences_are_of_pairs_and_failures_are_left_out() -> None:
    runs = [
        run("a", memory=True, right=True, tokens=150), run("a", memory=False, right=False),
        run("b", memory=True, right=True, tokens=130), run("b", memory=False, right=True),
        run("c", memory=True, right=False, error="none"), run("c", memory=False, right=True),
        run("f", memory=True, right=True, free=True), run("f", memory=False, right=True, free=True),
    ]  # fmt: skip
    found = summary(runs)
    memory = found["memory"]
    assert memory["questions"] == 3 and memory["failed"] == 1
    assert memory["on"]["right"]["share"] == 1.0 and memory["off"]["right"]["share"] == pytest.approx(2 / 3)
    assert memory["difference"]["right"]["mean"] == 0.5 and memory["difference"]["tokens"]["mean"] == 40
    assert found["free"]["difference"]["right"]["mean"] == 0.0
    assert "free" not in summary(runs[:6])
