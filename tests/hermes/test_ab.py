"""`memory-os ab` with the real Hermes, on and off, over a set of two questions."""

from __future__ import annotations

import json

from support.model_server import Say

from hermes.conftest import Make

SET = """
project: The lantern
memories:
  - The lantern of the pier is lit at 18:45.
questions:
  - {ask: When is the lantern of the pier lit?, accept: ["18:45"]}
free:
  - {ask: What is two and two?, accept: ["4", four]}
"""


def test_the_same_questions_are_asked_with_memory_and_without(blank_home: Make) -> None:
    home = blank_home("ab")
    (home.hermes.path / "set.yaml").write_text(SET, "utf-8")
    before = (home.hermes.path / "config.yaml").read_bytes()
    home.model.script("lantern of the pier", Say("It is lit at 18:45."))
    home.model.script("two and two", Say("It is 4."))
    found = json.loads(home.memory_os.run("ab", str(home.hermes.path / "set.yaml"), "--json", expect=None, timeout=280).stdout)
    asked = [request for request in home.model.requests if request.of_the_agent]
    assert ["18:45" in request.injected for request in asked if "lantern" in request.typed] == [True, False]
    assert [(run["memory"], run["free"], run["right"], run["error"]) for run in found["runs"]] == [
        (True, False, True, ""), (False, False, True, ""), (True, True, True, ""), (False, True, True, ""),
    ]  # fmt: skip
    assert found["runs"][0]["from_memory"] and not found["runs"][1]["from_memory"] and found["runs"][0]["tokens"] > 0
    assert found["figures"]["memory"]["on"]["from_memory"]["share"] == 1.0
    assert (home.hermes.path / "config.yaml").read_bytes() == before
    assert not (home.hermes.path / "memory-os" / "memory.db").exists(), "nothing of the user's own was touched"
