"""`memory-os facts resolve`, `facts list --as-of` and `report --junk`, against a real service."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from workers.running import Home
from workers.test_cli import Command


@pytest.fixture
def warm(served: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(served, capsys, monkeypatch)


def add(warm: Command, text: str) -> str:
    return str(json.loads(warm("facts", "add", text, "--json")[1])["id"])


def test_a_pair_is_shown_side_by_side_settled_and_read_as_of_its_time(warm: Command) -> None:
    old = add(warm, "The ferry to the island leaves at 9 from pier 2.")
    then = datetime.now(UTC).isoformat()
    time.sleep(0.01)  # a moment later, by the clock of the facts
    new = add(warm, "The ferry to the island leaves at 11 from pier 2.")
    code, out, _ = warm("facts", "resolve")
    assert code == 1 and old in out and new in out and "possible since" in out
    code, out, _ = warm("facts", "resolve", new, old)
    assert code == 0 and f"`memory-os facts undo {old}` takes it back." in out and "action=" not in out
    code, out, _ = warm("facts", "resolve")
    assert code == 0 and "Nothing contradicts." in out
    listed = json.loads(warm("facts", "list", "--json")[1])["results"]
    assert [one["id"] for one in listed] == [new]
    held = json.loads(warm("facts", "list", "--as-of", then, "--json")[1])["results"]
    assert [one["id"] for one in held] == [old]
    assert warm("facts", "undo", old)[0] == 0
    assert warm("facts", "resolve", new, old, "--both")[0] == 0
    assert warm("facts", "resolve")[0] == 0, "what was judged consistent is no candidate any more"


def test_wrong_input(warm: Command) -> None:
    assert warm("facts", "resolve", "f:aaaaaaaa")[0] == 2
    assert warm("facts", "list", "--as-of", "yesterday")[0] == 2


def test_a_sample_of_nothing(warm: Command) -> None:
    code, out, _ = warm("report", "--junk")
    assert code == 0 and "Admitted: none" in out
    assert json.loads(warm("report", "--junk", "--json")[1]) == {"items": [], "admitted": {}, "turns": {}}
