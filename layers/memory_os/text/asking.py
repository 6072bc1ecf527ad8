"""What a question is after, by its looks: a time, or something of whoever asks; whether a text says a time, or a standing wish.

One table for seven languages (English, German, Portuguese, Russian, Arabic, Chinese, Japanese), read all at once: which
language a question is in need not be known. Pure.
"""

from __future__ import annotations

import re

from memory_os.text.remembered import remembered

_ASKS_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|year|month|week|weekend|time)\b"
    r"|\bwann\b|\bwie lange\b|\bwelche[mnrs]? (?:tag|datum|jahr|monat|woche|wochenende|uhrzeit)|\bum wie ?viel uhr\b"
    r"|\bquando\b|\bquanto tempo\b|\b(?:que|qual) (?:é a |é o |foi a |foi o )?(?:dia|data|ano|mês|semana|horas?)\b"
    r"|\bкогда\b|\bкак(?: долго| давно)\b|\bсколько времени\b|\bво сколько\b"
    r"|\bкак(?:ого|ом|ой|ую|ая) (?:числ|год|месяц|ден|дн|недел|дат)"
    r"|\bمتى\b|\bكم من الوقت\b|\b(?:أي|اي) (?:يوم|سنة|عام|شهر|تاريخ|أسبوع|ساعة)\b"
    "|什么时候|什麼時候|何时|何時|几点|几月|几号|哪天|哪一天|哪年|哪一年|哪个月|多久|多长时间"
    "|いつ|何年|何月|何日|何曜日|(?:どの|どれ)くらいの(?:時間|期間)",
    re.IGNORECASE,
)

# Whole words, lower case. "May", "March" and "Sun" are other words as well.
_TIME_WORDS = (
    # English
    "yesterday today tonight tomorrow ago recently lately week weeks weekend weekends month months year years days night morning"
    " evening afternoon midnight noon january february april june july august september october november december"
    " monday tuesday wednesday thursday friday saturday sunday summer winter autumn"
    # German
    " gestern vorgestern heute morgen übermorgen neulich kürzlich vorhin woche wochen wochenende monat monate monaten jahr jahre jahren"
    " tagen abend abends nachmittag vormittag mittags mitternacht januar februar märz juni juli oktober dezember"
    " montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag sommer herbst frühling"
    # Portuguese
    " ontem anteontem hoje amanhã recentemente atrás semana semanas mês meses ano anos dias noite manhã tarde madrugada"
    " janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
    " segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo verão inverno primavera outono"
    # Russian
    " вчера позавчера сегодня завтра послезавтра недавно назад неделю недели неделе недель выходные выходных месяц месяца месяце месяцев"
    " год года году лет дней утром днём вечером ночью январь января январе февраль февраля феврале март марта марте апрель апреля апреле"
    " мая мае июнь июня июне июль июля июле август августа августе сентябрь сентября сентябре октябрь октября октябре ноябрь ноября"
    " ноябре декабрь декабря декабре понедельник вторник среду четверг пятницу субботу воскресенье летом зимой весной осенью"
    # Arabic
    " أمس البارحة اليوم غدا غدًا مؤخرا مؤخرًا أسبوع أسبوعين أسابيع الأسبوع شهر شهرين أشهر الشهر سنة سنتين سنوات السنة عام عامين العام أيام"
    " يومين مساء صباحا صباح الليلة يناير فبراير مارس أبريل إبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"
    " الاثنين الإثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد الصيف الشتاء الربيع الخريف"
)
_TIMES = frozenset(_TIME_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+(?:-feira)?")
_DIGIT = re.compile(r"\d")
_IN_DIGITS = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}:\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d\d|\b\d{1,2}(?:st|nd|rd|th)\b"
    r"|\b\d{1,2} ?(?:[ap]m|uhr)\b|\d ?[年月日号時]",
    re.IGNORECASE,
)
_AMBIGUOUS_MONTHS = frozenset({"may", "march", "mai"})
_A_MONTH = re.compile(
    r"\b(?:in|of|since|until|last|next|im|seit|bis|ende|anfang|mitte) (?:may|march|mai)\b"
    r"|\b(?:may|march|mai) \d|\d(?:st|nd|rd|th|\.)? (?:may|march|mai)\b",
    re.IGNORECASE,
)
_UNSPACED = re.compile(
    "[昨今明][天日年晚夜朝週月]|前天|前年|后天|後天|去年|来[週月年]|先[日週月]|毎[日週月年朝晩]|最近|早上|[上下]午|晚上|夕方|午[前後]|周末|週末"
    "|[上下](?:个|個)?(?:星期|周|週|月)|(?:分钟|小时|天|周|星期|个月|年)[前后]|(?:日|週間|か月|ヶ月|時間|年)前"
    "|(?:星期|周|週)[一二三四五六日天]|[月火水木金土日]曜|[一二三四五六七八九十](?:年|月|日|号|時|点)"
)
_ONESELF = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b"
    r"|\b(?:ich|mich|mir|mein\w*|wir|uns|unser\w*)\b"
    r"|\b(?:eu|meus?|minhas?|mim|comigo|nós|noss[oa]s?)\b"
    r"|\b(?:я|меня|мне|мной|мо[йяеёиюю]\w{0,2}|мы|нас|нам|наш\w{0,3})\b"
    r"|\b(?:أنا|نحن|لي|عندي|لدي|معي|مني|لنا|عندنا|لدينا)\b"
    "|我|咱|私|僕|俺|わたし|ぼく",
    re.IGNORECASE,
)

