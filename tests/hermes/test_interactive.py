"""The interactive CLI on a pseudo-terminal: a new session, the slash command, compaction in place."""

from __future__ import annotations

from support.hermes_home import Terminal, lines_of
from support.model_server import CONTEXT_LENGTH, CallTool, Say, call

from hermes.conftest import Installed, Make

# Long enough that a summary of some turns is shorter than they are: 0.22 refuses one that is not.
_FILLER = " ".join(f"Paragraph {number} of a long and patient answer about mooring lines." for number in range(60))


def say(terminal: Terminal, installed: Installed, text: str) -> None:
    """One turn: type it, wait for the answer's mark on the screen."""
    mark = f"[{abs(hash(text)) % 10**8}]"
    installed.model.script(text, Say(f"{_FILLER} {mark}"))
    terminal.type(text)
    terminal.wait_for(mark)
    terminal.wait_until_quiet(1.0)


def keep(terminal: Terminal, installed: Installed, fact: str) -> None:
    """One turn in which the agent stores a fact."""
    text = "Please note how mooring lines are spliced."
    installed.model.script(text, call("fact_store", action="add", content=fact), Say("[it is noted]"))
    terminal.type(text)
    terminal.wait_for("[it is noted]")
    terminal.wait_until_quiet(1.0)


def fill_the_window(terminal: Terminal, installed: Installed) -> None:
    """One turn whose tool call is said to have filled most of the window: the host compacts by itself, in mid-turn."""
    text = "Which facts are noted about the moorings?"
    listing = CallTool([("fact_store", {"action": "list"})], prompt_tokens=int(CONTEXT_LENGTH * 0.9))
    installed.model.script(text, listing, Say("[the facts are listed]"))
    installed.model.script("You are a summarization agent", Say("The harbour pilot and mooring lines were discussed."))
    terminal.type(text)
    terminal.wait_for("[the facts are listed]")
    terminal.wait_until_quiet(2.0)


def test_a_new_session_of_the_same_process_recalls_the_last_one(home: Installed) -> None:
    with home.hermes.interactive() as terminal:
        say(terminal, home, "The hatch code of the observatory dome is orange-5512-lime.")
        home.memory_os.settle()
        terminal.type("/new")
        terminal.wait_until_quiet(1.0)
        terminal.type("")  # the host asks whether it may leave the old one
        terminal.wait_until_quiet(1.0)
        question = "What is the hatch code of the observatory dome?"
        request = home.see(lambda: say(terminal, home, question), question)
        terminal.type("/memory-os status")
        terminal.wait_for("memory-os")
        terminal.wait_until_quiet(1.0)
        terminal.type("/quit")
        terminal.wait_for_end()
    assert not request.user_texts[0].startswith("The hatch code"), "a new session"
    assert "orange-5512-lime" in request.injected


def test_a_line_comes_again_once_compaction_has_taken_it_away(new_home: Make) -> None:
    installed = new_home("compacting", compression={"protect_first_n": 0, "protect_last_n": 2})
    installed.memory_os.start()
    installed.hermes.oneshot("The harbour pilot's call sign is Kittiwake Seven.")
    installed.memory_os.settle()
    with installed.hermes.interactive() as terminal:
        first = "What is the harbour pilot's call sign?"
        assert "Kittiwake Seven" in installed.see(lambda: say(terminal, installed, first), first).injected
        keep(terminal, installed, "The mooring lines are spliced on Thursdays.")
        for number in range(4):
            say(terminal, installed, f"Question {number} about how mooring lines are spliced and stored")
        fill_the_window(terminal, installed)
        assert installed.hermes.state("SELECT count(*) FROM messages WHERE compacted = 1")[0][0] > 0
        again = "Once more, what call sign does the harbour pilot use?"
        request = installed.see(lambda: say(terminal, installed, again), again)
        terminal.type("/quit")
        terminal.wait_for_end()
    summarised = [one.prompt for one in installed.model.requests if "You are a summarization agent" in one.prompt]
    assert any("spliced on Thursdays" in prompt and "(f:" in prompt for prompt in summarised), "what is kept goes with it"
    told = [one for one in lines_of(request.blocks) if "call sign is Kittiwake Seven" in one]
    assert len(told) == 1 and "Kittiwake Seven" in request.injected

    installed.memory_os.settle()
    doubled = installed.memory_os.rows(
        "SELECT text FROM messages WHERE text LIKE 'Question % about how%' GROUP BY text HAVING count(*) > 1"
    )
    assert doubled == [], "rows that compaction wrote again count once"
    summaries = installed.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE '[CONTEXT COMPACTION%'")
    assert summaries == []
    sessions = installed.memory_os.rows("SELECT ended_at FROM understanding_sessions WHERE ended_at IS NOT NULL")
    assert sessions and installed.memory_os.status()["spool"]["rejected"] == 0, "the service was told before it"
