"""In the real Hermes: a decision is extracted, superseded in the next session, and recalled as it stands now."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from support.model_server import Say
from support.service import wait_until

from hermes.conftest import Installed, Make

_FIRST = "We decided today that the orders database of the bakery runs on MySQL 8."
_SECOND = "Change of plan: the orders database of the bakery runs on PostgreSQL 16 now."
_ASKED = "Which engine does the orders database of the bakery run on?"


def decided(statement: str) -> Say:
    fact = {"statement": statement, "subject": "orders database of the bakery", "relation": "engine", "category": "project",
            "turn": "T1", "confidence": 0.95}  # fmt: skip
    return Say(json.dumps({"facts": [fact]}))


def facts(home: Installed, *options: str) -> list[dict[str, Any]]:
    found = home.memory_os.json("facts", "list", *options, expect=None)
    return [one for one in found["results"] if "orders database" in one["text"]]


def extracted(home: Installed, text: str) -> None:
    """The service looks every 15 s; the machine may be busy."""
    wait_until(lambda: any(text in one["text"] for one in facts(home)), f"{text} is a fact", 120, 1.0)


# Three sessions, and the service looks for what is due every 15 s.
@pytest.mark.timeout(900)
def test_a_decision_is_extracted_superseded_and_recalled_as_it_stands(new_home: Make) -> None:
    home = new_home("bakery")
    # A session at rest is read at once; `chat` may end before it can tell that it is over.
    home.memory_os.run("config", "set", "understanding.idle_minutes", "0")
    home.memory_os.start()

    home.model.script("Answer with the JSON object", decided("The orders database of the bakery runs on MySQL 8."))
    home.chat(_FIRST)
    home.memory_os.settle()
    extracted(home, "MySQL 8")
    between = datetime.now(UTC).isoformat(timespec="seconds")

    home.model.script("Answer with the JSON object", decided("The orders database of the bakery runs on PostgreSQL 16."))
    home.chat(_SECOND)
    home.memory_os.settle()
    extracted(home, "PostgreSQL 16")
    home.memory_os.settle()

    (now,) = facts(home)
    assert now["text"].endswith("PostgreSQL 16.")
    (then,) = facts(home, "--as-of", between)
    assert then["text"].endswith("MySQL 8.") and then["valid_to"]
    versions = home.memory_os.json("facts", "history", now["id"])["results"]
    assert [one["id"] for one in versions] == [then["id"], now["id"]]

    asked = home.chat(_ASKED).injected
    assert f"({now['id']})" in asked and "PostgreSQL 16" in asked
    assert f"({then['id']})" not in asked

    reading = [one for one in home.model.requests if "Answer with the JSON object" in one.prompt]
    assert all(_FIRST not in one.prompt for one in reading[1:]), "no turn is read twice"
    assert home.memory_os.status()["understanding"]["turns"]["read"] >= 2
