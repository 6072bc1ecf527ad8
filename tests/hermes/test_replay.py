"""The replay pairs turns, keeps dates, and counts evidence only where it really stands."""

from __future__ import annotations

import time

from hermes.replay import Asked, evidence_found, report, turns_of


def document(number: int, session: str, speaker: str, text: str, when: str = "") -> dict[str, str]:
    return {"id": str(number), "session": session, "speaker": speaker, "text": text, "time": when}


def test_turns_are_paired_and_dated() -> None:
    turns = list(
        turns_of(
            [
                document(1, "a", "Keeper", "The lamp is lit.", "9:15 am on 3 March, 2024"),
                document(2, "a", "Keeper", "The fog came in.", "9:15 am on 3 March, 2024"),
                document(3, "a", "Pilot", "I see it.", "9:15 am on 3 March, 2024"),
                document(4, "a", "Keeper", "Good.", "9:15 am on 3 March, 2024"),
                document(5, "b", "Pilot", "Back again.", "March-20-2024"),
            ]
        )
    )
    assert [(turn.user, turn.assistant) for turn in turns] == [
        ("Keeper: The lamp is lit.\nKeeper: The fog came in.", "Pilot: I see it."),
        ("Keeper: Good.", ""),
        ("Pilot: Back again.", ""),
    ]
    days = [time.strftime("%Y-%m-%d", time.gmtime(turn.at)) for turn in turns]
    assert days == ["2024-03-03", "2024-03-03", "2024-03-20"]


def test_evidence_counts_where_it_is_quoted_whole_or_in_part_and_nowhere_else() -> None:
    block = (
        '[sessions]\n- (s:abcdefgh) 2024-03-03, user said: "Keeper: The lamp is lit at dusk by hand."\n'
        '- (s:abcdefgi) 2024-03-03, agent answered: "A very long explanation of the fog signal…"\n'
    )
    lamp = "The lamp is lit at dusk by hand."
    fog = "So: a very long explanation of the fog signal and of everything that follows from it."
    assert evidence_found(block, [lamp, fog, "The lamp is out, said somebody else entirely."]) == 2
    assert evidence_found("", [lamp]) == 0
    assert evidence_found(block, ["ok"]) == 0


def test_the_report_counts_questions_with_evidence_only() -> None:
    asked = [Asked("a", "1", 1, 2, 100, 0.1), Asked("b", "1", 2, 2, 300, 0.1), Asked("c", "2", 0, 0, 0, 0.1)]
    figures = report({"corpus": "x"}, 7, asked)
    assert figures["questions"] == 2
    assert figures["any evidence in the prompt"] == "100.0 %"
    assert figures["all evidence in the prompt"] == "50.0 %"
