"""\"Forget that\" as people write it, in the seven languages; and what only looks like it."""

from __future__ import annotations

import pytest
from memory_os.text.withdrawal import orders_forgetting, takes_back

CLEAR = {
    "en": ["Forget that", "Please forget this.", "forget what I just said, thanks", "Forget that, please and thanks",
    "Could you forget that?",
           "No, sorry, forget that!", "forget everything I just said", "Wait. Forget my last message, please.", "Hey Hermes, forget that"],
    "de": ["Vergiss das", "Vergessen Sie das", "Vergessen Sie das bitte!", "Bitte vergessen Sie dies.", "Vergiss bitte das",
    "Vergiss das wieder, danke",
           "Vergiss, was ich gesagt habe", "Ach, vergiss das bitte wieder.", "Vergesst das bitte."],
    "pt": ["Esqueça isso", "Esquece isto, se faz favor", "Por favor, esqueça o que eu disse.", "esqueca isso obrigado",
    "Não, esquece isso!",
           "Esquece o que acabei de dizer", "Esqueça isto, por gentileza.", "Desculpa, esquece isto.", "Esquece isso, tá?"],
    "ru": ["Забудь это", "Забудьте об этом, пожалуйста!", "Забудь, что я сказал.", "Пожалуйста, забудь про это", "Забу́дь это",
    "Ой, забудь это, спасибо",
           "Забудь то, что я сказала", "Нет, забудь об этом.", "Извини, забудь это"],
    "ar": ["انس ذلك", "انسَ هذا، من فضلك", "\u200fانس ذلك\u200f", "انْسَ ذٰلك", "انس ما قلته للتو", "انـــس هذا", "لو سمحت انس هذا، شكرا",
    "انسي هذا", "عفوا، انس ذلك"],
    "zh": ["忘了这件事吧", "请忘掉刚才的话，谢谢", "忘记我刚才说的话", "把这件事忘了吧", "請忘記這件事", "不，忘了这件事。",
    "麻烦忘了我刚才说的", "忘掉这件事，好吗？", "对了，忘了那件事吧"],
    "ja": ["今の話は忘れてください", "これは忘れて、お願いします", "さっきの話は忘れてね", "それは忘れてください！",
    "すみません、今の話は忘れてください。", "この話は忘れて", "その話は忘れてもらえますか？",
           "いや、これは忘れてください", "さっきの発言は忘れてください、よろしくお願いします"],
}  # fmt: skip

# Neither a clear order nor, by itself, something that takes back.
OTHER = {
    "en": ["Forget that song", "I forget that", "Don't forget that", "Forget that?", "He said: forget that he was there",
    "I always forget this", "> forget that",
           "```\nforget that\n```", "Never forget this"],
    "de": ["Vergiss das nicht", "Ich vergesse das", "Vergiss das Brot nicht", "Vergiss das?", "Vergessen Sie das nicht!",
    "Wie vergisst man das", "> Vergiss das",
           "Vergiss mich nicht", "`x` vergiss das `y`"],
    "pt": ["Não esqueça isso", "Esqueci isso", "Esquece isso?", "Não te esqueças disto", "Esqueça isso não", "> esqueça isso",
    "Eu esqueço isso", "Esqueceu isso?", "Quem esquece isso"],
    "ru": ["Не забудь это", "Я забыл это", "Забудь это?", "Не забудьте об этом", "> забудь это", "Забыл об этом", "Забудь это слово",
    "Как забыть это", "Она забудет это"],
    "ar": ["لا تنس هذا", "نسيت هذا", "انس هذا؟", "> انس هذا", "هل نسيت ذلك", "لن أنسى هذا", "انس هذا الرقم", "لا تنس ذلك", "كيف أنسى هذا"],
    "zh": ["别忘了这件事", "我忘了这件事了", "忘了这件事？", "> 忘了这件事", "不要忘记这件事", "他忘了这件事", "忘了这件事怎么办",
    "忘不了这件事", "你忘了这件事吗"],
    "ja": ["今の話は忘れないで", "これは忘れていました", "> これは忘れて", "これを忘れないでください", "それは忘れて困った",
    "これは忘れた", "この話は忘れられない", "これは忘れてはいけない", "忘れ物"],
}  # fmt: skip
PLAIN = {
    "en": "Forget that", "de": "Vergiss das", "pt": "Esqueça isso", "ru": "Забудь это", "ar": "انس ذلك", "zh": "忘了这件事",
    "ja": "これは忘れて",
}  # fmt: skip
DRESSED = [
    "{} 🙏", "{}🙏🏽❤️", "**{}**", "*{}*", "- {}", "1. {}", '"{}"', "“{}”", "«{}»", "「{}」", "`{}`", "\u200f{}\u200f", "\ufeff{}",
    "\u200b{}", "{}\x00", "({})",
    "{} :)", "{}!!!", "  {} \n", "<b>{}</b>", "# {}", "\u2067{}\u2069",
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in CLEAR.items() for text in texts])
def test_a_clear_order(language: str, text: str) -> None:
    assert orders_forgetting(text) and takes_back(text)


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in OTHER.items() for text in texts])
def test_what_deletes_nothing(language: str, text: str) -> None:
    assert not orders_forgetting(text)


@pytest.mark.parametrize("language", PLAIN)
def test_what_an_order_is_dressed_in_changes_nothing(language: str) -> None:
    assert [dress for dress in DRESSED if not orders_forgetting(dress.format(PLAIN[language]))] == []


@pytest.mark.parametrize("text", [
    "Forget it.", "Vergiss es.", "Löschen Sie das bitte!", "Apaga isso 🙏", "Удали это", "احذف هذا", "忘了吧", "**Delete that**",
])  # fmt: skip
def test_what_may_mean_something_else_takes_back_and_deletes_nothing_by_itself(text: str) -> None:
    assert takes_back(text) and not orders_forgetting(text)


def test_an_order_beside_something_else_deletes_nothing_by_itself() -> None:
    assert takes_back("Forget that. What is the weather?") and not orders_forgetting("Forget that. What is the weather?")
