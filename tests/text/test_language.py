"""Languages told apart by script and function words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.language import differ, function_words, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which port does the staging gateway use?", "en"),
        ("Wie melden sich die externen Mitarbeiter an?", "de"),
        ("Quando é que vence a fatura dos servidores?", "pt"),
        ("Когда выйдет релиз мобильного приложения?", "ru"),
        ("متى ينتهي عقد إيجار المكتب؟", "ar"),
        ("项目周会是什么时候？", "zh"),
        ("京都旅行ではどこに泊まりますか？", "ja"),
        ("서버는 어디에 있습니까?", "ko"),
        ("Où est-ce que nous avons mis les clés de la maison ?", "fr"),
        ("Docker コンテナを再起動する方法は？", "ja"),
        ("请帮我重启 nginx", "zh"),
    ],
)
def test_languages_of_sentences(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "ERR-4711", "Hetzner", "42", "👍", "kubectl"])
def test_what_names_no_language(text: str) -> None:
    assert language_of(text) == ""


def test_only_known_languages_differ() -> None:
    assert differ("ja", "en")
    assert not differ("en", "en")
    assert not differ("", "en")
    assert not differ("en", "")


def test_function_words_are_of_one_language_only() -> None:
    assert function_words(("die", "server", "und", "was")) == {"die", "und", "was"}
    # "die" is a verb here: the sentence is English.
    assert "die" not in function_words(("the", "old", "servers", "die", "in", "the", "of"))


def test_only_the_head_of_a_megabyte_is_read() -> None:
    assert language_of("the gateway is on the port of the server " * 30_000) == "en"


@given(st.text(max_size=200))
def test_any_text_has_one_answer(text: str) -> None:
    assert language_of(text) == language_of(text)
