from __future__ import annotations

import pytest
from memory_os.text.unknowing import knows_nothing


@pytest.mark.parametrize(
    "text",
    [
        "I don't have any record of a dentist appointment. Would you like me to note one down for you?",
        "I could not find which port the gateway listens on; nothing in my notes says so.",
        "I don’t know where the spare key is.",
        "Sorry, there is no information about that in my memory.",
        "You haven't told me yet. When is it?",
        "No record of that. Shall I note it down?",
        "I cannot find the spare key in my notes.",
        "Das weiß ich leider nicht. In meinen Notizen steht nichts über einen Ersatzschlüssel.",
        "Dazu habe ich leider keine Aufzeichnungen. Soll ich es notieren?",
        "Das hast du mir noch nicht gesagt.",
        "Não sei onde está a chave. Quer que eu anote?",
        "Não tenho nenhum registro disso.",
        "Desculpe, não encontrei nada sobre isso.",
        "Я не знаю, где лежит запасной ключ.",
        "К сожалению, у меня нет записей об этом. Записать?",
        "Вы мне ещё не говорили об этом.",
        "لا أعرف أين المفتاح الاحتياطي.",
        "عذرا، لم أجد أي سجل بذلك. هل أدوّنه لك؟",
        "抱歉，我不知道备用钥匙在哪里，记录里没有。",
        "没有找到相关的记录。需要我记下来吗？",
        "申し訳ありませんが、わかりません。",
        "その記録がありません。教えていただけますか？",
    ],
)
def test_an_answer_that_only_says_it_is_not_known(text: str) -> None:
    assert knows_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "The spare key hangs behind the fuse box.",
        "I don't know the exact rack, but the gateway stands in Lyon.",
        "I couldn't find it at first; the port is 8443.",
        "There is nothing like a kiln at full heat.",
        "I don't know what I'd do without the kiln.",
        "We can't deploy on Fridays: nobody is there to look after it.",
        "You never deploy on Fridays.",
        "Ich weiß es nicht genau, aber der Ofen steht in Lyon.",
        "Nichts geht über einen warmen Ofen.",
        "Não sei ao certo, mas o forno fica em Lisboa.",
        "O forno não está em Lisboa.",
        "Точно не знаю, но печь стоит в Казани.",
        "Печь не в Казани.",
        "لا أعرف بالضبط لكن الفرن في ليون.",
        "الفرن لا يعمل يوم الجمعة.",
        "我不知道具体位置，但是窑炉在里昂。",
        "窑炉不在里昂。",
        "正確には分かりませんが、窯はリヨンにあります。",
        "窯はリヨンにない。",
        "I don't know. " + "The kiln needs a new thermocouple, a shelf and two bags of clay. " * 6,
    ],
)
def test_what_says_anything_besides_is_an_answer(text: str) -> None:
    assert not knows_nothing(text)


def test_what_is_very_long_is_not_looked_at() -> None:
    assert not knows_nothing("I don't know " * 200_000)
