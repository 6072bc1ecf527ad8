"""What the host tells a provider, or only hooks, besides turns: delegated work, `hermes memory`, and a word taken back."""

from __future__ import annotations

from support.hermes_home import Gateway
from support.model_server import Say, call
from support.service import wait_until

from hermes.conftest import Installed


def test_delegated_work_is_remembered_by_the_parent(served: Installed, gateway: Gateway) -> None:
    task = "Count the boats in the Yarrow basin"
    served.model.script("have the boats counted", call("delegate_task", goal=task), Say("It is done."))
    served.model.script(task, Say("There are fourteen boats in the Yarrow basin."))
    gateway.ask("Please have the boats counted.", key="harbourmaster")
    found = "SELECT text, session_id, scope FROM messages WHERE turn_id LIKE 'delegation:%' AND text LIKE '%Yarrow basin%'"
    wait_until(lambda: bool(served.memory_os.rows(found)), "the delegated work is in memory", 60)
    served.memory_os.settle()
    ((text, session, scope),) = served.memory_os.rows(found)
    assert f"Given to a subagent: {task}" in text and "fourteen boats" in text
    parents = served.memory_os.rows("SELECT session_id, scope FROM messages WHERE text = 'Please have the boats counted.'")
    assert parents == [(session, scope)], "in the session and memory of whoever asked"
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE role = 'user' AND text LIKE 'Count the boats%'")


def test_forget_that_deletes_what_stood_before_it(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The chandlery opens at nine.", key="regretful", session="regret")
    gateway.ask("My brother Anselm owes the chandler money.", key="regretful", session="regret")
    seen = served.ask(gateway, "Forget that, please.", key="regretful", session="regret").injected
    assert "leaves memory-os" in seen and "Anselm" not in seen
    anselm = "SELECT 1 FROM messages WHERE text LIKE '%Anselm%'"
    wait_until(lambda: not served.memory_os.spooled() and not served.memory_os.rows(anselm), "it is forgotten", 90)
    assert served.memory_os.rows("SELECT 1 FROM messages WHERE text = 'The chandlery opens at nine.'")


def test_hermes_memory_knows_us(home: Installed) -> None:
    config = home.hermes.path / "config.yaml"
    before = config.read_bytes()
    shown = home.hermes.run("memory", "status")
    assert "Provider:  memory-os" in shown and "available ✓" in shown and "← active" in shown
    assert f"home: {home.memory_os.home}" in shown and "service: running" in shown and "by the plugin's hooks" in shown
    try:
        assert "memory-os" in home.hermes.run("memory", "setup", "memory-os")
        assert "Provider:  memory-os" in home.hermes.run("memory", "status")
    finally:
        config.write_bytes(before)
