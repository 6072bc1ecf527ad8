"""Ground truth in the real Hermes: what becomes of a search for what stands in the prompt, in each mode.

One gateway a line. Its service is started anew for each mode; turns are told apart by a word of their own.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.hermes_home import Gateway
from support.model_server import Reply, Request, Say, call
from support.service import wait_until

from hermes.conftest import Installed, Make

FACT = "The orchard gateway listens on port 8443"
PUMP = "The cellar pump of the mill starts at level 40"
SEARCH = call("session_search", query="orchard gateway port")
KEY = "gardener"
_marks = itertools.count(1)


@pytest.fixture(scope="module")
def orchard(new_home: Make) -> Installed:
    """A home that knows one fact. Every tool stands in the model's list, on the newer line too."""
    installed = new_home("orchard", tools={"tool_search": {"enabled": False}})
    installed.memory_os.start()
    return installed


@pytest.fixture(scope="module")
def gate(orchard: Installed) -> Iterator[Gateway]:
    with orchard.hermes.gateway() as running:
        for name, fact in (("gateway", FACT), ("pump", PUMP)):
            orchard.model.script(f"keep the {name}", call("fact_store", action="add", content=fact), Say("Kept."))
            running.ask(f"Please keep the {name}.", key=KEY)
        orchard.memory_os.settle()
        yield running


class Told:
    """One turn: what the model was sent after its tool calls, and what stands on record."""

    def __init__(self, requests: list[Request], rows: list[tuple[Any, ...]]) -> None:
        self.results = requests[-1].results
        self.rows = rows


def turn(
    orchard: Installed, gate: Gateway, *replies: Reply, message: str = "Which port does the orchard gateway use?",
    expect: str = "8443",
) -> Told:  # fmt: skip
    """Ask once, with these replies of the model. Put again where the machine was too busy for a deadline of ours."""
    for _ in range(8):
        # A mark that says nothing, so that each turn is known by its message.
        text = f"{message} [{'•' * next(_marks)}]"
        orchard.model.script(text, *replies)
        missed = faults(orchard)
        request = orchard.ask(gate, text, key=KEY)
        orchard.memory_os.settle()
        wait_until(lambda: settled(orchard), "every answered turn was looked at")
        if faults(orchard) == missed and expect in request.injected:
            break
    rows = orchard.memory_os.rows(
        "SELECT verdict, action, handle FROM tool_calls WHERE turn_id = (SELECT turn_id FROM recalls ORDER BY rowid DESC LIMIT 1)"
        " ORDER BY id"
    )
    return Told(orchard.model.turns(text), rows)


def faults(orchard: Installed) -> int:
    """Checks and recalls that had no answer in time."""
    rows = orchard.memory_os.rows("SELECT sum(value) FROM counters WHERE name IN ('plugin_faults', 'recall_missed')")
    return int(rows[0][0] or 0)


def settled(orchard: Installed) -> bool:
    return not orchard.memory_os.rows(
        "SELECT 1 FROM recalls r WHERE tokens > 0 AND EXISTS(SELECT 1 FROM messages m WHERE m.turn_id = r.turn_id)"
        " AND NOT EXISTS(SELECT 1 FROM line_uses u WHERE u.turn_id = r.turn_id)"
    )


def in_mode(orchard: Installed, mode: str) -> None:
    orchard.memory_os.run("config", "set", "ground_truth.mode", mode)
    orchard.memory_os.stop()
    orchard.memory_os.start()


def trust(orchard: Installed, fact: str = FACT) -> tuple[float, float]:
    """(support, against) of a fact."""
    return orchard.memory_os.rows("SELECT support, against FROM facts WHERE text = ?", fact)[0]  # type: ignore[return-value]


def test_observe_counts_and_changes_nothing(orchard: Installed, gate: Gateway) -> None:
    before = trust(orchard)
    told = turn(orchard, gate, SEARCH, Say("It is port 8443."))
    assert [row[:2] for row in told.rows] == [("rediscovery", "")] and told.rows[0][2].startswith("f:")
    assert "memory-os" not in told.results[-1] and json.loads(told.results[-1])
    support, against = trust(orchard)
    assert support > before[0] and against == before[1], "the answer gave the port: the fact was used"


