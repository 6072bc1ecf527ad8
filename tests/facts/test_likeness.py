from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.facts.likeness import (
    leading_term,
    may_conflict,
    near_equal,
    near_key,
    normal_form,
    overlap,
    same_outside_text,
)

RESTATED = [
    ("The user prefers tea.", "the user prefers tea"),
    ("The user  prefers\ntea", "The user prefers tea!"),
    ("The project is called “Alpha”", 'The project is called "Alpha"'),
    ("The users prefer dark themes", "The users prefers dark themes"),
    ("Der Nutzer trinkt lieber Tee.", "der Nutzer trinkt lieber Tee"),
    ("O usuário prefere café.", "o usuário prefere café"),
    ("Пользователь предпочитает чай.", "пользователь предпочитает чай"),
    ("يفضل المستخدم الشاي؟", "يفضل المستخدم الشاي"),
    ("用户喜欢喝茶。", "用户喜欢喝茶"),
    ("ユーザーはお茶が好き。", "ユーザーはお茶が好き"),
    ("Ｒｅｄｉｓ runs on port ６３７９", "Redis runs on port 6379"),
]

DIFFERENT = [
    # a number
    ("The server has 4 GB of memory", "The server has 8 GB of memory"),
    ("Der Server hat 4 GB", "Der Server hat 8 GB"),
    ("服务器有4个核心", "服务器有8个核心"),
    ("サーバーは4台ある", "サーバーは8台ある"),
    ("Release 1.2 is out", "Release 1.20 is out"),
    ("The offset is +5", "The offset is -5"),
    # a negation
    ("Redis is used in staging", "Redis is not used in staging"),
    ("We do deploy on Fridays", "We don't deploy on Fridays"),
    ("Der Dienst läuft", "Der Dienst läuft nicht"),
    ("Das ist ein Fehler", "Das ist kein Fehler"),
    ("O serviço usa Redis", "O serviço não usa Redis"),
    ("Сервис использует Redis", "Сервис не использует Redis"),
    ("الخدمة تستخدم التخزين", "الخدمة لا تستخدم التخزين"),
    ("用户喜欢喝茶", "用户不喜欢喝茶"),
    ("この機能は使う", "この機能は使わない"),
    ("It is possible to roll back", "It is impossible to roll back"),
    # a name
    ("Alpha depends on the parser module", "Beta depends on the parser module"),
    ("The owner of the build is Martin today", "The owner of the build is Martina today"),
    ("东京的服务器是主服务器", "大阪的服务器是主服务器"),
    # who, and what
    ("Alpha calls Beta", "Beta calls Alpha"),
    ("grep -v hides the matches", "grep -V hides the matches"),
    ("The language is C", "The language is C#"),
    ("Ignore the file .env", "Ignore the file env"),
    ("The team is in the US", "The team is in the us"),
    ("كتابي على الطاولة في المكتب", "كتابك على الطاولة في المكتب"),
]


@pytest.mark.parametrize(("first", "second"), RESTATED)
def test_a_restatement_is_the_same_fact(first, second):
    assert near_equal(first, second)
    assert near_key(first) == near_key(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_similar_but_different_facts_stay_two(first, second):
    assert not near_equal(first, second)


words = st.text(st.characters(categories=["Ll", "Lu", "Lo", "Nd"]), min_size=1, max_size=9)
sentences = st.lists(words, min_size=1, max_size=12).map(" ".join)


@given(sentences)
def test_every_text_restates_itself(text):
    assert near_equal(text, text)
    assert near_equal(text, f"  {text} . ") or normal_form(text) != normal_form(f"{text} .")
    assert near_equal(text, text + ".")


@given(sentences, sentences)
def test_near_equality_is_symmetric_and_found_by_its_key(first, second):
    assert near_equal(first, second) == near_equal(second, first)
    if near_equal(first, second):
        assert near_key(first) == near_key(second)


@given(sentences, st.integers(0, 10**6), st.integers(0, 10**6))
def test_another_number_is_another_fact(text, one, other):
    assert near_equal(f"{text} {one} units", f"{text} {other} units") == (one == other)


@given(sentences, words, st.integers(0, 12))
def test_a_word_more_is_another_fact(text, word, position):
    parts = text.split(" ")
    longer = " ".join([*parts[:position], word, *parts[position:]])
    assert not near_equal(text, longer)


@given(sentences, sentences)
def test_overlap_is_a_symmetric_share(first, second):
    assert 0 <= overlap(first, second) <= 1
    assert overlap(first, second) == overlap(second, first)
    assert overlap(first, first) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The server has 4 GB", "The server has 8 GB"),
        ("Der Server steht in Berlin", "Der Server steht in Hamburg"),
        ("O servidor fica em Lisboa", "O servidor fica no Porto agora em"),
        ("Сервер стоит в Берлине", "Сервер стоит в Гамбурге"),
        ("الخادم موجود في القاهرة", "الخادم موجود في الرياض"),
        ("服务器在北京机房", "服务器在上海机房"),
        ("サーバーは東京にある", "サーバーは大阪にある"),
        ("Redis is used in staging", "Redis is not used in staging"),
    ],
)
def test_what_says_nearly_the_same_and_differs_may_conflict(first, second):
    assert may_conflict(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("The user prefers tea", "The user prefers tea."), ("The server has 4 GB", "Invoices are sent on Mondays")],
)
def test_restatements_and_other_matters_do_not_conflict(first, second):
    assert not may_conflict(first, second)


def test_the_leading_term_skips_function_words():
    assert leading_term("The server has 4 GB") == "server"
    assert leading_term("") == ""


def test_entities_outside_the_text_must_agree():
    assert same_outside_text("Prefers tea", [], [])
    assert not same_outside_text("Prefers tea", ["alpha"], ["beta"])
    assert not same_outside_text("Prefers tea", ["alpha"], [])
    assert same_outside_text("Alpha prefers tea", ["alpha"], [])
