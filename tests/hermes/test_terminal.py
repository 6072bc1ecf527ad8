"""What a person at the terminal gets: `hermes -z`, `chat -q`, a resumed session, cron, the pass-through command."""

from __future__ import annotations

import json

from support.hermes_home import lines_of
from support.model_server import Fail

from hermes.conftest import Installed


def test_what_was_told_in_one_session_stands_in_the_prompts_of_two_others(home: Installed) -> None:
    home.hermes.oneshot("For the record: our staging database is named heron and it stands in Frankfurt.")
    home.hermes.oneshot("Please explain what a Bloom filter is good for.")
    bloom = home.hermes.sessions()[-1]
    home.memory_os.settle()

    second = home.chat("What is the name of our staging database?")
    assert "heron" in second.injected
    assert all("heron" not in text for text in second.user_texts[:-1]), "it was recalled, not in the history"

    third = home.chat("In which city does our staging database stand?", "--resume", bloom)
    assert "Bloom filter" in third.user_texts[0], "the session was resumed"
    assert "Frankfurt" in third.injected


def test_the_block_is_stored_beside_the_message_and_the_message_itself_stays_clean(home: Installed) -> None:
    home.hermes.oneshot("The release train of project Tamarind leaves every second Tuesday.")
    home.memory_os.settle()
    home.chat("When does the release train of project Tamarind leave?")
    content, sent = home.hermes.state(
        "SELECT content, api_content FROM messages WHERE role = 'user' AND content LIKE 'When does the release train%'"
    )[-1]
    assert "second Tuesday" in sent and "<memory-context>" in sent
    assert content == "When does the release train of project Tamarind leave?"


def test_an_unrelated_question_and_small_talk_get_nothing(home: Installed) -> None:
    home.hermes.oneshot("My sister's allotment is number 41, behind the old waterworks.")
    home.memory_os.settle()
    assert home.chat("How do I reverse a linked list in Rust?").injected == ""
    assert home.chat("thanks a lot!").injected == ""


def test_a_turn_that_fails_at_the_model_is_no_memory_and_breaks_nothing(home: Installed) -> None:
    home.model.script("The vault of the archive opens with 7731", Fail(400))
    home.hermes.chat("The vault of the archive opens with 7731, remember that.", expect=None)
    home.hermes.chat("What grows on the roof of the archive?")
    home.memory_os.settle()
    assert not home.memory_os.rows("SELECT 1 FROM messages WHERE role = 'assistant' AND text LIKE '%HTTP 400%'")


def test_a_cron_job_is_neither_given_memory_nor_remembered(home: Installed) -> None:
    home.hermes.oneshot("The greenhouse sensor Maple reports in degrees Fahrenheit.")
    home.memory_os.settle()
    home.hermes.run("cron", "create", "every 2h", "In which unit does the greenhouse sensor Maple report?")
    job = json.loads((home.hermes.path / "cron" / "jobs.json").read_text("utf-8"))["jobs"][-1]["id"]
    home.hermes.run("cron", "run", job)
    home.hermes.run("cron", "remove", job)
    request = home.model.turn("running as a scheduled cron job")
    assert "sensor Maple report?" in request.prompt and request.blocks == []
    home.memory_os.settle()
    assert not home.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE '%sensor Maple report?%'")


def test_hermes_passes_its_memory_os_command_through(home: Installed) -> None:
    status = json.loads(home.hermes.run("memory-os", "status", "--json", expect=None))
    assert status["running"] is True
    assert status["service"]["pid"] == home.memory_os.pid


def test_one_turn_gives_one_block_with_each_line_once(home: Installed) -> None:
    """The hooks and the provider façade serve one turn together; only one of them may speak."""
    home.hermes.oneshot("The ferry to Norderoog needs a booking two days ahead.")
    home.memory_os.settle()
    request = home.oneshot("How long ahead must the ferry to Norderoog be booked?")
    assert request.prompt.count("<memory-context>") == 1
    lines = lines_of(request.blocks)
    assert len(lines) == len(set(lines)) and "two days ahead" in request.injected
    home.memory_os.settle()
    stored = home.memory_os.rows("SELECT count(*) FROM messages WHERE text LIKE 'How long ahead must the ferry%'")
    assert stored == [(len(home.model.turns("How long ahead must the ferry")),)]
