"""Whether a message is only small talk: a greeting, thanks, a yes, a goodbye, laughter, an emoji. Pure, any script.

A message counts when *all* of it is small talk: every word stands in the lists, and at least one of them carries it.
Short is not small: "fix", "DNS" and "k8s" are questions.
"""

from __future__ import annotations

import re
import unicodedata

# The longest formulas ("thank you so much, have a nice day") have eight words.
_MOST_WORDS = 8
# … and no formula is longer than this; a megabyte of "ok ok ok" isn't looked at.
_MOST_CHARS = 120

_CARRYING = """
hi hello hey hiya howdy greetings yo morning goodbye bye byebye cya goodnight thanks thank thx ty tysm cheers
thankyou ok okay okey okidoki k kk yes yep yeah yup ya no nope nah sure cool nice great perfect awesome excellent
wonderful amazing good fine alright right understood gotcha agreed correct exactly indeed absolutely definitely
welcome sorry please continue proceed lol lmao rofl xd hmm hm mhm uh oh ah wow yay ack noted congrats hallo moin
servus tach tschüss tschau ciao danke dankeschön merci bitte bitteschön gerne ja jo jep jap nee nein doch klar genau
super prima toll gut passt alles gute perfekt verstanden einverstanden weiter weitermachen fortfahren achso aha
stimmt richtig sorry entschuldigung oi olá ola obrigado obrigada brigado brigada obg valeu vlw tchau sim não claro
certo beleza blz legal ótimo perfeito entendi entendido continua continuar prossiga desculpa isso exato hola gracias
adiós sí si vale bueno bien genial perfecto entiendo entendido claro continúa sigue seguir perdón exacto bonjour
salut bonsoir coucou merci oui ouais non d'accord dac parfait génial super compris bien continue continuer continuez
pardon désolé mdr ptdr exactement voilà buongiorno salve grazie sì certo perfetto bene ottimo capito continua avanti
prego scusa esatto привет здравствуй здравствуйте приветик спасибо спасибки спс благодарю пожалуйста пока да нет ага
угу ок окей хорошо ладно понял поняла понятно ясно отлично супер круто класс классно прекрасно замечательно
продолжай продолжайте продолжить дальше давай давайте конечно верно точно именно договорились извини извините مرحبا
اهلا سلام السلام شكرا مشكور متشكر حسنا طيب تمام نعم ايوه اجل لا وداعا ممتاز رائع جيد موافق عفوا استمر تابع اكمل اوكي
صحيح فهمت اسف 감사합니다 감사해요 감사 고마워 고마워요 고맙습니다 네 넵 넹 예 응 아니 아니요 아니오 안녕 안녕하세요
안녕히 좋아 좋아요 좋습니다 알겠습니다 알겠어 알겠어요 알았어 계속 계속해 계속해요 계속하세요 계속해줘 오케이 그래
그래요 맞아 맞아요 수고하셨습니다 수고했어요 죄송합니다 미안
""".split()  # noqa: SIM905

# Words that may stand beside those, and alone say nothing either way.
_BESIDE = """
you so very much a lot the many again all for now then there that that's thats this it its it's is was works work do
day night evening afternoon have one too just and everyone hermes bot mate friend guys got i see of course my me
your help dir euch ihnen sehr vielen vielmals herzlichen guten gute morgen tag abend nacht einen schönen noch auch
so mach bis dann später bald das ist auf wiedersehen für die deine hilfe mal schon muito muita bom boa dia tarde
noite até logo mais por favor de nada tá está pra você vc pela ajuda e que bem tudo amanhã pode muchas mucho buenos
buenas días tardes noches luego mañana por favor de nada ti usted está todo hasta beaucoup bien bonne journée soirée
nuit à bientôt plus demain c'est ça va s'il te vous plaît de rien tout pour ton aide mille molto tante buona
giornata sera notte a dopo domani arrivederci va per favore di niente tutto ti большое огромное тебе вам добрый
доброе доброй утро день вечер ночи спокойной до свидания завтра встречи всё за что не очень и это так хорошего дня
помощь جزيلا لك لكم وسهلا بك عليكم وعليكم ورحمة الله وبركاته صباح مساء الخير النور الى اللقاء مع السلامة من فضلك جدا
يا هذا على المساعدة 정말 너무 잘 가세요 계세요 정말로 해 주세요
""".split()  # noqa: SIM905

# Formulas whose words don't carry it one by one ("go" alone may be the language).
_FORMULAS = """
go on|go ahead|carry on|keep going|got it|i see|of course|see you|see you later|see ya|take care|that works
well done|no problem|no worries|my pleasure|do it|do that|go for it|all good|so be it|makes sense|guten morgen
guten tag|guten abend|gute nacht|mach weiter|auf wiedersehen|bis dann|bis später|bis bald|bis morgen|bom dia
boa tarde|boa noite|até logo|até mais|até amanhã|de nada|tudo bem|tá bom|pode continuar|por favor|buenos días
buenas tardes|buenas noches|hasta luego|hasta mañana|de rien|à bientôt|ça va|bonne nuit|bonne journée|très bien
s'il te plaît|s'il vous plaît|va bene|buona notte|buona sera|buona giornata|di niente|arrivederci|per favore
добрый день|доброе утро|добрый вечер|доброй ночи|спокойной ночи|до свидания|до завтра|до встречи|не за что
صباح الخير|صباح النور|مساء الخير|مساء النور|الى اللقاء|مع السلامة|من فضلك
""".replace("\n", "|").split("|")

