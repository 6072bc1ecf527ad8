"""The tools as the model sees and calls them, and what becomes of what they write."""

from __future__ import annotations

import json
import re

from support.hermes_home import Gateway
from support.model_server import Say, call

from hermes.conftest import Installed

TOOLS = (
    *(f"fabric_{verb}" for verb in ("recall", "write", "search", "pending", "curate", "brief", "report", "telemetry")),
    *("fabric_init_obsidian", "fact_store", "fact_feedback", "qdrant_search", "memory_forget"),
    *(f"peer_{verb}" for verb in ("profile", "search", "context", "reasoning", "conclude")),
)


def test_the_model_sees_every_tool_exactly_once(served: Installed, gateway: Gateway) -> None:
    gateway.ask("Which tools are there?", key="tools")
    seen = served.model.turn("Which tools are there?").tools
    assert {name: seen.count(name) for name in TOOLS} == dict.fromkeys(TOOLS, 1)


def test_a_fact_that_the_model_stores_is_recalled_with_its_trust(served: Installed, gateway: Gateway) -> None:
    fact = "The telescope on the roof is a 90 mm refractor"
    served.model.script("store the telescope", call("fact_store", action="add", content=fact), Say("Stored."))
    gateway.ask("Please store the telescope in your facts.", key="astronomer")
    result = json.loads(served.model.turns("store the telescope")[-1].results[-1])
    assert "error" not in result, result
    served.memory_os.settle()
    block = served.ask(gateway, "What kind of telescope is on the roof?", key="astronomer").injected
    assert fact in block and re.search(r"\(f:[a-z2-7]{8}\).*trust 0\.\d\d", block)
    assert (
        fact
        not in served.ask(gateway, "Tell me what kind of telescope stands on the roof.", key="somebody-else").injected
    ), "a fact is its user's own"


def test_an_entry_that_one_user_writes_into_the_fabric_reaches_every_user(served: Installed, gateway: Gateway) -> None:
    served.model.script(
        "write it down for all",
        call(
            "fabric_write",
            type="decision",
            summary="Chlorine dosing of the fountain",
            content="The fountain is dosed with chlorine at six in the morning, by decision of the board.",
        ),
        Say("Written."),
    )
    gateway.ask("Now write it down for all of us.", key="warden")
    assert "error" not in json.loads(served.model.turns("write it down for all")[-1].results[-1])
    served.memory_os.settle()
    assert (
        "six in the morning"
        in served.ask(gateway, "At what time is the fountain dosed with chlorine?", key="visitor").injected
    )


def test_what_is_forgotten_is_gone_from_prompts_and_from_disk(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The spare tyre of the minibus is stored at Larch Garage.", key="forgetful")
    served.memory_os.settle()
    block = served.ask(gateway, "Where is the spare tyre of the minibus?", key="forgetful").injected
    found = re.search(r"\((s:[a-z2-7]{8})\)[^\n]*Larch Garage", block)
    assert found
    served.model.script("forget about the tyre", call("memory_forget", id=found[1]), Say("Forgotten."))
    gateway.ask("Please forget about the tyre.", key="forgetful")
    result = json.loads(served.model.turns("forget about the tyre")[-1].results[-1])
    assert "error" not in result, result
    assert (
        "Larch Garage"
        not in served.ask(gateway, "Tell me: where is the minibus's spare tyre stored?", key="forgetful").injected
    )
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE '%Larch Garage%'")


def test_what_the_hosts_memory_tool_writes_becomes_a_fact_and_is_not_said_twice(
    served: Installed, gateway: Gateway
) -> None:
    entry = "The coffee machine in the tower needs descaling every fortnight."
    served.model.script(
        "keep the coffee machine in mind", call("memory", target="memory", action="add", content=entry), Say("Kept.")
    )
    gateway.ask("Please keep the coffee machine in mind.", key="barista")
    served.memory_os.settle()
    assert served.memory_os.rows("SELECT count(*) FROM facts WHERE text = ?", entry) == [(1,)]
    request = served.ask(gateway, "How often does the coffee machine in the tower need descaling?", key="barista")
    assert entry in request.system, "the host's own MEMORY.md stands in the system prompt"
    assert entry not in request.injected


def test_a_wrong_argument_comes_back_as_an_error_that_says_what_to_change(served: Installed, gateway: Gateway) -> None:
    served.model.script("call it wrongly", call("fact_store", action="juggle"), Say("I see."))
    gateway.ask("Now call it wrongly.", key="tools")
    error = json.loads(served.model.turns("call it wrongly")[-1].results[-1])["error"]
    assert "juggle" in error and "search" in error
