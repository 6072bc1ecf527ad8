"""Orders not to remember, as people write them, and talk that holds the same words, in the seven languages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.optout import wants_no_memory

ORDERS = {
    "en": [
        "I'm pregnant. Don't tell anyone and don't remember this.", "please don't remember this because it's private",
        "The alarm code of the shed is 8899. Please don't remember this, thanks", "Don't remember this, thanks!",
        "don't remember this ok?",
        "Don't remember this, ok?", "Don't remember this. Thanks!", "My code is 8899, don't save this. What is the weather like?",
        "Hi Hermes! Please don't remember this: my PIN is 4711.", "One more thing: don't remember this.",
        "Please do not memorize this message.",
        "you don't need to remember this", "No need to remember that.", "Never store this conversation, please.",
        "I don't want you to remember this.",
        "Could you please not remember this?", "Would you mind not saving this?", "I'd rather you didn't remember that.",
        "Please make sure you don't save this.", "Don't put this in your memory, please, it's private.", "This should not be stored.",
        "Don't memorise what I just told you, please.", "Please forget nothing else, but don't remember this",
        "Don't write this down anywhere.",
        "Not for your memory, but hey: just between you and me", "So don't remember any of this, please and thank you.",
        "Dont remember this pls",
        "don't remember that, thank you very much!", "Hey buddy, don't remember this, my sister is pregnant",
        "Keep this out of your long-term memory, please.",
        "Please don't remember this, if possible.", "Keep it off the record, please.", "Don't log this conversation at all",
        "Not to be nosy. Don't retain this.",
        "Don't remember this, I beg you", "please don't save this to your memory :)", "This isn't to be remembered!",
        "it's private, so don't record this, ok",
    ],
    "de": [
        "Bitte merk dir das nicht, danke!", "Merk dir das nicht, bitte.", "Merken Sie sich das bitte nicht", "Merken Sie sich das nicht",
        "Merk dir das bitte nicht!", "Merke dir das hier nicht.", "Mein Code ist 8899. Bitte nicht merken, danke dir!",
        "Speichere das nicht ab.",
        "Speichern Sie das bitte nicht.", "Bitte speichere diese Nachricht nicht.", "Schreib das bitte nicht auf.",
        "Notiere dir das nicht!",
        "Behalte das bitte nicht.", "Das musst du dir nicht merken.", "Das brauchst du dir nicht zu merken, danke",
        "Du brauchst dir das nicht zu merken.",
        "Kannst du dir das bitte nicht merken?", "Ich möchte nicht, dass du dir das merkst.", "Das bleibt bitte unter uns, ja?",
        "Das muss unter uns bleiben.", "Das soll nicht gespeichert werden.", "Merk dir davon nichts, bitte.",
        "Und merk dir das auf keinen Fall!",
        "Wichtig: Merk dir das nicht.", "Hallo Hermes, merk dir das bitte nicht: Mein Gehalt ist 5000.",
        "Merk dir nicht, was ich gerade gesagt habe.",
        "Diese Nachricht bitte nicht speichern, vielen Dank.", "Merk dir dieses Gespräch nicht", "Das hier nicht merken",
        "Merk’s dir nicht. Merk dir das nicht.",
    ],
    "pt": [
        "Não memorize isso, por favor", "Não te lembres disto", "Não guardes isto", "Por favor, não se lembre disto: o código é 8899.",
        "Não guarde isto, obrigado!", "nao memorizes isto pf", "Não salve isso, tá?", "Não precisa lembrar disso.",
        "Não precisas de guardar isto, obrigada.",
        "Por favor não grave esta conversa.", "Não registe esta mensagem, se faz favor.", "Isto fica entre nós, está bem?",
        "O meu PIN é 4711, não o guardes.",
        "Não guardes nada disto.", "Não memorize o que eu disse, por favor.", "Não quero que guardes isto.",
        "Não quero que você se lembre disso.",
        "Podes não guardar isto, por favor?", "Isso não é para guardar.", "Olá Hermes, não te lembres disto: vou mudar de emprego.",
        "Importante: não guarde isso.", "Não anote isso em lugar nenhum.", "Isso não deve ser guardado.",
        "Não guardes o que te disse agora. Não guardes isto!",
        "Por gentileza, não armazene essa informação.", "Não lembre disso, valeu", "E não guardes isto, ok?",
        "Não tens de te lembrar disto.",
    ],
    "ru": [
        "Не запоминай это, пожалуйста", "Не запоминайте это, пожалуйста!", "Пожалуйста, не запоминай это: код 8899.",
        "Не надо это запоминать.",
        "Это запоминать не нужно, спасибо", "Не запоминай это, хорошо?", "Не сохраняй этот разговор, спасибо.", "Это не запоминай, ладно",
        "Код сигнализации 8899. Не запоминай этого, пожалуйста.", "Не записывай это никуда.", "Это должно остаться между нами.",
        "Только между нами, пожалуйста",
        "Не запоминай то, что я сказал.", "Не запоминай, что я сейчас сказала", "Я не хочу, чтобы ты это запоминал.",
        "Прошу не запоминать это сообщение.",
        "Привет! Не запоминай это: моя зарплата 5000.", "Можешь это не запоминать.", "Не сохраняйте эту информацию, будьте добры.",
        "Не стоит это запоминать",
        "Просьба: не запоминай это.", "Не помни об этом", "Не запомина́й это", "И не запоминай это, ок", "Не надо сохранять это в памяти.",
        "Мог бы ты не запоминать это?", "Ничего из этого не запоминай.", "Не вздумай это запоминать!", "Это не для памяти.",
        "Не заноси это в память, пожалуйста",
    ],
    "ar": [
        "لا تحفظ هذا، من فضلك", "لا تتذكّر هذا", "لا تَحْفَظْ هذا", "لا تحفـــظ هذا", "\u200fلا تحفظ هذا\u200f",
        "من فضلك لا تتذكر هذا: الرمز 8899",
        "لا تحفظي هذا من فضلك", "لا تسجل هذه المحادثة، شكرا", "لا تخزن هذه المعلومة لو سمحت.", "الرجاء عدم حفظ هذا",
        "يرجى عدم تسجيل هذه المحادثة.",
        "لا داعي لحفظ هذا", "لا داعي لتذكر هذا، شكرا لك", "ولا تحفظ هذا", "رمز الإنذار 8899. لا تحفظ هذا، شكرًا!", "أرجو ألا تحفظ هذا",
        "أرجوك لا تتذكر ما قلته", "لا تتذكره، من فضلك", "لا أريدك أن تتذكر هذا", "هذا سر بيننا", "ليبق هذا بيننا فقط",
        "ما تحفظ هذا الكلام",
        "متحفظش الكلام ده", "لا تحتفظ بهذه الرسالة.", "مرحبا، لا تحفظ هذا: راتبي 5000", "لا تحفظ هذا في ذاكرتك", "لا تدوّن هذا، حسنًا؟",
        "ملاحظة: لا تحفظ هذا", "لا تحفظ هذا ابدا", "هل يمكنك عدم حفظ هذا؟",
    ],
    "zh": [
        "请不要记住这个，谢谢", "请别记这个", "報警器密碼是8899，請不要記住這個，謝謝", "别记住这个，好吗？", "不要记住这个，拜托了。",
        "请不要保存这条消息，谢谢！",
        "这个不用记。", "这件事不要记下来", "你不用记住这个", "麻烦你别把这个记下来，谢谢", "不要把这个记住",
        "请勿记录以下内容：密码8899", "不要把这个存到你的记忆里",
        "请不要记住我刚才说的话", "刚才说的不要记", "不需要记住这些信息", "这是我们之间的秘密", "这个别存下来", "没必要记住这个",
        "你好，请不要记住这个：我的工资是五千",
        "注意：不要记住这个", "千万别记住这件事！", "这段话请不要保存", "可以不要记住这个吗？", "不要记住这个啦，谢谢你",
        "我不想让你记住这个", "请不要记住这段对话。谢谢。",
        "希望你不要记住这些", "别把这事记下来哦", "不要记住这个哈", "请不要記錄這個",
    ],
    "ja": [
        "これは覚えないでください、お願いします", "この話は覚えなくていいよ",
        "アラームの番号は8899です。これは覚えないでください。ありがとうございます。", "これは覚えないでね！",
        "これを記憶しないでください", "この会話は保存しないでください。", "この話は記録しないでほしいです", "覚えなくて大丈夫です",
        "これは覚えておかなくていいよ", "これは覚える必要はありません",
        "お願いだから、これは覚えないで", "これは覚えないようにしてください", "すみませんが、これは覚えないでください：給料は五千です",
        "今の話は覚えないでね、お願い", "これは覚えないでもらえますか？",
        "これは覚えないでいただけますか", "この件はメモしないでください。", "これは記憶に残さないでください",
        "さっき言ったことは覚えないで", "これはオフレコでお願いします。", "ここだけの話にしてね",
        "これは保存しなくていいです。", "このメッセージは保存しないで、よろしくお願いします", "これは覚えるな",
        "注意：これは覚えないでください", "覚えないでおいてください、これは。これは覚えないで。",
        "これは覚えないでくださいね〜", "これは憶えないでください", "絶対に覚えないでください", "これは覚えなくてもいいですよ",
    ],
}  # fmt: skip

TALK = {
    "en": [
        "I don't remember this song", "Don't forget to remember this", "Remember this: the gate code is 8899.",
        "he said don't remember this to me and I laughed",
        "She told me: don't remember this.", "Mum said, don't remember this, and left.", "The poem goes: don't remember this.",
        "What does \"don't remember this\" do?",
        "Don't remember this?", "Why should you not remember this?", "Do you remember this?", "Don't you remember this?",
        "You don't remember this, do you?",
        "```\ndon't remember this\n```", "The log says `don't remember this` and stops.", "> don't remember this\nWhat did he mean?",
        "2026-11-30 12:00 INFO user: don't remember this",
        "If the user cancels, don't save this.", "When the form is invalid, do not store this", "assert wants(\"don't remember this\")",
        "Don't save this file to disk but to S3.",
        "~~Don't remember this.~~ I changed my mind.", "I can't remember this, sorry.", "we never log this event in production",
        "Don't keep this branch, rebase it on main.",
        "Please remember this, thanks", "Please don't remember this song as sad.", "I said “don't remember this” in a dream",
        "Don't store this value in the cache.",
        "between us and the lake there is a fence", "Title: Don't remember this",
        "Our policy is titled: do not store this conversation.", "Don't remember this from school, do we?",
        "Don't you dare forget this", "Don't lose this, remember it!", "Please keep this in your memory, thanks",
    ],
    "de": [
        "Ich merke mir das nicht", "Merk dir das!", "Vergiss nicht, dir das zu merken.", "Warum merkst du dir das nicht?",
        "Ich kann mir das nicht merken.",
        "Er sagte: Merk dir das nicht.", "Sie meinte, merk dir das nicht.", "Was bedeutet „merk dir das nicht“?",
        "Merkst du dir das nicht?", "Merk dir das nicht so schwer vor",
        "Merk dir das, nicht dass es verloren geht", "Das Programm speichert das nicht.", "Merk dir das Lied nicht",
        "Speichere das nicht in Redis, sondern in Postgres.",
        "x = f(`merk dir das nicht`)", "> Merk dir das nicht\nWer hat das geschrieben?", "Wenn der Test rot ist, speichere das nicht.",
        "Es steht unter uns im Keller.",
        "Ich konnte mir das nicht merken, danke", "Warum soll ich mir das nicht merken?", "Das kann man sich nicht merken.",
        "Log: das nicht speichern", "Das merkt er sich nicht.",
        "Merken Sie sich das bitte!", "Kannst du dir das nicht merken, wenn ich es dreimal sage?",
        "Der Drucker speichert die Nachricht nicht", "Bitte merk dir das, danke!",
    ],
    "pt": [
        "Não me lembro disso", "Lembra-te disto: o código é 8899.", "Não te esqueças disto", "Ele disse: não te lembres disto.",
        "Ela disse, não guardes isto.",
        "O que significa “não guardes isto”?", "Não lembra disso?", "Por que não guardas isto?",
        "Não guardes isto no Redis, guarda no Postgres.", "Não consigo guardar isto.",
        "x = f(`não guardes isto`)", "Se o teste falhar, não guardes isto.", "> não te lembres disto\nQuem escreveu?",
        "Não sei se te lembras disto", "Guarda isto, por favor",
        "Não memorizei isso ainda", "Ele não guarda isto em casa", "entre nós e o rio há um muro", "Não te lembres da música errada",
        "Lembrar disso não é fácil",
        "Não salve o arquivo ainda", "Título: Não guardes isto", "Não se lembra disto, pois não?", "Eu nunca anoto isso nas aulas",
        "Quando chover, não guarde isso.",
    ],
    "ru": [
        "Я не помню это", "Не помню этого", "Запомни это: код 8899.", "Не забудь запомнить это", "Он сказал: не запоминай это.",
        "Она сказала, не запоминай это.",
        "Что значит «не запоминай это»?", "Почему ты не запоминаешь это?", "Не запоминай это?", "Я не запоминаю имена",
        "Не сохраняй файл в корень", "Не запоминай эту песню наизусть",
        "x = f(`не запоминай это`)", "> не запоминай это\nКто это написал?", "Если тест красный, не сохраняй это.",
        "Программа это не сохраняет", "Между нами озеро", "Запоминай это, пожалуйста",
        "Ты не помнишь это?", "Не могу запомнить это", "Лог: не сохраняй это", "Не надо это забывать.",
        "Когда идёт дождь, не записывай это.", "Помни это", "Мы не сохраняем это сообщение в базе",
    ],
    "ar": [
        "لا أتذكر هذا", "تذكر هذا: الرمز 8899", "لا تنس أن تتذكر هذا", "قال لي: لا تحفظ هذا", "قالت، لا تحفظ هذا",
        "ماذا يعني «لا تحفظ هذا»؟", "لا تتذكر هذا؟", "ألا تتذكر هذا؟",
        "لماذا لا تحفظ هذا؟", "x = f(`لا تحفظ هذا`)", "> لا تحفظ هذا\nمن كتب ذلك؟", "إذا فشل الاختبار، لا تحفظ هذا",
        "لا أستطيع حفظ هذا", "احفظ هذا من فضلك", "لا تحفظ الملف على القرص",
        "لم أحفظ هذا بعد", "هي لا تتذكر اسمي", "المسافة بيننا طويلة", "لا تنسَ هذا", "هل تتذكر هذا؟", "السجل: لا تحفظ هذا",
        "لا تحفظ هذا الملف في المجلد القديم", "البرنامج لا يحفظ هذا",
        "لا يتذكر هذا أحد", "عندما تمطر، لا تسجل هذا",
    ],
    "zh": [
        "我不记得这个了", "记住这个：密码是8899", "别忘了记住这个", "他说：不要记住这个", "她对我说，不要记住这个",
        "“不要记住这个”是什么意思？", "为什么不要记住这个？", "不要记住这个？", "这个我记不住",
        "x = f(`不要记住这个`)", "> 不要记住这个\n谁写的？", "如果测试失败，不要保存这个", "请记住这个，谢谢", "这首歌我不记得",
        "不要保存文件", "不要把这个存到Redis里", "你不记得这个吗", "我没记住这个",
        "日志：不要记住这个", "程序没有保存这条消息", "不要忘记这个", "我们之间隔着一条河", "标题：不要记住这个", "记不住这个怎么办",
        "这个函数不要保存返回值", "你还记得这个吗？",
    ],
    "ja": [
        "これは覚えていません", "これを覚えてください：番号は8899", "これを覚えるのを忘れないで", "彼は言った：これは覚えないで",
        "母が言った、これは覚えないで", "「これは覚えないで」とはどういう意味ですか？",
        "どうしてこれを覚えないの？", "これは覚えなくていいですか？", "この歌は覚えにくい", "x = f(`これは覚えないで`)",
        "> これは覚えないで\n誰が書いたの？", "テストが失敗したら、これは保存しないで", "これは覚えておいてね",
        "これを忘れないでください", "名前が覚えられない", "ファイルを保存しないで閉じた", "このプログラムは記録しない",
        "ログ：これは保存しないで", "覚えてないよ", "これ覚えてる？", "覚えないといけない",
        "これは覚えないと困ります", "メモしないで行ったら忘れた", "保存しないで終了すると消える", "この単語は覚えなければならない",
        "タイトル：これは覚えないで",
    ],
}  # fmt: skip

PLAIN = {
    "en": "Don't remember this", "de": "Merk dir das nicht", "pt": "Não guardes isto", "ru": "Не запоминай это", "ar": "لا تحفظ هذا",
    "zh": "不要记住这个", "ja": "これは覚えないでください",
}  # fmt: skip
DRESSED = [
    "{} 🙏", "🤫 {}", "{}🙏🏽❤️", "{} 🙂🙏 …", "**{}**", "*{}*", "__{}__", "# {}", "**{}.** 8899", "- {}", "• {}", "* {}", "1. {}",
    "- [ ] {}", '"{}"', "“{}”", "„{}“", "«{}»",
    "「{}」", "'{}'", "‘{}’", "`{}`", "\u200f{}\u200f", "\u200e{}\u200e", "\ufeff{}", "\u200b{}\u200b", "{}\x00", "\x00{}",
    "\u2067{}\u2069", "({})", "[{}]", "{} :)", "{} ;-)",
    "{}!!!", "  {}  \n", "8899\n{}", "{}\n8899", "8899 — {}", "<b>{}</b>", "\ufffc{}", "8899. **{}** 🙏", "8899.\u3000{}", "{}\u00a0",
    "8899 ({})",
]  # fmt: skip
TOLD = [
    "```\n{}\n```", "He wrote `{}` there.", 'He wrote "{}" there.', "> {}\nWho?", "~~{}~~ no", "log 12: {}", "x = '{}'", "{}?",
    "He wrote: {}", "Rules of theirs:\n- {}",
]  # fmt: skip


def every(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in table.items() for text in texts]


@pytest.mark.parametrize(("language", "text"), every(ORDERS))
def test_an_order_as_people_write_it(language: str, text: str) -> None:
    assert wants_no_memory(text)


@pytest.mark.parametrize(("language", "text"), every(TALK))
def test_talk_that_holds_the_words_is_kept(language: str, text: str) -> None:
    assert not wants_no_memory(text)


@pytest.mark.parametrize("language", PLAIN)
def test_what_an_order_is_dressed_in_changes_nothing(language: str) -> None:
    assert [dress for dress in DRESSED if not wants_no_memory(dress.format(PLAIN[language]))] == []


@pytest.mark.parametrize("language", PLAIN)
def test_quoted_reported_or_asked_it_is_no_order(language: str) -> None:
    assert [told for told in TOLD if wants_no_memory(told.format(PLAIN[language]))] == []


@pytest.mark.parametrize("apostrophe", "'’‘´`ʼ′＇")
def test_every_apostrophe_is_one(apostrophe: str) -> None:
    assert wants_no_memory(f"Don{apostrophe}t remember this.")


def test_a_kana_voice_mark_is_part_of_its_letter() -> None:
    assert wants_no_memory("これは覚えないで") and not wants_no_memory("これは覚えないて")


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert wants_no_memory(text) in (True, False)


@pytest.mark.parametrize("unit", [
    "please ", "don't remember this song ", "не запоминай ", "请你就也都", "今のこれこの", "これは覚え", '"', "'a ", "`", "```", "~~~",
    "- ", "1) ", "🙏", "a\u0301", "\u0640", "(", ": ", ",",
    "не это ", "nicht bitte das ", "لا تحفظ ", "不要不要把这个", "<b>", "~~a", "> x\n", "said, ", "if ",
])  # fmt: skip
def test_two_hundred_thousand_characters_take_no_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    wants_no_memory(unit)
    began = time.process_time()
    wants_no_memory(text)
    assert time.process_time() - began < 0.5, "of a tenth of that at most; a pattern that runs away takes minutes"
