"""The gate before recall: small talk in eleven languages passes nothing on; every question does, however short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.smalltalk import is_small_talk

SMALL = [
    "", "   ", "...", "?!", "👍", "👍🏽 🎉", "❤️", ":)", "xD", "<3", "hi", "Hello!", "hey hermes", "good morning",
    "thanks!", "Thank you so much!", "thanks a lot", "ok", "OK.", "okay cool", "yes please", "no", "yesss",
    "continue", "go on", "Go ahead, please", "got it", "all good", "bye", "good night", "haha", "hahaha lol",
    "thank you so much, have a nice day!", "ok, danke dir", "Dankeschön!", "vielen danke", "guten Morgen", "ja",
    "nein", "genau", "mach weiter", "Tschüss", "passt, danke", "obrigado", "Muito obrigada!", "bom dia", "valeu",
    "tá bom", "não", "tchau, até amanhã", "kkkkk", "gracias", "muchas gracias", "hola, buenos días", "vale", "sí",
    "jajaja", "merci beaucoup", "oui", "d'accord", "D’accord !", "bonjour", "ça va bien", "à bientôt",
    "grazie mille", "va bene", "buongiorno", "sì", "спасибо", "спасибо большое", "Привет!", "добрый день", "да",
    "ок, понял", "хахаха", "продолжай", "до свидания", "شكرا", "شكراً جزيلاً", "السلام عليكم", "صباح الخير", "نعم",
    "حسنًا", "ههههه", "مع السلامة", "好的", "谢谢", "谢谢你！", "你好", "嗯嗯", "哈哈哈", "明白了", "继续",
    "好的，谢谢", "再见", "ありがとう", "ありがとうございます！", "了解です", "はい", "おはようございます",
    "続けてください", "なるほど", "お疲れ様です", "ｗｗｗ", "감사합니다", "네", "안녕하세요", "ㅋㅋㅋ",
    "네, 알겠습니다", "계속해",
]  # fmt: skip

QUESTIONS = [
    "fix", "DNS", "BM25", "k8s", "Go", "rust?", "why?", "help", "42", "v2", "redis", "port 6380",
    "continue the migration", "ok, now deploy", "thanks, and what about the port?", "yes, use postgres",
    "hi, where is the config?", "is it so", "the one", "good database", "danke, und der Port?",
    "Wo liegt die Datei?", "Welcher Tag ist heute", "Stau", "obrigado, e a porta?", "qual porta", "onde",
    "да, порт 6380", "какой порт", "где", "порт", "نعم، المنفذ 6380", "ما هو المنفذ", "منفذ", "好的，端口是多少",
    "端口", "数据库", "谢谢，那数据库呢", "ポート", "設定はどこ", "はい、ポートは6380です", "猫", "포트",
    "네, 포트는 6380", "gracias, ¿y el puerto?", "merci, et le port ?", "grazie, e la porta?",
]  # fmt: skip


@pytest.mark.parametrize("text", SMALL)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)


@given(st.sampled_from([text for text in SMALL if text.strip()]), st.sampled_from(["!", " 🙂", "...", "  "]))
def test_punctuation_and_emoji_change_nothing(text: str, tail: str) -> None:
    assert is_small_talk(text + tail)


SUBSTANCE = ["kubernetes", "Datenbank", "порт", "数据库", "ポート番号", "المنفذ", "6380"]


@given(st.sampled_from(SMALL), st.sampled_from(SUBSTANCE))
def test_one_word_of_substance_makes_it_a_question(text: str, word: str) -> None:
    assert not is_small_talk(f"{text} {word}")


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    assert is_small_talk(text) in (True, False)


def test_a_long_message_is_not_looked_at() -> None:
    assert not is_small_talk("ok " * 300_000)
