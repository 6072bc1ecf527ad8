"""What is done about a rediscovery, and when the next mode is proposed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.ground_truth.detection import Given, Kind, Verdict
from memory_os.ground_truth.enforcement import TRIAL_S, Action, action_for, held_answer, next_mode, pointer, proposal

AGAIN = Verdict(Kind.REDISCOVERY, "f:aaaaaaaa")
LINE = Given("f:aaaaaaaa", "The gateway\nlistens on 8443. " + "x" * 900)


@pytest.mark.parametrize(
    ("mode", "action"), [("observe", Action.RUN), ("point", Action.POINT), ("hold", Action.HOLD)]
)
def test_each_mode(mode: str, action: Action) -> None:
    assert action_for(mode, AGAIN, held=(), call_key="k") is action


@given(st.sampled_from(["observe", "point", "hold"]), st.sampled_from([Kind.NEW, Kind.CHECK]))
def test_only_a_rediscovery_is_acted_on(mode: str, kind: Kind) -> None:
    assert action_for(mode, Verdict(kind, "f:aaaaaaaa"), held=(), call_key="k") is Action.RUN


def test_never_twice_for_the_same_call_or_the_same_line() -> None:
    assert action_for("hold", AGAIN, held={"k"}, call_key="k") is Action.RUN
    assert action_for("hold", AGAIN, held={"f:aaaaaaaa"}, call_key="other words") is Action.RUN


def test_the_words_name_the_line_and_fit() -> None:
    line = pointer("f:aaaaaaaa", [LINE])
    assert "(f:aaaaaaaa)" in line and "The gateway listens on 8443." in line and "\n" not in line and len(line) < 500
    assert "it will run" in held_answer("f:aaaaaaaa", [LINE])
    assert "(f:bbbbbbbb)" in pointer("f:bbbbbbbb", [LINE])


def test_the_next_mode_is_proposed_after_a_week_where_it_helps() -> None:
    assert next_mode("observe", 0, TRIAL_S, 100, 5.0) == "point"
    assert next_mode("point", 0, TRIAL_S, 100, 5.0) == "hold"
    for now, turns, rate in ((TRIAL_S - 1, 100, 5.0), (TRIAL_S, 3, 5.0), (TRIAL_S, 100, 0.2)):
        assert next_mode("observe", 0, now, turns, rate) == ""
    assert next_mode("hold", 0, TRIAL_S, 100, 5.0) == ""
    assert "memory-os config set ground_truth.mode point" in proposal("observe", 0, TRIAL_S, 100, 5.0)
    assert proposal("observe", 0, 1, 100, 5.0) == ""
