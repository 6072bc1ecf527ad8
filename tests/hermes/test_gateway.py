"""Many users through the gateway's API server: whose memory is whose, what is recalled, what is never captured."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from support.hermes_home import Gateway, lines_of
from support.model_server import Fail, Say, call
from support.service import wait_until

from hermes.conftest import Installed, Line

# A picture of one pixel.
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

# Language, what is told, what is asked in another session, what must stand in the block.
IN_SEVEN_LANGUAGES = [
    ("en", "The spare key of the boathouse hangs behind the kayak.", "Where is the boathouse's spare key?", "kayak"),
    ("de", "Die Ersatzsicherung der Bühne liegt im Schrank.", "Wo liegt die Ersatzsicherung der Bühne?", "Schrank"),
    ("pt", "A senha da sala muda toda segunda-feira.", "Quando muda a senha da sala?", "segunda-feira"),
    ("ru", "Запасной генератор стоит в подвале под лестницей.", "Где стоит запасной генератор?", "подвале"),
    ("ar", "مولد الكهرباء الاحتياطي موجود خلف المصعد.", "أين يوجد مولد الكهرباء الاحتياطي؟", "المصعد"),
    ("zh", "备用发电机放在地下室的楼梯下面。", "备用发电机放在哪里？", "楼梯"),
    ("ja", "予備の発電機は地下の階段の下に置いてあります。", "予備の発電機はどこにありますか？", "階段"),
]


@pytest.mark.parametrize(("language", "told", "asked", "expected"), IN_SEVEN_LANGUAGES, ids=lambda value: value[:2])
def test_a_memory_is_found_in_its_own_language(
    served: Installed, gateway: Gateway, language: str, told: str, asked: str, expected: str
) -> None:
    gateway.ask(told, key=f"speaker-{language}")
    served.memory_os.settle()
    assert expected in served.ask(gateway, asked, key=f"speaker-{language}").injected


def test_a_japanese_question_finds_an_english_memory(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The emergency generator is tested on the first Monday of each month.", key="two-languages")
    served.memory_os.settle()
    assert "first Monday" in served.ask(gateway, "非常用発電機の点検はいつ行われますか？", key="two-languages").injected


@pytest.mark.parametrize("text", ["hello!", "thank you", "好的", "obrigado", "спасибо", "شكرا", "ありがとう", "👍"])
def test_small_talk_gets_nothing(served: Installed, gateway: Gateway, text: str) -> None:
    gateway.ask("My thank-you letters go out by post, never by e-mail.", key="small-talk")
    served.memory_os.settle()
    assert served.ask(gateway, text, key="small-talk").injected == ""


@pytest.mark.parametrize(
    "text", ["What is the boiling point of ethanol?", "Warum ist der Himmel blau?", "写一个快速排序"]
)
def test_an_unrelated_question_gets_nothing(served: Installed, gateway: Gateway, text: str) -> None:
    gateway.ask("The choir rehearses on Thursdays in the chapel on Mill Lane.", key="unrelated")
    served.memory_os.settle()
    assert served.ask(gateway, text, key="unrelated").injected == ""


def test_users_at_the_same_moment_never_see_each_others_words(served: Installed, gateway: Gateway) -> None:
    secrets = {f"tenant-{number}": f"My locker code is {5000 + number * 37} in the hall." for number in range(4)}

    def ask_all(text: Callable[[str], str]) -> None:
        with ThreadPoolExecutor(len(secrets)) as pool:
            list(pool.map(lambda key: gateway.ask(text(key), key=key), secrets))

    ask_all(secrets.__getitem__)
    served.memory_os.settle()
    ask_all(lambda key: f"I am {key}. What is my locker code in the hall?")
    for key, text in secrets.items():
        block = served.model.turn(f"I am {key}.").injected
        assert not [other for name, other in secrets.items() if name != key and other in block]
        block = served.ask(gateway, f"It is {key} again. Which locker code do I have in the hall?", key=key).injected
        assert text in block, f"{key} gets their own"
        assert not [other for name, other in secrets.items() if name != key and other in block]


def test_an_image_message_is_answered_captured_and_recalled(served: Installed, gateway: Gateway, line: Line) -> None:
    picture = {"type": "image_url", "image_url": {"url": PNG}}
    told = {"type": "text", "text": "This is the wiring of the organ loft; the red lead is the neutral one."}
    gateway.ask([told, picture], key="pictures")
    served.memory_os.settle()
    assert (
        "red lead" in served.ask(gateway, "Which lead is the neutral one in the organ loft?", key="pictures").injected
    )

    asked = {"type": "text", "text": "Is the neutral lead of the organ loft on this picture?"}
    question = str(asked["text"])
    blocks = served.see(lambda: gateway.ask([asked, picture], key="pictures"), question).blocks
    assert bool(blocks) == (line.name != "0.19"), "0.19 drops what a hook adds to a message of parts"


def test_a_turn_that_ends_in_an_error_is_no_memory_and_leaves_the_next_one_whole(
    served: Installed, gateway: Gateway
) -> None:
    gateway.ask("The bell tower is closed for repairs until the ninth of May.", key="errors", session="errors-1")
    served.memory_os.settle()
    served.model.script("Break the bell tower request", Fail(400))
    with suppress(AssertionError):  # 0.22 answers with an error status, 0.19 with the error as its text
        gateway.ask("Break the bell tower request, please.", key="errors", session="errors-2")
    assert (
        "ninth of May"
        in served.ask(gateway, "Until when is the bell tower closed?", key="errors", session="errors-3").injected
    )
    served.memory_os.settle()
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE '%scripted failure%'")


def test_a_line_is_not_injected_again_while_it_stands_in_the_window(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The caterer for the summer party is Juniper and Sons.", key="once", session="once-told")
    served.memory_os.settle()
    served.ask(gateway, "Who is the caterer for the summer party?", key="once", session="once-asked")
    again = "And what was the caterer of the summer party called?"
    request = served.ask(gateway, again, key="once", session="once-asked")
    assert sum("The caterer for the summer party is Juniper" in one for one in lines_of(request.blocks)) == 1
    assert "The caterer for the summer party is Juniper" not in request.injected

    assert (
        "Juniper and Sons"
        in served.ask(
            gateway, "Who is the caterer for the summer party, please?", key="once", session="once-later"
        ).injected
    )


def test_what_the_session_itself_says_is_not_quoted_back_to_it(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The skipper of the Albatross is off duty on Sundays.", key="own-words", session="own-words")
    served.memory_os.settle()
    assert (
        "off duty on Sundays"
        not in served.ask(
            gateway, "When is the skipper of the Albatross off duty?", key="own-words", session="own-words"
        ).injected
    )


def test_recalled_text_that_the_model_quotes_is_not_captured_again(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The lighthouse lens was ground in Jena in 1911.", key="echo")
    served.memory_os.settle()
    line = '- (s:abcdefgh) user said: "The lighthouse lens was ground in Jena in 1911."'
    echo = f"<memory-context>\n[sessions]\n{line}\n</memory-context>\nIn Jena."
    served.model.script("Where was the lighthouse lens ground?", Say(echo))
    gateway.ask("Where was the lighthouse lens ground?", key="echo")
    served.memory_os.settle()
    stored = served.memory_os.rows("SELECT text FROM messages WHERE text LIKE '%lens was ground in Jena%'")
    assert stored == [("The lighthouse lens was ground in Jena in 1911.",)]
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE '%memory-context%'")


def test_the_hosts_review_of_a_turn_is_neither_given_memory_nor_remembered(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The archivist keeps the review copies in cabinet nine.", key="review")
    served.memory_os.settle()
    gateway.ask("In which cabinet are the review copies?", key="review")

    def reviews() -> list[str]:
        return [
            request.prompt
            for request in served.model.requests
            if request.typed.startswith("Review the conversation") and "review copies" in " ".join(request.user_texts)
        ]

    wait_until(lambda: len(reviews()) >= 2, "the host reviews both turns")
    assert not [prompt for prompt in reviews() if "<memory-context>" in prompt]
    served.memory_os.settle()
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE text LIKE 'Review the conversation%'")


def test_a_subagent_is_neither_given_memory_nor_remembered(served: Installed, gateway: Gateway) -> None:
    gateway.ask("The survey boat Petrel draws one metre of water.", key="delegation")
    served.memory_os.settle()
    goal = "Find out how much water the survey boat Petrel draws, as a delegated goal."
    served.model.script("Delegate the question about the boat", call("delegate_task", goal=goal), Say("Delegated."))
    gateway.ask("Delegate the question about the boat Petrel.", key="delegation")
    wait_until(lambda: bool(served.model.turns(goal)), "the subagent asks the model")
    assert served.model.turns(goal)[0].blocks == []
    served.memory_os.settle()
    assert not served.memory_os.rows("SELECT 1 FROM messages WHERE role = 'user' AND text LIKE ?", f"{goal}%")


def test_a_service_killed_in_mid_turn_loses_nothing_and_doubles_nothing(served: Installed, gateway: Gateway) -> None:
    gateway.ask("Crate 12 of the expedition holds the spare propeller.", key="killed")
    served.memory_os.settle()
    served.model.script("Crate 13 of the expedition", Say("Crate 13 is noted.", delay=2.0))
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(gateway.ask, "Crate 13 of the expedition holds the signal flares.", key="killed")
        wait_until(lambda: bool(served.model.turns("Crate 13 of the expedition")), "the turn waits for the model")
        served.memory_os.kill()
        assert asking.result(60) == "Crate 13 is noted."
    assert served.memory_os.spooled() or served.memory_os.running, "the turn is on disk, or was taken by a new service"

    gateway.ask("Which crate of the expedition holds what?", key="killed", session="killed-2")
    wait_until(served.memory_os.ready, "the plugin started a new service", 60)
    served.memory_os.settle()
    for crate in ("Crate 12", "Crate 13"):
        stored = served.memory_os.rows("SELECT count(*) FROM messages WHERE text LIKE ?", f"{crate} of the expedition%")
        assert stored == [(1,)], crate
    question = "What is in crate 12 and crate 13 of the expedition?"
    block = served.ask(gateway, question, key="killed", session="killed-3").injected
    assert "spare propeller" in block and "signal flares" in block
