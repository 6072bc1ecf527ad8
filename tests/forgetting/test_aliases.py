"""A sender who becomes the person at the machine (`scopes.aliases`): what they said before is theirs, to read and to forget."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from memory_os.engine import Engine
from memory_os.sessions.scopes import scope_for
from support.library import settings_of

ALIASES = 'scopes:\n  aliases:\n    "telegram:42": local\n'
SENDER, LOCAL, OTHER = "telegram:42", "local", "telegram:7"
SAID = "The boathouse key hangs behind the green barometer."
FACT = "The mooring in Lagos costs 310 a month."


class Home:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def tool(self, name: str, user: str, **arguments: Any) -> dict[str, Any]:
        return self.engine.call_tool(name, arguments, {"user": user, "profile": "default", "platform": "cli", "session_id": "s9"})

    def said(self, text: str, user: str, session: str) -> None:
        record = {
            "v": 1, "type": "turn", "turn_id": f"{session}:{user}:{text[:9]}", "session_id": session, "platform": "telegram",
            "user": user, "profile": "default", "at": time.time() - 3600, "user_message": text, "assistant_response": "Noted.",
        }  # fmt: skip
        folder = self.engine.settings.spool_dir
        folder.mkdir(exist_ok=True)
        (folder / f"{time.time_ns():020}-0000000a.json").write_text(json.dumps(record), "utf-8")
        self.engine.drain_spool()

    def recalled(self, user: str) -> str:
        payload = {"v": 1, "turn_id": f"t{time.time_ns()}", "session_id": "s9", "platform": "cli", "user": user,
                   "profile": "default", "user_message": "Where does the boathouse key hang, behind which barometer?"}  # fmt: skip
        return str(self.engine.recall({**payload, "dry_run": True})["context"])

    def facts(self, user: str) -> list[str]:
        return [one["text"] for one in self.tool("fact_store", user, action="list")["results"]]

    def sees(self, user: str) -> tuple[bool, bool, bool]:
        """By recall, in the list of facts, and by what `forget --query` would take."""
        found = json.dumps(self.tool("memory_forget", user, query="boathouse key barometer", preview=True), ensure_ascii=False)
        return SAID in self.recalled(user), FACT in self.facts(user), SAID in found

    def held(self) -> tuple[int, int]:
        count = self.engine.store.value
        return int(count("SELECT count(*) FROM messages")), int(count("SELECT count(*) FROM facts"))


@contextmanager
def opened(home: Path, config: str = "") -> Iterator[Home]:
    engine = Engine.open(settings_of(home, config))
    try:
        yield Home(engine)
    finally:
        engine.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which a sender of a gateway said something, before anybody said whose sender that is."""
    with opened(tmp_path) as made:
        made.said(SAID, SENDER, "g1")
        made.tool("fact_store", SENDER, action="add", content=FACT)
        made.said("The neighbour keeps eleven grey geese.", OTHER, "g2")
        assert made.sees(SENDER) == (True, True, True) and made.sees(LOCAL) == (False, False, False)
    return tmp_path


def test_what_a_sender_said_before_is_the_persons_and_nobody_elses(home: Path) -> None:
    with opened(home, ALIASES) as made:
        assert made.sees(SENDER) == made.sees(LOCAL) == (True, True, True)
        assert made.sees(OTHER) == (False, False, False)


def test_what_is_said_now_lies_with_the_person_and_without_the_alias_all_is_as_before(home: Path) -> None:
    with opened(home, ALIASES) as made:
        made.tool("fact_store", SENDER, action="add", content="The dinghy is called Petrel.")
        assert sorted(made.facts(LOCAL)) == sorted([FACT, "The dinghy is called Petrel."])
    with opened(home, "scopes:\n  aliases: {}\n") as made:
        assert made.sees(SENDER) == (True, True, True) and made.sees(LOCAL) == (False, False, False)
        assert made.facts(SENDER) == [FACT] and made.facts(LOCAL) == ["The dinghy is called Petrel."]


