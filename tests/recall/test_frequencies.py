"""What a word weighs: counted over all passages, of one question's words once each."""

from __future__ import annotations

from memory_os.recall.frequencies import Frequencies, Sizes
from support.library import Library


def test_what_nobody_has_said_is_looked_for_once_a_question_and_found_by_the_next(words_only: Library) -> None:
    for number in range(3):
        words_only.remember(f"The gateway forwards entry {number}.")
    frequencies = Frequencies(words_only.index, Sizes(words_only.index))
    question = frequencies.of_one_question()
    assert (question.count("gateway"), question.count("quic")) == (3, 0)
    words_only.remember("The gateway speaks quic.")
    assert question.count("quic") == 0
    assert frequencies.of_one_question().count("quic") == 1
    assert question.weight("quic") > question.weight("gateway")
