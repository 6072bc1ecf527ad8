"""What the slash command says, from what the service may answer."""

from __future__ import annotations

from typing import Any

import pytest
from memory_os_plugin import answers

STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "service": {"ready": True, "pid": 7, "memory_bytes": 5, "errors": 0},
    "layers": {f"{number} layer": {"state": "ok", "detail": "x" * 300, "cure": "", "figures": {}} for number in range(7)},
    "counters": {"recall_missed": {"value": 2, "last_at": 1_790_000_000.0, "last_reason": "timeout"}},
    "recalls": {"injected": 3, "nothing": 4, "p50_ms": 9.0},
    "spool": {"waiting": 1, "rejected": 0},
    "pending_embeddings": 5,
    "egress": [],
}


def test_status_fits_a_chat() -> None:
    lines = answers.status(STATUS, "/home").splitlines()
    assert len(lines) <= answers.STATUS_LINES_MAX
    assert lines[0] == "memory-os 0.1.0 ready, /home"
    assert max(map(len, lines)) < 200
    text = "\n".join(lines)
    assert "1 turns to be stored, 5 passages" in text and "injected 3, nothing 4" in text and "missed: 2 (last" in text
    assert lines[-1] == "leaves this machine: nothing"


def test_a_layer_in_trouble_stands_out_with_its_cure() -> None:
    layers = {"4 fabric": {"state": "degraded", "detail": "gone", "cure": "mount it"}}
    assert "! 4 fabric: degraded · gone · mount it" in answers.status({"layers": layers}, "/home")


def test_explain_says_why_and_lists_five_of_those_left_out() -> None:
    shown = {"handle": "f:abcdefgh", "text": "one\ntwo", "shown": True, "reason": "shown", "scores": {"probability": 0.831}}
    dropped = [{"handle": "", "text": "t" * 500, "shown": False, "reason": "below the floor", "scores": {}}] * 9
    text = answers.explain({"outcome": "injected", "at": 1_790_000_000.0, "lines": [shown, *dropped]})
    assert "+ (f:abcdefgh) one two [relevance 0.83]" in text
    assert text.count("below the floor") == answers.DROPPED_MAX and "5 of 9" in text
    assert max(map(len, text.splitlines())) < 200


def test_forgetting_that_left_something_says_so() -> None:
    text = answers.forgotten({
        "status": "incomplete", "forgotten": {"facts": 1}, "proof": {"found": 1}, "notes": ["A backup holds it."],
        "similar": [{"id": "s:abcdefgh", "text": "the same"}],
    })  # fmt: skip
    assert text.startswith("Not wholly forgotten: 1 fact. 1 place still holds it")
    assert "A backup holds it." in text and "- s:abcdefgh: the same" in text


@pytest.mark.parametrize("odd", [{}, {"layers": 3, "recalls": [], "lines": None, "counters": {"x": 1}, "context": None}])
def test_an_answer_of_another_version_breaks_nothing(odd: dict[str, Any]) -> None:
    for text in (answers.status(odd, ""), answers.recall(odd), answers.explain(odd), answers.report(odd), answers.forgotten(odd)):
        assert text