@pytest.mark.parametrize("user", [SENDER, LOCAL])
def test_all_mine_takes_what_was_said_under_every_name(home: Path, user: str) -> None:
    with opened(home, ALIASES) as made:
        made.said("The sail loft opens at nine.", LOCAL, "c1")
        result = made.tool("memory_forget", user, all_mine=True, confirm="all my memory")
        assert result["status"] == "forgotten" and made.held() == (2, 0), "the other sender's turn alone is left"
        assert "geese" in json.dumps(made.tool("memory_forget", OTHER, query="neighbour grey geese", preview=True))
    assert SAID.encode() not in made.engine.settings.database.read_bytes()
    with opened(home, "scopes:\n  aliases: {}\n") as made:
        assert made.sees(SENDER) == (False, False, False)


@pytest.mark.parametrize("user", [SENDER, LOCAL])
def test_a_query_a_session_and_an_id_reach_it(home: Path, user: str) -> None:
    with opened(home, ALIASES) as made:
        handle = made.tool("fact_store", user, action="list")["results"][0]["id"]
        assert made.tool("memory_forget", user, id=str(handle))["status"] == "forgotten" and made.facts(user) == []
        assert made.tool("memory_forget", user, session="g1", preview=True)["would_forget"]["messages"] == 2
        result = made.tool("memory_forget", user, query="boathouse key barometer", confirm=True)
        assert result["status"] == "forgotten" and made.sees(user)[2] is False


def test_the_same_words_go_under_every_name(home: Path) -> None:
    with opened(home, ALIASES) as made:
        made.said(SAID, LOCAL, "c1")
        result = made.tool("memory_forget", LOCAL, query="boathouse key barometer", confirm=True)
        assert result["status"] == "forgotten"
        assert made.engine.store.value("SELECT count(*) FROM messages WHERE text = ?", (SAID,)) == 0


def test_a_fact_of_before_is_corrected_with_its_history(home: Path) -> None:
    with opened(home, ALIASES) as made:
        handle = made.tool("fact_store", LOCAL, action="list")["results"][0]["id"]
        made.tool("fact_store", LOCAL, action="update", fact_id=str(handle), content="The mooring in Lagos costs 340 a month.")
        assert made.facts(SENDER) == ["The mooring in Lagos costs 340 a month."]
        assert made.facts(LOCAL) == made.facts(SENDER)


def test_what_was_forgotten_under_one_name_does_not_come_back_under_another(home: Path) -> None:
    said_at = time.time() - 60
    with opened(home) as made:
        made.tool("memory_forget", SENDER, all_mine=True, confirm="all my memory")
    record = {
        "v": 1, "type": "memory_write", "action": "add", "target": "memory", "content": FACT, "user": SENDER, "platform": "telegram",
        "session_id": "g1", "profile": "default", "at": said_at,
    }  # fmt: skip
    with opened(home, ALIASES) as made:
        assert made.engine.capture.take(record).reason == "forgotten since" and made.facts(LOCAL) == []


def test_another_sender_cannot_forget_it(home: Path) -> None:
    with opened(home, ALIASES) as made:
        assert made.tool("memory_forget", OTHER, query="boathouse key barometer", preview=True)["status"] == "nothing"
        assert made.tool("memory_forget", OTHER, session="g1", preview=True)["status"] == "nothing"


def test_the_scopes_of_a_person() -> None:
    aliases = {"telegram:42": "local", "signal:9": "local", "telegram:7": "anna"}
    for user in ("telegram:42", "signal:9", "local", ""):
        assert scope_for(user, "", aliases).own == ("default/local", "default/signal:9", "default/telegram:42")
    assert scope_for("telegram:7", "p", aliases).own == ("p/anna", "p/telegram:7")
    assert scope_for("telegram:8", "", aliases).own == ("default/telegram:8",)
    assert scope_for("local", "", {"local": "local"}).own == ("default/local",)
    assert scope_for("local", "", aliases) == scope_for("local", "", {}), "it is the same scope to write to"