# Chinese and Japanese are written without spaces: the whole message is a chain of these.
_UNSPACED = re.compile(
    "(?:"
    "谢谢|謝謝|多谢|多謝|感谢|感謝|谢了|你好|您好|大家好|早上好|下午好|晚上好|早安|晚安|早|嗨"
    "|哈喽|再见|再見|拜拜|回头见|明天见|好的|好|行|可以|没问题|沒問題|是的|是|对的|對的|对|對"
    "|嗯|哦|噢|不是|不用|不用了|不|没有|没事|不客气|不客氣|明白|明白了|知道|知道了|了解|收到"
    "|继续|繼續|请|請|继续吧|同意|太棒|太好|棒|很好|非常好|不错|不錯|厉害|完美|辛苦|抱歉"
    "|对不起|哈|呵|嘻|嘿|赞|讚|加油|你|您|了|啊|吧|哦|呢|呀|啦|嘛|喔|非常|真的|大家"
    "|的帮助|ありがとうございました|ありがとうございます|ありがとう|ありがと|どうも|感謝します|はい"
    "|うん|ええ|いいえ|いや|了解しました|了解です|了解|承知しました|承知|わかりました|分かりました"
    "|わかった|分かった|オッケー|オーケー|おはようございます|おはよう|こんにちは|こんばんは"
    "|おやすみなさい|おやすみ|さようなら|またね|また明日|じゃあね|お疲れ様でした|お疲れ様です|お疲れ様"
    "|お疲れさま|続けてください|続けて|お願いします|よろしくお願いします|よろしく|なるほど|そうですね"
    "|そうです|そう|いいですね|いいね|いいよ|良い|大丈夫です|大丈夫|すみません|ごめんなさい|ごめん"
    "|すごい|素晴らしい|完璧です|完璧|もちろん|どうぞ|笑|です|ね|よ|ー|〜|っ"
    ")++"
)

_LAUGHTER = re.compile(
    r"^(?:(?:a?(?:ha){2,}h?|(?:he){2,}h?|(?:hi){2,}|(?:ho){2,}|(?:ja){2,}j?|(?:je){2,}|(?:rs){2,}"
    r"|k{3,}|w{3,}|х?а?(?:ха){2,}х?|(?:хе){2,}"
    r"|ه{3,}|[ㅋㅎㅠᄏ휴]+|haha\w{0,8}))$"
)
_EMOTICON = re.compile(
    r"(?:^|(?<=\s))(?:[:;=8xX][-'o]?[)(\]\[dDpPoO/\\|*3]+|<3+|\^_*\^|[oO]_[oO]|\\o/|¯\\_\(ツ\)_/¯)(?=[\s.!?]|$)"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_STRETCHED = re.compile(r"(.)\1{2,}")


def is_small_talk(text: str) -> bool:
    """True when there is nothing in `text` to recall for: empty, punctuation, emoji, or small talk throughout."""
    stripped = text.strip()
    if len(stripped) > _MOST_CHARS:
        return False
    folded = _folded(_EMOTICON.sub(" ", stripped))
    words = _WORD.findall(folded)
    if not words:
        return True
    if len(words) > _MOST_WORDS:
        return False
    return _all_small(words)


def _all_small(words: list[str]) -> bool:
    rest = f" {' '.join(words)} "
    for formula in _PADDED_FORMULAS:
        rest = rest.replace(formula, " ")
    carried = len(rest.split()) < len(words)
    for word in rest.split():
        forms = {word, _STRETCHED.sub(r"\1", word), _STRETCHED.sub(r"\1\1", word)}
        if forms & _CARRYING_SET or _LAUGHTER.match(word) or _UNSPACED.fullmatch(word):
            carried = True
        elif not forms & _BESIDE_SET:
            return False
    return carried


def _folded(text: str) -> str:
    """Compatibility forms and case folded, accents dropped (but not the marks that make がぎ of かき)."""
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(char for char in decomposed if char in _VOICING or unicodedata.category(char) != "Mn")
    return unicodedata.normalize("NFC", kept).replace("’", "'").replace("\u0640", "")


_VOICING = "\u3099\u309a"  # the Arabic stretching line U+0640 is a letter by category, and goes too
_CARRYING_SET = frozenset(_folded(word) for word in _CARRYING)
_BESIDE_SET = frozenset(_folded(word) for word in _BESIDE)
# The longest first: "see you later" before "see you".
_PADDED_FORMULAS = tuple(
    sorted({f" {_folded(one.strip())} " for one in _FORMULAS if one.strip()}, key=lambda one: (-len(one), one))
)