# Of a long message the wish is one sentence of many.
_WISH_CHARS = 600
_SENTENCE = r"(?:^|[.!?;:\n]\s*|[。！？；：،؛]\s*)"
_WISH = re.compile(
    rf"{_SENTENCE}(?:please |bitte |por favor,? |пожалуйста,? |من فضلك |请)?"
    r"(?:(?:always|never|immer|nie|niemals|sempre|nunca|всегда|никогда|دائما|دائمًا|دائماً)\b|总是|永远|一律|常に|いつも|必ず)"
    r"|\bplease (?:always|never)\b|\bfrom now on\b|\bi(?:['’]d| would)? (?:rather|prefer)\b"
    r"|\b(?:ab jetzt|ab sofort|von nun an|künftig)\b|\bich (?:bevorzuge|hätte lieber|mag lieber|möchte lieber)\b|\bist mir lieber\b"
    r"|\b(?:de agora em diante|a partir de agora|prefiro|preferiria)\b"
    r"|\b(?:отныне|впредь|предпочитаю|предпоч[её]л бы|предпочла бы)\b"
    r"|من الآن فصاعد|\bأفضّل\b|\bأنا أفضل\b"
    "|从现在起|今后请|以后都|我更喜欢|我偏好|我宁愿|今後は|これからは|(?:方|ほう)が(?:いい|良い|好き)",
    re.IGNORECASE,
)

# Of each alternative above a part that it can't do without, lower case; the second lot only of texts that are not ASCII.
_WISH_CUES = (
    "always", "never", "immer", "nie", "sempre", "nunca", "now on", "rather", "prefer", "ab jetzt", "ab sofort", "von nun an",
    "bevorzuge", "lieber", "agora", "prefiro",
)  # fmt: skip
_WISH_CUES_BEYOND_ASCII = (
    "künftig", "всегда", "никогда", "отныне", "впредь", "предпоч", "دائم", "من الآن", "أفضل", "أفضّل",
    "总是", "永远", "一律", "从现在起", "今后请", "以后都", "我更喜欢", "我偏好", "我宁愿",
    "常に", "いつも", "必ず", "今後は", "これからは", "がいい", "が良い", "が好き",
)  # fmt: skip


def asks_when(question: str) -> bool:
    """Whether a question wants a time: "when …", "seit wann …", "que dia …", "いつ…"."""
    return bool(_ASKS_WHEN.search(question))


def asks_of_oneself(question: str) -> bool:
    """Whether whoever asks is in the question: "my flight", "when did we …"."""
    return bool(_ONESELF.search(question))


@remembered(most=4096, characters=2_000_000)
def tells_time(text: str) -> bool:
    """Whether a text says a time: "yesterday", "in May", "14:30"; remembered."""
    words = frozenset(_WORD.findall(text.casefold()))
    if not words.isdisjoint(_TIMES) or (not words.isdisjoint(_AMBIGUOUS_MONTHS) and _A_MONTH.search(text)):
        return True
    return bool((_DIGIT.search(text) and _IN_DIGITS.search(text)) or (not text.isascii() and _UNSPACED.search(text)))


def states_wish(text: str) -> bool:
    """Whether a short text says how its writer wants things: "Always …", "I prefer …", "ab jetzt …"."""
    return len(text) <= _WISH_CHARS and _hints_at_wish(text) and bool(_WISH.search(text))


def _hints_at_wish(text: str) -> bool:
    """Whether one of the pattern's words stands in it: nearly no text has one, and the pattern takes fifty times as long."""
    stands = text.casefold().__contains__
    return any(map(stands, _WISH_CUES)) or (not text.isascii() and any(map(stands, _WISH_CUES_BEYOND_ASCII)))
