"""Terms are the same for what is indexed and what is asked: shown on SQLite's own full text."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.terms import MAX_QUERY_TERMS, fts_query, query_terms, stored_query, stored_terms


def finds(stored: str, asked: str) -> bool:
    """Whether a full-text table that holds `stored` answers `asked`, as the index does it."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute('CREATE VIRTUAL TABLE t USING fts5(body, tokenize = "porter unicode61 remove_diacritics 2")')
        database.execute("INSERT INTO t VALUES(?)", (stored_terms(stored),))
        terms = query_terms(asked)
        return bool(terms and database.execute("SELECT 1 FROM t WHERE t MATCH ?", (stored_query(terms),)).fetchone())
    finally:
        database.close()


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("The gateway listens on port 8443.", "which port?"),
        ("We are deploying on Fridays.", "When do we deploy?"),
        ("Die Lieferung wurde nach München verschickt.", "Was ging nach Munchen?"),
        ("A fatura vence em março.", "marco"),
        ("Релиз перенесли на октябрь.", "Когда релиз?"),
        ("За́мок закрыт до весны.", "замок"),
        ("ينتهي العقد في يونيو", "العقد"),
        ("كِتَابٌ جديد", "كتاب"),
        ("كتـــاب", "كتاب"),
        ("项目周会改到周三", "周会什么时候？"),
        ("京都の旅館に泊まります", "旅館"),
        ("เซิร์ฟเวอร์อยู่ที่กรุงเทพ", "กรุงเทพ"),
        ("การประชุมเลื่อนไปวันพุธ", "ประชุมวันไหน"),
        ("ຮ້ານເປີດວັນຈັນ", "ວັນຈັນ"),
        ("អង្គប្រជុំនៅថ្ងៃពុធ", "ថ្ងៃពុធ"),
        ("အစည်းအဝေးကို ဗုဒ္ဓဟူးနေ့", "ဗုဒ္ဓဟူး"),
        ("Las reuniones son los miércoles.", "¿Cuándo es la reunión de los miercoles?"),
        ("La clave está en el cajón rojo.", "¿Dónde está la clave?"),
        ("予約番号は８４４３です", "予約番号は？"),
        ("窯の鍵は赤い箱に入っています", "鍵はどこ？"),
        ("Северный маяк питается от солнечных батарей.", "Что с северного маяка?"),
        ("Мы купили новую печь для мастерской.", "мастерская"),
        ("وصلت الأفران الجديدة", "متى وصل الفرن الجديد؟"),
        ("مفاتيح المكتبة في الدرج", "أين مفتاح مكتبتي والمفاتيح؟"),
        ("서버는 서울에 있습니다", "서버는 어디에?"),
        ("DockerコンテナのERR-4711番", "ERR-4711"),
        ("エラーコードは４７１１です", "4711"),
        ("set redis-port to 6380", "redis port"),
        ("the file config/app.yaml is read first", "app.yaml"),
        ("we rewrote it in C++", "c++"),
        ("k8s and BM25", "bm25"),
    ],
)
def test_a_question_finds_what_was_stored(stored: str, asked: str) -> None:
    assert finds(stored, asked)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("The gateway listens on port 8443.", "What is the colour of it?"),
        ("Der Server steht im Keller.", "Was ist das und wo ist es?"),
        ("会議は水曜日です", "それはなんですか"),
        ("项目周会改到周三", "数据库"),
        ("กินข้าว", "กัน"),
        ("ที่ดิน", "ตาดำ"),
    ],
)
def test_function_words_and_other_subjects_find_nothing(stored: str, asked: str) -> None:
    assert not finds(stored, asked)


def test_terms_are_ordered_and_each_once() -> None:
    assert query_terms("Redis port, redis cache, port of the cache") == ["redis", "port", "cache"]


def test_a_joined_word_is_asked_whole_and_in_parts() -> None:
    assert query_terms("redis-port") == ["redis-port", "redis", "port"]


def test_latin_glued_to_cjk_is_a_word_of_its_own() -> None:
    assert query_terms("Dockerを再起動") == ["docker", "を再", "再起", "起動"]


def test_particles_of_japanese_say_nothing() -> None:
    assert query_terms("それはなんですか") == []


def test_a_long_japanese_question_keeps_its_error_number() -> None:
    long = (
        "本番環境の決済処理で昨日の夜間に発生した障害について、原因と対応状況、影響を受けた顧客数、再発防止策、"
        "関係部署への連絡経緯、復旧手順書の所在、監視設定変更履歴、担当者一覧を詳しく教えてください"
    )
    terms = query_terms(f"{long} ERR-4711")
    assert {"err-4711", "err", "4711"} <= set(terms)
    assert len(terms) == MAX_QUERY_TERMS


def test_a_pasted_log_with_the_question_at_its_end_asks_the_question() -> None:
    log = " ".join(f"word{number}" for number in range(500))
    terms = query_terms(f"{log} why does the importer crash")
    assert {"word0", "importer", "crash"} <= set(terms)


def test_words_and_signs_each_keep_their_share() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    terms = query_terms(f"{words} 数据库在什么地方备份")
    assert sum(term.startswith("word") for term in terms) >= MAX_QUERY_TERMS // 2
    assert {"数据", "据库", "备份"} <= set(terms)


def test_user_text_is_never_query_syntax() -> None:
    for text in ('"', 'a" OR "b', "NEAR(a b)", "body:secret", "a*", "^a", "-a", "(", "AND", "{a b}: c"):
        database = sqlite3.connect(":memory:")
        database.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
        database.execute("SELECT 1 FROM t WHERE t MATCH ?", (fts_query([text]),)).fetchall()
        database.close()


@given(st.text(max_size=400))
def test_any_text_gives_terms_that_full_text_accepts(text: str) -> None:
    terms = query_terms(text)
    assert terms == query_terms(text)
    assert len(terms) == len(set(terms)) <= MAX_QUERY_TERMS
    finds(text, text)


@given(st.text(alphabet="漢字仮名交文東京都数据库かなカナabc123 -", min_size=1, max_size=60))
def test_a_text_finds_itself(text: str) -> None:
    assert finds(text, text) or not query_terms(text)


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("How many keys are there?", ["keys"]),
        ("Wann und warum kommt der Ofen?", ["kommt", "ofen"]),
        ("Quando e onde chega o forno?", ["chega", "forno"]),
        ("¿Cuándo y dónde llega el horno?", ["llega", "horno"]),
        ("Сколько стоит печь и кому везут глину?", ["стоит", "печь", "везут", "глину"]),
        ("لماذا تأخر الفرن؟", ["تأخر", "الفرن"]),
        ("窑炉什么时候到？", ["窑炉", "到"]),
        ("窯はいつ届きますか？", ["窯は", "届き"]),
        ("什么？", ["什么"]),
    ],
)
def test_words_that_only_ask_are_no_terms(asked: str, terms: list[str]) -> None:
    assert query_terms(asked) == terms
