"""What an answer did with each line: on labelled turns in seven languages, and the rules one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from memory_os.ground_truth.attribution import Action, LineOutcome, attribute, contradiction
from memory_os.ground_truth.detection import Given
from memory_os.ground_truth.values import disagree, values
from support.library import real_embedder

FIXTURE = Path(__file__).parents[1] / "fixtures" / "attribution.json"
UNSEEN = FIXTURE.with_name("attribution_unseen.json")
PORT = Given("f:aaaaaaaa", "The staging gateway listens on port 8443.")
ASKED = "How do I reach the staging gateway?"


def labelled() -> Iterator[tuple[str, str, str, list[Given], list[Action], tuple[str, str]]]:
    """(language, question, answer, lines, actions, labels): the topic's own line, and the one beside it."""
    for language, topics in json.loads(FIXTURE.read_text("utf-8"))["topics"].items():
        for at, one in enumerate(topics):
            lines = [Given("f:aaaaaaaa", one["line"]), Given("f:bbbbbbbb", topics[(at + 1) % len(topics)]["line"])]
            for kind, answer, actions, label in (
                ("quoted", one["quoted"], [], "used"),
                ("paraphrased", one["paraphrased"], [], "used"),
                ("ignored", one["ignored"], [], "ignored"),
                ("followed", "OK.", [Action("terminal", one["followed"])], "used"),
                ("contradicted", one["contradicted"], [Action("terminal", "look", one["output"])], "contradicted"),
            ):
                yield f"{language} {kind}", one["question"], answer, lines, actions, (label, "ignored")


@cache
def vector(text: str) -> Any:
    return real_embedder().embed_passages([text])[0]


def meaning(line: Given, sentences: Sequence[str]) -> float | None:
    return max((float(vector(line.text) @ vector(one)) for one in sentences), default=None)


def figures(likeness: Any) -> tuple[dict[str, tuple[float, float]], Counter[tuple[str, str]]]:
    """Outcome -> (precision, recall), and the table of (label, found)."""
    table: Counter[tuple[str, str]] = Counter()
    for _, question, answer, lines, actions, labels in labelled():
        for use, label in zip(attribute(question, answer, lines, actions, likeness=likeness), labels, strict=True):
            table[label, use.outcome.value] += 1
    found = {
        one: (
            table[one, one] / max(sum(n for (_, other), n in table.items() if other == one), 1),
            table[one, one] / max(sum(n for (label, _), n in table.items() if label == one), 1),
        )
        for one in ("used", "ignored", "contradicted")
    }
    return found, table


@pytest.mark.parametrize("likeness", [lambda *_: None, meaning], ids=["words", "words and meaning"])
def test_precision_and_recall_on_labelled_turns(likeness: Any, record_property: Any) -> None:
    found, table = figures(likeness)
    for outcome, (precision, recall) in found.items():
        record_property(outcome, (precision, recall))
        print(f"{outcome}: precision {precision:.3f}, recall {recall:.3f}")
    assert found["used"][0] >= 0.95 and found["used"][1] >= 0.93, table
    assert found["contradicted"][0] >= 0.97 and found["contradicted"][1] >= 0.75, table
    assert found["ignored"][1] >= 0.98, table


def unseen(which: str, likeness: Any) -> Counter[tuple[str, str]]:
    """(label, found) over the turns that the rules were not made with."""
    table: Counter[tuple[str, str]] = Counter()
    for turn in json.loads(UNSEEN.read_text("utf-8"))["turns"]:
        if turn["set"] == which:
            actions = [Action(*action) for action in turn["actions"]]
            (use,) = attribute(turn["question"], turn["answer"], [Given("f:aaaaaaaa", turn["line"])], actions, likeness=likeness)
            table[turn["label"], use.outcome.value] += 1
    return table


@pytest.mark.parametrize(("which", "recall"), [("first", 0.95), ("second", 0.85)])
def test_contradictions_on_turns_written_before_the_rules_saw_them(which: str, recall: float) -> None:
    """No line is called contradicted that is not; what is missed is stated in docs/layers/7-ground-truth.md."""
    table = unseen(which, lambda *_: None)
    assert not [pair for pair in table if pair[1] == "contradicted" and pair[0] != "contradicted"], table
    found = table["contradicted", "contradicted"]
    assert found >= recall * sum(count for (label, _), count in table.items() if label == "contradicted"), table


