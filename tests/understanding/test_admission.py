from __future__ import annotations

import pytest
from memory_os.understanding.admission import Evidence, refused, restates
from memory_os.understanding.transcript import Turn

SAID = "The orders service listens on port 8443 since March, and Ana Ferreira looks after it."


def why(text: str, said: str = SAID, **more: object) -> str:
    return refused(text, Evidence(Turn("t", 0.0, said, "")), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Ana Ferreira looks after the orders service.", ""),
        ("The orders service listens on port 9443.", "number not in the turn"),
        ("The orders service listens since 2026-03-01.", ""),
        ("Bananas ripen faster in brown paper bags.", "not in the turn"),
        ("orders service", "trivial"),
        ("thanks so much!", "trivial"),
        ("Which port has the orders service?", "a question"),
        ("John Doe looks after the orders service.", "placeholder"),
        ("<name> looks after the orders service.", "placeholder"),
    ],
)
def test_what_is_kept_and_why_not(text: str, reason: str) -> None:
    assert why(text) == reason


NOBODY = {
    "en": "Jane Doe works in the orders team.",
    "de": "Max Mustermann arbeitet im Team für Bestellungen.",
    "pt": "Fulano de Tal trabalha na equipa das encomendas.",
    "ru": "Вася Пупкин работает в отделе заказов.",
    "ar": "فلان الفلاني يعمل في قسم الطلبات.",
    "zh": "张三在订单部门工作。",
    "ja": "山田太郎は注文部門で働いている。",
}


@pytest.mark.parametrize("language", NOBODY)
def test_names_of_nobody(language: str) -> None:
    assert why(NOBODY[language], NOBODY[language]) == "placeholder"


def test_numbers_in_any_script_of_digits() -> None:
    assert why("يستمع خادم الطلبات على المنفذ 8443.", "يستمع خادم الطلبات على المنفذ ٨٤٤٣ منذ مارس.") == ""
    assert (
        why("يستمع خادم الطلبات على المنفذ 8444.", "يستمع خادم الطلبات على المنفذ ٨٤٤٣ منذ مارس.")
        == "number not in the turn"
    )


def test_one_word_more_is_no_restatement() -> None:
    line = "the person likes coffee in the morning"
    assert restates("Likes coffee in the morning.", line)
    assert not restates("No longer likes coffee in the morning.", line)
    assert not restates("Likes coffee in the evening.", line)
    assert restates("The user likes coffee", "likes coffee", subject="the user")


def test_an_injected_line_that_the_person_says_themselves_is_news() -> None:
    line = "The orders service listens on port 8443."
    echo = Evidence(Turn("t", 0.0, "Which port is it?", line), injected=[line])
    said = Evidence(Turn("t", 0.0, f"To be clear: {line}", "Yes."), injected=[line])
    assert (refused(line, echo), refused(line, said)) == ("injected", "")