def test_verdicts_of_other_calls(orchard: Installed, gate: Gateway) -> None:
    new = turn(orchard, gate, call("session_search", query="orchard harvest festival date"), Say("I found nothing."))
    assert [row[0] for row in new.rows] == ["new"]
    asked = turn(orchard, gate, SEARCH, Say("8443."), message="Search our old sessions for the orchard gateway port, please.")
    assert [row[0] for row in asked.rows] == ["check"]
    acts = turn(orchard, gate, call("fact_store", action="add", content="The orchard gateway is painted green"), Say("Kept."))
    assert acts.rows == []


def test_a_terminal_that_says_otherwise_lowers_the_trust(orchard: Installed, gate: Gateway) -> None:
    before = trust(orchard, PUMP)
    asked = "At which level does the cellar pump of the mill start?"
    look = call("terminal", command="echo 'cellar pump of the mill starts at level 55'")
    turn(orchard, gate, look, Say("The cellar pump of the mill starts at level 55."), message=asked, expect="level 40")
    assert trust(orchard, PUMP)[1] > before[1]
    report = orchard.memory_os.json("report")
    assert [one["text"] for one in report["reviews"]] == [PUMP] and "55" in report["reviews"][0]["evidence"]
    search = call("session_search", query="cellar pump mill level")
    torn = turn(orchard, gate, search, Say("It depends."), message=asked, expect="level 40")
    assert [row[0] for row in torn.rows] == ["check"], "what was found out since disagrees: looking again is right"


def test_point_names_the_line_before_the_result(orchard: Installed, gate: Gateway) -> None:
    in_mode(orchard, "point")
    turn(orchard, gate, Say("8443."))
    told = turn(orchard, gate, SEARCH, Say("Port 8443."))
    assert [row[:2] for row in told.rows] == [("rediscovery", "pointed")]
    first, _, rest = told.results[-1].partition("\n")
    assert first.startswith("[memory-os: ") and "8443" in first and told.rows[0][2] in first
    assert json.loads(rest), "the result itself is whole"
    ours = turn(orchard, gate, call("qdrant_search", query="orchard gateway port"), Say("Port 8443."))
    assert ours.results[-1].startswith("[memory-os: ")


def test_hold_answers_once_and_the_repeat_runs(orchard: Installed, gate: Gateway) -> None:
    in_mode(orchard, "hold")
    turn(orchard, gate, Say("8443."))
    told = turn(orchard, gate, SEARCH, SEARCH, SEARCH, Say("Port 8443."))
    held, again, third = told.results[-3:]
    assert held.startswith("memory-os did not run this search") and "8443" in held
    assert "did not run" not in again + third, "never twice"
    assert [row[:2] for row in told.rows] == [("rediscovery", "held"), ("rediscovery", ""), ("rediscovery", "")]


def test_hold_lets_other_calls_through(orchard: Installed, gate: Gateway) -> None:
    asked = turn(orchard, gate, SEARCH, Say("8443."), message="Look it up in our sessions: the orchard gateway port.")
    assert "did not run" not in asked.results[-1]
    acts = turn(orchard, gate, call("fact_store", action="add", content="The orchard gateway has two hinges"), Say("Kept."))
    assert "error" not in json.loads(acts.results[-1])


def test_a_subagent_searches_freely(orchard: Installed, gate: Gateway) -> None:
    orchard.model.script("dig for the gateway", SEARCH, Say("The child found 8443."))
    delegate = call("delegate_task", goal="dig for the gateway: orchard gateway port", context="none")
    turn(orchard, gate, delegate, Say("Port 8443."))
    inner = orchard.model.turns("dig for the gateway")
    assert inner, "the subagent ran"
    assert not any("did not run" in result for request in inner for result in request.results)


def test_switched_off_in_mid_session_nothing_is_held(orchard: Installed, gate: Gateway) -> None:
    identity = orchard.memory_os.rows("SELECT session_id FROM recalls ORDER BY rowid DESC LIMIT 1")
    assert identity
    in_mode(orchard, "observe")
    turn(orchard, gate, Say("8443."))
    told = turn(orchard, gate, SEARCH, Say("Port 8443."))
    assert "memory-os" not in told.results[-1]
