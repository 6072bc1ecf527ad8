"""What a question is after, and whether a text says a time, in seven languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.asking import asks_of_oneself, asks_when, states_wish, tells_time


@pytest.mark.parametrize(
    ("when", "other"),
    [
        ("When was the kiln fired?", "Who fired the kiln?"),
        ("Which month did the course start in?", "Which course did she start?"),
        ("Wann wurde der Ofen geliefert?", "Wer hat den Ofen geliefert?"),
        ("An welchem Tag kommt der Ofen?", "In welchem Raum steht der Ofen?"),
        ("Quando chegou o forno?", "Quem trouxe o forno?"),
        ("Que dia é a aula?", "Que aula é essa?"),
        ("Когда привезли печь?", "Кто привёз печь?"),
        ("В каком году открыли мастерскую?", "В каком городе мастерская?"),
        ("متى وصل الفرن؟", "من أحضر الفرن؟"),
        ("في أي يوم تبدأ الدورة؟", "في أي مدينة الدورة؟"),
        ("窑是什么时候到的？", "窑是谁送来的？"),
        ("课程在哪天开始？", "课程在哪里？"),
        ("窯はいつ届きましたか？", "窯は誰が届けましたか？"),
        ("講座は何月からですか？", "講座はどこですか？"),
    ],
)
def test_a_question_that_wants_a_time(when: str, other: str) -> None:
    assert asks_when(when)
    assert not asks_when(other)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("When is my flight?", "When is Imke's flight?"),
        ("Did I say where it is?", "Did Imke say where it is?"),
        ("Wo liegt mein Pass?", "Wo liegt der Pass?"),
        ("Was haben wir beschlossen?", "Was hat Imke beschlossen?"),
        ("Onde está o meu passaporte?", "Onde está o passaporte dela?"),
        ("Где мой паспорт?", "Где паспорт Лены?"),
        ("Что мне говорили о печи?", "Что Лена говорила о печи?"),
        ("ماذا عندي يوم الخميس؟", "ماذا عند ليلى يوم الخميس؟"),
        ("我的护照在哪里？", "小林的护照在哪里？"),
        ("私のパスポートはどこですか？", "田中さんのパスポートはどこですか？"),
    ],
)
def test_a_question_about_whoever_asks(own: str, other: str) -> None:
    assert asks_of_oneself(own)
    assert not asks_of_oneself(other)


@pytest.mark.parametrize(
    ("told", "untold"),
    [
        ("We fired it yesterday.", "We fired it in the shed."),
        ("The course begins in May.", "She may begin the course."),
        ("It starts on May 4.", "They march on."),
        ("The kiln came on the 12th.", "The kiln weighs 12 stone."),
        ("Call at 14:30.", "Call 1430 if it leaks."),
        ("Built in 1986.", "Built with 198 bricks."),
        ("Der Ofen kam letzte Woche.", "Der Ofen steht im Schuppen."),
        ("Im Mai geht es los.", "Mai heißt die Tochter."),
        ("Um 9 Uhr geht es los.", "Die Uhr ist kaputt."),
        ("O forno chegou na semana passada.", "O forno está no galpão."),
        ("A aula é na segunda-feira.", "A segunda aula é melhor."),
        ("Печь привезли в прошлом году.", "Печь стоит в сарае."),
        ("Курс начинается в марте.", "Курс ведёт Лена."),
        ("وصل الفرن أمس.", "الفرن في المستودع."),
        ("تبدأ الدورة في مايو.", "الدورة مع ليلى."),
        ("窑上周到了。", "窑在棚子里。"),
        ("课程三月开始。", "课程由小林教。"),
        ("窯は先週届きました。", "窯は物置にあります。"),
        ("講座は四月からです。", "講座は田中さんです。"),
    ],
)
def test_a_text_that_says_a_time(told: str, untold: str) -> None:
    assert tells_time(told)
    assert not tells_time(untold)


@pytest.mark.parametrize(
    ("wish", "other"),
    [
        ("Always show the units when I ask about glazes.", "I always forget the units."),
        ("Thanks. Please never use tables.", "He never came."),
        ("I'd rather have short answers.", "It is rather short."),
        ("Immer mit Einheiten antworten.", "Ich vergesse das immer."),
        ("Ab jetzt bitte kurz.", "Jetzt bitte den Ofen."),
        ("Sempre mostre as unidades.", "Eu esqueço sempre disso."),
        ("Prefiro respostas curtas.", "A resposta foi curta."),
        ("Всегда указывай единицы.", "Он всегда опаздывает."),
        ("Я предпочитаю короткие ответы.", "Ответ был короткий."),
        ("دائما اذكر الوحدات.", "هو ينسى دائما."),
        ("من الآن فصاعدا أجب باختصار.", "الفرن هنا الآن."),
        ("请总是写出单位。", "他总是忘记。"),
        ("我更喜欢简短的回答。", "回答很短。"),
        ("必ず単位を書いてください。", "彼は単位を忘れた。"),
        ("短い答えのほうがいいです。", "答えは短かった。"),
    ],
)
def test_a_standing_wish(wish: str, other: str) -> None:
    assert states_wish(wish)
    assert not states_wish(other)
    assert not states_wish(wish + " And then the kiln was fired." * 30)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    found = asks_when(text), asks_of_oneself(text), tells_time(text), states_wish(text)
    assert {type(one) for one in found} == {bool}


def test_every_way_to_say_a_wish_is_seen() -> None:
    """Whatever the pattern knows has a word among those that are looked for first."""
    ways = [
        *("Always so", "Never so", "Immer so", "Nie so", "Niemals so", "Sempre", "Nunca", "Всегда так"),
        *("Никогда", "دائما", "دائمًا", "دائماً", "so from now on", "so I'd rather", "so I prefer"),
        *("总是", "永远", "一律", "常に", "いつも", "必ず", "so please always do", "so please never do"),
        *("ok ab jetzt", "ok ab sofort", "ok von nun an", "ok künftig", "ok ich bevorzuge", "ok ich hätte lieber", "ok ich mag lieber"),
        *("ok ich möchte lieber", "das ist mir lieber", "ok de agora em diante", "ok a partir de agora", "ok prefiro", "ok preferiria"),
        *("ну отныне", "ну впредь", "ну предпочитаю", "ну предпочёл бы", "ну предпочел бы", "ну предпочла бы"),
        *("من الآن فصاعدا", "أفضّل", "أنا أفضل"),
        *("从现在起", "今后请", "以后都", "我更喜欢", "我偏好", "我宁愿", "今後は", "これからは", "方がいい", "ほうが良い", "方が好き"),
    ]
    assert [way for way in ways if not states_wish(way)] == []
    assert [way for way in ways if not states_wish(way.upper())] == []
