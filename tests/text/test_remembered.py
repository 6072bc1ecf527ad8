"""What a memo of texts holds is bounded by their number and by their length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.remembered import Remembered


@given(st.lists(st.text(max_size=30)), st.integers(1, 6), st.integers(1, 60))
def test_it_answers_as_the_function_does_and_keeps_the_last_within_both_bounds(
    texts: list[str], most: int, characters: int
) -> None:
    memo = Remembered(len, most, characters)
    for text in texts:
        assert memo(text) == len(text)
        assert len(memo) <= most and (memo.characters <= characters or len(memo) == 1)
        assert memo.characters == sum(map(len, memo._known)) and text in memo._known


def test_a_text_asked_for_again_is_not_worked_out_again_and_stays_longest() -> None:
    asked: list[str] = []
    memo = Remembered(lambda text: asked.append(text) or text, 2, 1000)  # type: ignore[func-returns-value]
    for text in ("a", "b", "a", "c", "a", "b"):
        memo(text)
    assert asked == ["a", "b", "c", "b"]
