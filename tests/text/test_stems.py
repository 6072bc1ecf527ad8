"""Inflected words of Arabic and Russian become one; nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.stems import stemmed


@pytest.mark.parametrize(
    "words",
    [
        "الكتاب كتاب والكتاب كتابها بالكتاب",
        "المدرسة مدرسة والمدرسة مدرسه",
        "الفرن فرن",
        "маяк маяка маяком маяки маяками",
        "мастерская мастерской мастерскую",
        "новый новая новую новыми нового",
        "ёлка ёлками ёлку елки",
        "неделя недели неделей неделю",
    ],
)
def test_the_forms_of_a_word_are_one(words: str) -> None:
    assert len({stemmed(word) for word in words.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("маяк", "мост"), ("кот", "котёл"), ("كتاب", "مكتب"), ("ولد", "بلد"), ("дом", "дым"), ("مال", "ماء")]
)
def test_other_words_stay_others(one: str, other: str) -> None:
    assert stemmed(one) != stemmed(other)


@pytest.mark.parametrize("text", ["The kilns are red.", "Die Öfen wurden geliefert.", "窯の鍵は赤い箱", "fornos e chaves", ""])
def test_other_languages_are_left_as_they_are(text: str) -> None:
    assert stemmed(text) == text


@given(st.text(alphabet=st.characters(min_codepoint=0x0400, max_codepoint=0x06FF), max_size=60))
def test_a_word_never_vanishes(text: str) -> None:
    assert len(stemmed(text).split()) == len(text.split())
