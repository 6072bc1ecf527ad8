from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.forgetting.likeness import coverage, share, words
from memory_os.text import query_terms

SAID = {
    "en": ("The spare key hangs behind the fuse box.", "spare key", "the lawn mower"),
    "de": ("Der Ersatzschlüssel hängt hinter dem Sicherungskasten.", "Ersatzschlüssel Sicherungskasten", "Rasenmäher"),
    "pt": ("A chave reserva fica atrás da caixa de fusíveis.", "chave reserva", "cortador de grama"),
    "ru": ("Запасной ключ висит за щитком.", "запасной ключ", "газонокосилка"),
    "ar": ("المفتاح الاحتياطي معلق خلف صندوق المصاهر", "المفتاح الاحتياطي", "آلة جز العشب"),
    "zh": ("备用钥匙挂在配电箱后面。", "备用钥匙", "割草机"),
    "ja": ("予備の鍵は分電盤の裏にあります。", "予備の鍵", "芝刈り機"),
}


@pytest.mark.parametrize("language", SAID)
def test_a_text_has_its_own_words_and_not_those_of_another(language: str) -> None:
    text, asked, other = SAID[language]
    assert coverage(query_terms(asked), text) >= 0.5 > coverage(query_terms(other), text)
    assert coverage(query_terms(text), text) == 1.0


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_share_is_one_and_grows_with_the_words_there_are(one: str, other: str) -> None:
    terms = query_terms(one)
    alone, both = share(terms, words(other)), share(terms, words(other) | words(one))
    assert 0.0 <= alone <= both == (1.0 if terms else 0.0)


def test_of_no_words_nothing_is_covered() -> None:
    assert coverage([], "anything at all") == 0.0
