"""What excuses a search, in seven languages; and what doesn't."""

from __future__ import annotations

import pytest
from memory_os.ground_truth.wording import asked_part, asks_for_now, asks_to_search

SEARCHES = [
    "Search our old sessions for the key.", "Can you look up the ferry?", "Double-check the port, please.",
    "Durchsuche die Notizen nach dem Schlüssel.", "Schau bitte im Archiv nach.", "Pesquise nas conversas.", "Verifique a porta.",
    "Найди в прошлых разговорах ключ.", "Проверь порт.", "ابحث في الجلسات عن المفتاح.", "تحقق من المنفذ.",
    "请搜索以前的会话。", "查一下端口。", "過去の会話を検索して。", "ポートを確認してください。",
]  # fmt: skip
QUESTIONS = [
    "Which port does the gateway use?", "Where is the key?", "Wo ist der Schlüssel?", "Wann fährt die Fähre?",
    "Onde está a chave?", "Где ключ?", "Какой порт у шлюза?", "أين المفتاح؟", "متى اجتماع المراجعة؟", "钥匙在哪里？", "鍵はどこですか？",
]  # fmt: skip
NOW = [
    "Is it still 8443?", "What is the latest on it?", "Which port is used right now?", "Welcher Port ist es derzeit?",
    "Qual é a porta agora?",
    "Какой порт сейчас?", "ما هو المنفذ الآن؟", "现在是哪个端口？", "現在のポートは？",
]  # fmt: skip


@pytest.mark.parametrize("message", SEARCHES)
def test_a_request_to_search_is_known(message: str) -> None:
    assert asks_to_search(message)


@pytest.mark.parametrize("message", QUESTIONS)
def test_a_question_is_no_such_request(message: str) -> None:
    assert not asks_to_search(message) and not asks_for_now(message)


@pytest.mark.parametrize("message", NOW)
def test_a_question_for_what_is_now_is_known(message: str) -> None:
    assert asks_for_now(message)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("I write the plan; which port is it?", "which port is it?"),
        ("Danke. Wo ist der Schlüssel?", "Wo ist der Schlüssel?"),
        ("我在写通知。周会是什么时候？", "周会是什么时候？"),
        ("Which port is 1.2.3.4:80?", "Which port is 1.2.3.4:80?"),
        ("Draft the notes.", "Draft the notes."),
        ("", ""),
    ],
)
def test_what_a_message_asks(message: str, asked: str) -> None:
    assert asked_part(message).strip() == asked