def test_use_on_turns_written_before_the_rules_saw_them() -> None:
    table = unseen("first", meaning)
    assert table["used", "used"] >= 0.95 * sum(count for (label, _), count in table.items() if label == "used"), table
    assert not table["ignored", "used"] and not table["contradicted", "used"], table


def test_an_answer_that_says_the_opposite_did_not_use_the_line() -> None:
    """Whoever made it say so: by words and by meaning the two are near."""
    line = Given("f:aaaaaaaa", "Nightly recording is turned on for the roof antenna.")
    for said in ("Nightly recording of the roof antenna is turned off.", "It is disabled: nightly recording of the roof antenna."):
        assert attribute("Why?", said, [line], likeness=lambda *_: 0.9)[0].outcome is LineOutcome.IGNORED
    assert attribute("Why?", "Nightly recording of the roof antenna is turned on.", [line])[0].outcome is LineOutcome.USED


def test_the_labelled_turns_are_enough() -> None:
    turns = list(labelled())
    assert len(turns) >= 200 and len({name.split()[0] for name, *_ in turns}) >= 4
    held = json.loads(UNSEEN.read_text("utf-8"))["turns"]
    assert len(held) >= 130 and len({turn["language"] for turn in held}) == 7


def outcome(answer: str, *actions: Action, line: Given = PORT, question: str = ASKED) -> tuple[str, str]:
    (use,) = attribute(question, answer, [line], actions)
    return use.outcome.value, use.method


def test_each_way_of_using_a_line() -> None:
    assert outcome("See f:aaaaaaaa.") == ("used", "cited")
    assert outcome("It is on 8443.") == ("used", "quoted")
    assert outcome("Ask the gateway's owner; it listens behind a port.") == ("used", "paraphrased")
    assert outcome("Done.", Action("terminal", "curl staging:8443")) == ("used", "followed")
    assert outcome("I don't know how to reach it.") == ("ignored", "")


def test_a_value_of_the_question_proves_nothing() -> None:
    assert outcome("Port 8443 may be taken.", question="Is port 8443 free for the staging gateway?")[0] == "ignored"


def test_terminal_output_wins_only_when_the_answer_takes_it_over() -> None:
    output = Action("terminal", "ss -ltnp", 'LISTEN 0.0.0.0:9443 users:(("staging-gateway",pid=7))')
    assert outcome("The staging gateway is on 9443.", output) == ("contradicted", "terminal")
    assert outcome("The staging gateway is on 8443.", output)[0] == "used"
    same = Action("terminal", "ss -ltnp", 'LISTEN 0.0.0.0:8443 users:(("staging-gateway",pid=7))')
    assert outcome("Yes, 8443.", same)[0] == "used"
    other = Action("terminal", "ss -ltnp", 'LISTEN 0.0.0.0:9443 users:(("printer",pid=7))')
    assert outcome("The printer is on 9443.", other)[0] == "ignored"


def test_values_of_another_kind_do_not_contradict() -> None:
    line = "Backups of the fern archive are kept for 35 days."
    assert contradiction(line, "The archive has 12.5GB.", [Action("terminal", "du", "fern archive backups: 12.5GB")]) is None
    assert contradiction("No values here at all.", "It is 5.", [Action("terminal", "x", "no values here: 5")]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port 8443.", ["8443"]), ("端口7788。", ["7788"]), ("falke:5050", ["falke:5050"]), ("TIDE_TABLE=2026b", ["2026b"]),
        ("v2.4-rc1, 02:15", ["v2.4-rc1", "02:15"]), ("٣٥ يوما", ["35"]), ("0.0.0.0:9443", ["0.0.0.0:9443", "9443"]),
        ("tiles.orchard.example", ["tiles.orchard.example"]), ("nothing", []), ("", []),
    ],
)  # fmt: skip
def test_values(text: str, expected: list[str]) -> None:
    assert values(text) == expected


def test_huge_and_odd_texts_are_read() -> None:
    for odd in ("", "\x00" * 1000, "8" * 10**6, "a." * 10**5, "\ud800"):
        assert attribute(odd, odd, [PORT, Given("", odd)], [Action("terminal", odd, odd)])[0].outcome in LineOutcome


def test_two_texts_disagree_over_a_value_of_one_kind() -> None:
    assert disagree("The gateway is on port 8443.", "The gateway is on 9443 now.")
    assert not disagree("The gateway is on port 8443.", "Port 8443 is the gateway's, since 2024.")
    assert not disagree("The gateway is on port 8443.", "The gateway was named by Ines.")
