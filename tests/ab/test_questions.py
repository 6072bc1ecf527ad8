"""Question sets and the rules by which an answer is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.errors import BadRequest
from memory_os_workers.ab.questions import STARTER, Question, is_right, load


def test_the_starter_set_is_large_enough_and_consistent() -> None:
    starter = load(STARTER)
    assert len(starter.questions) >= 60 and sum(one.free for one in starter.questions) >= 10
    assert len({one.ask for one in starter.questions}) == len(starter.questions)
    stored = " ".join(starter.memories)
    for one in starter.questions:
        known = is_right(one, stored)
        assert known is not one.free or one.free, f"the memories answer it: {one.ask}"
        assert one.free or known, f"no memory answers: {one.ask}"


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        (Question("?", accept=("7411",)), "It is port 7411.", True),
        (Question("?", accept=("7411",)), "It is port 74110.", False),
        (Question("?", accept=("4", "four")), "Channel 4.", True),
        (Question("?", accept=("4", "four")), "Channel 14.", False),
        (Question("?", accept=("no",)), "I know nothing of it.", False),
        (Question("?", accept=("wader",)), "After WADERS", True),
        (Question("?", accept=("São Paulo",)), "sao paulo it is", True),
        (Question("?", accept=("Ольга",)), "Это Ольга Брандт", True),
        (Question("?", accept=("端口",)), "监听端口七", True),
        (Question("?", required=("last", "Friday")), "On the last friday.", True),
        (Question("?", required=("last", "Friday")), "On Friday.", False),
        (Question("?", exact=("Lisbon",)), " lisbon. ", True),
        (Question("?", exact=("Lisbon",)), "It is Lisbon.", False),
        (Question("?", accept=("x1",)), "", False),
    ],
)
def test_rules(question: Question, answer: str, right: bool) -> None:
    assert is_right(question, answer) is right


@pytest.mark.parametrize(
    "text", ["", "5", "questions: []", "questions: [{ask: x}]", "questions: [5]", "free: [{accept: [a]}]", "a: [", "\ud800"]
)
def test_a_set_that_cannot_be_used_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadRequest):
        load(path)
    with pytest.raises(BadRequest):
        load(tmp_path / "absent.yaml")
