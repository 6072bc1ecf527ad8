from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.vectors.sparse import CONTEXT_WEIGHT, WORD_MAX, document_vector, query_vector

ASKED = [
    ("Which port does the gateway use?", "The gateway port is 7333."),
    ("Welchen Port benutzt die Datenbank?", "Die Datenbank hört auf Port 5433."),
    ("Qual é a senha da impressora em São Paulo?", "A impressora de Sao Paulo foi trocada."),
    ("Какой порт у сервера?", "Сервер слушает порт 7333."),
    ("ما هو منفذ الخادم؟", "منفذ الخادم هو 7333"),
    ("数据库的端口是多少", "东京的数据库端口是5433"),
    ("天気はどうですか", "今日の天気は晴れです"),
]


@pytest.mark.parametrize(("question", "text"), ASKED)
def test_a_question_shares_terms_with_its_answer(question: str, text: str) -> None:
    assert set(query_vector(question).indices) & set(document_vector(text).indices)


def test_an_identifier_glued_to_japanese_is_found() -> None:
    shared = set(query_vector("ERR-4711").indices) & set(document_vector("ERR-4711番のエラーが出た").indices)
    assert len(shared) == 2


def test_function_words_do_not_search() -> None:
    assert set(query_vector("what is the port").indices) == set(query_vector("port").indices)


@pytest.mark.parametrize("text", ["", " ", "👍", "!?"])
def test_a_text_without_words_is_empty(text: str) -> None:
    assert not query_vector(text).indices
    assert not document_vector(text, text).indices


def test_context_counts_lightly() -> None:
    own, beside = document_vector("lighthouse"), document_vector("", "lighthouse")
    assert own.indices == beside.indices
    assert beside.values[0] == pytest.approx(own.values[0] * CONTEXT_WEIGHT)


@given(st.text(), st.text())
def test_any_text_gives_positive_weights_each_term_once(text: str, context: str) -> None:
    vector = document_vector(text, context)
    assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
    assert all(value > 0 for value in vector.values)


# Letters of the tested languages; of letters newer than this Python the engine may know more than we do.
LETTERS = st.text("abczßäõçéABC абвжя اهمنع 数据库东 日ポート天気 0123 -_./:'!", max_size=40)


@given(LETTERS)
def test_a_text_contains_its_own_question(text: str) -> None:
    assert set(query_vector(text).indices) <= set(document_vector(text).indices)


def test_a_word_that_is_none_counts_by_its_beginning() -> None:
    # The engine's stemmer takes a minute for a megabyte of this.
    endless = "y" * 1_000_000
    assert document_vector(f"port {endless}").indices == document_vector(f"port {endless[:WORD_MAX]}").indices
    assert query_vector(f"port {endless}").indices == query_vector(f"port {endless[:WORD_MAX]}").indices
    assert set(query_vector("port").indices) < set(document_vector(f"port {endless}").indices)
